import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import type { ApiCall } from '../equivalent.ts'
import { Button, Confirm, Equivalent } from '../kit/index.ts'

/** Makes a call that changes something. */
export function send({ method, path, body }: ApiCall): Promise<unknown> {
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

/** A button for one call that asks first, shows the call as lines for a shell, and stays with the reason when refused. */
export function AskButton({
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
  /** What will happen. */
  children: ReactNode
}) {
  const [asking, setAsking] = useState(false)
  return (
    <>
      <Button kind={kind} disabled={disabled} onClick={() => setAsking(true)}>
        {label}
      </Button>
      {asking && (
        <Confirm
          title={title}
          verb={label}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await send(call)
            setAsking(false)
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
