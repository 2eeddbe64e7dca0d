import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError, api, errorMessage, type SessionView } from './api.ts'
import { Brand } from './brand.tsx'
import { Button, Notice, TextField } from './kit/index.ts'

/** The page shown while no user is signed in. */
export function SignInPage({ onSignedIn }: { onSignedIn: (session: SessionView) => void }) {
  useEffect(() => {
    document.title = 'Sign in · Adit'
  }, [])
  return (
    <main className="sign-in">
      <SignInForm sessionEnded={false} initialEmail="" onSignedIn={onSignedIn} />
    </main>
  )
}

/** Covers a page whose session has ended, so that its state survives signing in again. */
export function SessionExpiredDialog({
  email,
  onSignedIn,
}: {
  email: string
  onSignedIn: (session: SessionView) => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current!
    element.showModal()
    element.querySelector<HTMLElement>(email === '' ? 'input' : 'input[type=password]')?.focus()
    return () => element.close()
  }, [email])
  return (
    <dialog
      ref={dialog}
      className="sign-in overlay"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
    >
      <SignInForm sessionEnded initialEmail={email} onSignedIn={onSignedIn} />
    </dialog>
  )
}

/** Signs in with a password, with a code if the server requires one, or with an API key. */
function SignInForm({
  sessionEnded,
  initialEmail,
  onSignedIn,
}: {
  /** The session ended while the page was open. */
  sessionEnded: boolean
  /** The email address of the previous session. */
  initialEmail: string
  onSignedIn: (session: SessionView) => void
}) {
  const [method, setMethod] = useState<'password' | 'key'>('password')
  const [email, setEmail] = useState(initialEmail)
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [codeRequired, setCodeRequired] = useState(false)
  const [apiKey, setApiKey] = useState('')
  const [errorText, setErrorText] = useState<string>()
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the first field changes with these.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>(codeRequired ? 'input[name=code]' : 'input')?.focus()
  }, [method, codeRequired])

  const choose = (next: 'password' | 'key') => {
    setMethod(next)
    setErrorText(undefined)
    setCodeRequired(false)
  }
  const signIn = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setErrorText(undefined)
    const credentials =
      method === 'key'
        ? { api_key: apiKey.trim() }
        : {
            email: email.trim(),
            password,
            ...(codeRequired && code !== '' && { code: code.replaceAll(' ', '') }),
          }
    try {
      onSignedIn(await api.post<SessionView>('/dashboard/api/session', credentials))
    } catch (error) {
      const codeRequested = error instanceof ApiError && Boolean(error.details.code_needed)
      // The first request for a code is the next step, not an error.
      if (!(codeRequested && !codeRequired)) setErrorText(errorMessage(error))
      setCodeRequired(codeRequested)
      setCode('')
      setBusy(false)
    }
  }
  return (
    <>
      <form ref={form} className="sign-in-card plain" onSubmit={(event) => void signIn(event)}>
        <Brand />
        <h1>Sign in</h1>
        {sessionEnded && !errorText && (
          <Notice kind="warn">Your session has ended. Sign in again to continue.</Notice>
        )}
        {errorText && <Notice kind="bad">{errorText}</Notice>}
        {method === 'key' ? (
          <TextField
            label="API key"
            type="password"
            required
            value={apiKey}
            onValue={setApiKey}
            hint="The key created at first start is in credentials.json in the server's data directory."
          />
        ) : (
          <>
            <PasswordFields email={email} onEmail={setEmail} password={password} onPassword={setPassword} />
            {codeRequired && <CodeField value={code} onValue={setCode} />}
          </>
        )}
        <Button kind="main" type="submit" busy={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </Button>
        <Button kind="quiet" onClick={() => choose(method === 'key' ? 'password' : 'key')}>
          {method === 'key' ? 'Use email and password' : 'Use an API key instead'}
        </Button>
      </form>
      <p className="sign-in-help">
        The first start creates an administrator. Lost your password? Ask an administrator, or run{' '}
        <code>adit server admin-link EMAIL</code> on the server and open the link it prints.
      </p>
    </>
  )
}

interface PasswordFieldsProps {
  email: string
  onEmail(email: string): void
  password: string
  onPassword(password: string): void
}

function PasswordFields({ email, onEmail, password, onPassword }: PasswordFieldsProps) {
  return (
    <>
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        required
        value={email}
        onValue={onEmail}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onValue={onPassword}
      />
    </>
  )
}

function CodeField({ value, onValue }: { value: string; onValue: (code: string) => void }) {
  return (
    <TextField
      label="Code"
      name="code"
      autoComplete="one-time-code"
      required
      value={value}
      onValue={onValue}
      hint="Six digits from your authenticator app, or one of your recovery codes."
    />
  )
}
