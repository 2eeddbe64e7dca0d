import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, errorMessage } from '../api.ts'
import type { ApiCall } from '../equivalent.ts'
import { forgetUnsaved, hasUnsaved, keepUnsaved } from '../unsaved.ts'
import { Button } from './button.tsx'
import { DiscardQuestion } from './dialog.tsx'
import { Equivalents } from './equivalent.tsx'

/** The control that has an error. */
const INVALID_CONTROL = '[aria-invalid=true], .wrong input, .wrong select'

export interface FormProps {
  /** Saves what was typed; its failure is shown by the children. */
  readonly save: () => Promise<void>
  /** The label of the submit button. */
  readonly verb: string
  readonly onCancel?: (() => void) | undefined
  /** The calls that do the same from a shell. */
  readonly calls: readonly ApiCall[]
  readonly disabled?: boolean
  /** Focuses the first field. */
  readonly focusFirst?: boolean
  readonly children: (error: ApiError | undefined) => ReactNode
}

/** A form that saves something. What was typed and is not saved is not lost without a question. */
export function Form({
  save,
  verb,
  onCancel,
  calls,
  disabled = false,
  focusFirst = false,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const [asking, setAsking] = useState(false)
  const attach = useCallback((element: HTMLFormElement) => {
    form.current = element
    return () => forgetUnsaved(element)
  }, [])

  useEffect(() => {
    if (focusFirst) form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [focusFirst])

  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>(INVALID_CONTROL)?.focus()
  }, [error])

  const submit = async (element: HTMLFormElement) => {
    setBusy(true)
    setError(undefined)
    // The page that a saved form leads to is opened without a question.
    forgetUnsaved(element)
    try {
      await save()
    } catch (caught) {
      keepUnsaved(element)
      setError(caught instanceof ApiError ? caught : new ApiError(0, '', errorMessage(caught)))
      setBusy(false)
    }
  }
  return (
    <form
      ref={attach}
      className="form"
      noValidate
      onInput={(event) => keepUnsaved(event.currentTarget)}
      onSubmit={(event) => {
        event.preventDefault()
        // React bubbles the event to an outer form in the component tree.
        event.stopPropagation()
        void submit(event.currentTarget)
      }}
    >
      {children(error)}
      <div className="form-actions">
        <Button kind="main" type="submit" busy={busy} disabled={disabled}>
          {verb}
        </Button>
        {onCancel && (
          <Button kind="quiet" onClick={() => (hasUnsaved(form.current!) ? setAsking(true) : onCancel())}>
            Cancel
          </Button>
        )}
      </div>
      <Equivalents calls={calls} />
      {asking && (
        <DiscardQuestion
          onStay={() => setAsking(false)}
          onDiscard={() => {
            setAsking(false)
            forgetUnsaved(form.current!)
            onCancel?.()
          }}
        />
      )}
    </form>
  )
}
