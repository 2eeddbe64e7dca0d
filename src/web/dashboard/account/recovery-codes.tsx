import { type FormEvent, useState } from 'react'
import type { RecoveryCodes as NewCodes } from '../../../dashboard/page-data.ts'
import { api, errorMessage } from '../api.ts'
import { Button, CopyButton, Notice, TextField } from '../kit/index.ts'

/** Recovery codes, displayed only once. */
export function NewRecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  return (
    <div className="one-time-secret">
      <p>
        <strong>These are your recovery codes.</strong> Each signs you in once if you do not have your
        authenticator app. Store them in a safe place: they are never shown again.
      </p>
      <ul className="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="form-actions">
        <CopyButton text={codes.join('\n')} />
        <Button onClick={onDone}>I have stored them</Button>
      </div>
    </div>
  )
}

/** How many recovery codes are left, and how to get new ones. */
export function RecoveryCodes({
  remaining,
  onCodes,
}: {
  remaining: number
  onCodes: (codes: readonly string[]) => void
}) {
  const [open, setOpen] = useState(false)
  const [password, setPassword] = useState('')
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const renew = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setErrorText(undefined)
    try {
      const path = '/dashboard/api/second_factor/recovery_codes'
      onCodes((await api.post<NewCodes>(path, { password })).recovery_codes)
    } catch (error) {
      setErrorText(errorMessage(error))
      setBusy(false)
    }
  }
  return (
    <>
      {remaining === 0 ? (
        <Notice kind="warn">
          You have no recovery codes. Without your authenticator app you could not sign in.
        </Notice>
      ) : (
        <p>{remaining === 1 ? 'One recovery code is' : `${remaining} recovery codes are`} left.</p>
      )}
      {open ? (
        <form className="form plain" noValidate onSubmit={(event) => void renew(event)}>
          <TextField
            label="Your password"
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onValue={setPassword}
            error={errorText}
            hint="Your unused codes stop working."
          />
          <div className="form-actions">
            <Button type="submit" busy={busy}>
              Create new codes
            </Button>
          </div>
        </form>
      ) : (
        <div className="form-actions">
          <Button onClick={() => setOpen(true)}>New recovery codes</Button>
        </div>
      )}
    </>
  )
}
