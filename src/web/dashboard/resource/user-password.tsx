import { useState } from 'react'
import { api, errorMessage } from '../api.ts'
import { Button, Card, Equivalent, Notice, OneTimeSecret } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'

/** Generates a password for a user, who should change it after signing in. */
export default function UserPassword({ item }: ExtraProps) {
  const [password, setPassword] = useState<string>()
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const path = `/dashboard/api/users/${item.id}/password`
  const generate = async () => {
    setBusy(true)
    setErrorText(undefined)
    try {
      setPassword((await api.put<{ password: string }>(path)).password)
    } catch (error) {
      setErrorText(errorMessage(error))
    }
    setBusy(false)
  }
  return (
    <Card title="Password">
      {password === undefined ? (
        <>
          <p>
            Generates a new password for {String(item.email)} and ends their sessions. Share it securely; they
            can change it on their account page.
          </p>
          <div className="form-actions">
            <Button busy={busy} onClick={() => void generate()}>
              Generate password
            </Button>
          </div>
          <Equivalent method="PUT" path={path} />
        </>
      ) : (
        <OneTimeSecret label={`This is the new password for ${String(item.email)}.`} value={password} />
      )}
      {errorText && <Notice kind="bad">{errorText}</Notice>}
    </Card>
  )
}
