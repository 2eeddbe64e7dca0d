import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { errorMessage } from '../api.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

/** A dialog over the page: the focus stays in it, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  actions,
  children,
}: {
  title: string
  onClose: () => void
  actions?: ReactNode
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Closed while it still stands in the page: only then does the browser give the focus back to where it was.
  useLayoutEffect(() => {
    const element = dialog.current!
    if (!element.open) element.showModal()
    return () => element.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={id}
      // Not `close`, which also comes when the dialog is taken away.
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-actions">{actions}</footer>}
    </dialog>
  )
}

/** Asks before something that cannot be undone, and stays open with the reason when it is refused. */
export function Confirm({
  title,
  verb,
  onConfirm,
  onClose,
  children,
}: {
  title: string
  /** What the button that goes ahead says. */
  verb: string
  onConfirm: () => Promise<void>
  onClose: () => void
  children: ReactNode
}) {
  const [busy, setBusy] = useState(false)
  const [errorText, setErrorText] = useState<string>()
  const confirm = async () => {
    setBusy(true)
    setErrorText(undefined)
    try {
      await onConfirm()
    } catch (error) {
      setErrorText(errorMessage(error))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" busy={busy} onClick={() => void confirm()}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {errorText && <Notice kind="bad">{errorText}</Notice>}
    </Dialog>
  )
}
