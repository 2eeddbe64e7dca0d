import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError, api, type Session, sentenceOf } from './api.ts'
import { Brand } from './brand.tsx'
import { Button, Notice, TextField } from './kit/index.ts'

/** The page for those who are not signed in. */
export function SignInPage({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  useEffect(() => {
    document.title = 'Sign in · Adit'
  }, [])
  return (
    <main className="sign-in">
      <SignInForm ended={false} known="" onSignedIn={onSignedIn} />
    </main>
  )
}

/** Lies over a page whose session has ended, so that what was begun there can be gone on with. */
export function SignInAgain({
  email,
  onSignedIn,
}: {
  email: string
  onSignedIn: (session: Session) => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    shown.querySelector<HTMLElement>(email === '' ? 'input' : 'input[type=password]')?.focus()
    return () => shown.close()
  }, [email])
  return (
    <dialog
      ref={dialog}
      className="sign-in over"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
    >
      <SignInForm ended known={email} onSignedIn={onSignedIn} />
    </dialog>
  )
}

/** Sign-in with a password, with a code when the server asks for one, or with an API key. */
function SignInForm({
  ended,
  known,
  onSignedIn,
}: {
  /** The session came to its end while the page was open. */
  ended: boolean
  /** The email address of whoever it was. */
  known: string
  onSignedIn: (session: Session) => void
}) {
  const [way, setWay] = useState<'password' | 'key'>('password')
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [codeNeeded, setCodeNeeded] = useState(false)
  const [apiKey, setApiKey] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the first field changes with these.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>(codeNeeded ? 'input[name=code]' : 'input')?.focus()
  }, [way, codeNeeded])

  const choose = (next: 'password' | 'key') => {
    setWay(next)
    setRefusal(undefined)
    setCodeNeeded(false)
  }
  const signIn = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setRefusal(undefined)
    const given =
      way === 'key'
        ? { api_key: apiKey.trim() }
        : {
            email: email.trim(),
            password,
            ...(codeNeeded && code !== '' && { code: code.replaceAll(' ', '') }),
          }
    try {
      onSignedIn(await api.post<Session>('/dashboard/api/session', given))
    } catch (error) {
      const asksForCode = error instanceof ApiError && Boolean(error.details.code_needed)
      // The first time the code is simply the next step, not a mistake.
      if (!(asksForCode && !codeNeeded)) setRefusal(sentenceOf(error))
      setCodeNeeded(asksForCode)
      setCode('')
      setBusy(false)
    }
  }
  return (
    <>
      <form ref={form} className="sign-in-card plain" onSubmit={(event) => void signIn(event)}>
        <Brand />
        <h1>Sign in</h1>
        {ended && !refusal && <Notice kind="warn">Your session has ended. Sign in again to go on.</Notice>}
        {refusal && <Notice kind="bad">{refusal}</Notice>}
        {way === 'key' ? (
          <TextField
            label="API key"
            type="password"
            required
            value={apiKey}
            onValue={setApiKey}
            hint="The key of the first start is in credentials.json in the server's data folder."
          />
        ) : (
          <>
            <TextField
              label="Email"
              type="email"
              autoComplete="username"
              required
              value={email}
              onValue={setEmail}
            />
            <TextField
              label="Password"
              type="password"
              autoComplete="current-password"
              required
              value={password}
              onValue={setPassword}
            />
            {codeNeeded && (
              <TextField
                label="Code"
                name="code"
                inputMode="numeric"
                autoComplete="one-time-code"
                required
                value={code}
                onValue={setCode}
                hint="Six digits from your authenticator app."
              />
            )}
          </>
        )}
        <Button kind="main" type="submit" busy={busy}>
          Sign in
        </Button>
        <Button kind="quiet" onClick={() => choose(way === 'key' ? 'password' : 'key')}>
          {way === 'key' ? 'Use email and password' : 'Use an API key instead'}
        </Button>
      </form>
      <p className="sign-in-help">
        The first start of the server prints an address and a password. Lost yours? Ask an administrator, or
        run <code>adit server user password EMAIL</code> on the server.
      </p>
    </>
  )
}
