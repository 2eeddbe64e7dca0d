import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import type { ApiCall } from '../equivalent.ts'
import { Button, Confirm, Equivalent } from '../kit/index.ts'

/** Sends a call that changes something. */
function sendCall({ method, path, body }: ApiCall): Promise<unknown> {
  switch (method) {
    case 'POST':
      return api.post(path, body)
    case 'PUT':
      return api.put(path, body)
    case 'PATCH':
      return api.patch(path, body)
    default:
      return api.delete(path)
  }
}

/** A button for one call: asks for confirmation, shows the equivalent shell commands, and reports an error in place. */
export function ConfirmButton({
  label,
  kind = 'plain',
  title,
  call,
  onDone,
  disabled = false,
  children,
}: {
  label: string
  kind?: 'plain' | 'danger'
  /** The question. */
  title: string
  call: ApiCall
  onDone: () => void
  disabled?: boolean
  /** The consequences. */
  children: ReactNode
}) {
  const [confirming, setConfirming] = useState(false)
  return (
    <>
      <Button kind={kind} disabled={disabled} onClick={() => setConfirming(true)}>
        {label}
      </Button>
      {confirming && (
        <Confirm
          title={title}
          verb={label}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await sendCall(call)
            setConfirming(false)
            onDone()
          }}
        >
          <p>{children}</p>
          <Equivalent {...call} />
        </Confirm>
      )}
    </>
  )
}
