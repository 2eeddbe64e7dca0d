import { type FormEvent, useEffect, useState } from 'react'
import { api, errorMessage, type LinkView, type SessionView } from './api.ts'
import { Brand } from './brand.tsx'
import { Button, Loading, Notice, TextField } from './kit/index.ts'

const PATH = '#/set-password?token='

/** The token of a one-time link in the page's address, which is removed from it and from the history. */
export function takeLinkToken(): string | undefined {
  if (!location.hash.startsWith(PATH)) return undefined
  const token = location.hash.slice(PATH.length)
  history.replaceState(null, '', location.pathname)
  return token
}

/** Sets the password of the user that a one-time link is for, and signs in. */
export function SetPasswordPage({
  token,
  onSignedIn,
  onCancel,
}: {
  token: string
  onSignedIn: (session: SessionView) => void
  onCancel: () => void
}) {
  const [email, setEmail] = useState<string>()
  const [password, setPassword] = useState('')
  const [confirmation, setConfirmation] = useState('')
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)

  useEffect(() => {
    document.title = 'Set password · Adit'
    api
      .post<LinkView>('/dashboard/api/link', { link: token })
      .then(({ email }) => setEmail(email))
      .catch((error) => setErrorText(errorMessage(error)))
  }, [token])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (password !== confirmation) return setErrorText('The passwords do not match.')
    setBusy(true)
    setErrorText(undefined)
    try {
      onSignedIn(await api.post<SessionView>('/dashboard/api/session', { link: token, password }))
    } catch (error) {
      setErrorText(errorMessage(error))
      setBusy(false)
    }
  }
  return (
    <main className="sign-in">
      <form className="sign-in-card plain" onSubmit={(event) => void submit(event)}>
        <Brand />
        <h1>Set your password</h1>
        {errorText && <Notice kind="bad">{errorText}</Notice>}
        {email === undefined && errorText === undefined && <Loading />}
        {email !== undefined && (
          <>
            <TextField
              label="Email"
              type="email"
              autoComplete="username"
              readOnly
              value={email}
              onValue={() => {}}
            />
            <TextField
              label="Password"
              type="password"
              autoComplete="new-password"
              required
              value={password}
              onValue={setPassword}
              hint="Length matters more than complexity: a few unrelated words are fine."
            />
            <TextField
              label="Confirm password"
              type="password"
              autoComplete="new-password"
              required
              value={confirmation}
              onValue={setConfirmation}
            />
            <Button kind="main" type="submit" busy={busy}>
              Set password
            </Button>
          </>
        )}
        <Button kind="quiet" onClick={onCancel}>
          Sign in instead
        </Button>
      </form>
    </main>
  )
}
