import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { errorMessage } from '../api.ts'
import { hasUnsaved } from '../unsaved.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

/** A modal dialog: it traps the focus, and Escape closes it. */
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
  const [asking, setAsking] = useState(false)
  const id = useId()
  // Closes before removal from the DOM: only then does the browser restore the focus.
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
      // Not `close`, which also fires when the dialog is removed.
      onCancel={(event) => {
        event.preventDefault()
        // Those of a dialog above this one come here too.
        if (event.target !== event.currentTarget) return
        if (hasUnsaved(event.currentTarget)) setAsking(true)
        else onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-actions">{actions}</footer>}
      {asking && <DiscardQuestion onStay={() => setAsking(false)} onDiscard={onClose} />}
    </dialog>
  )
}

/** Asks before something is lost that was typed and not saved. */
export function DiscardQuestion({ onStay, onDiscard }: { onStay: () => void; onDiscard: () => void }) {
  return (
    <Dialog
      title="Discard what you typed?"
      onClose={onStay}
      actions={
        <>
          <Button onClick={onStay}>Keep editing</Button>
          <Button kind="danger" onClick={onDiscard}>
            Discard
          </Button>
        </>
      }
    >
      <p>This form is not saved.</p>
    </Dialog>
  )
}

/** Asks for confirmation, and stays open with the error when the action fails. */
export function Confirm({
  title,
  verb,
  onConfirm,
  onClose,
  children,
}: {
  title: string
  /** The label of the confirming button. */
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
