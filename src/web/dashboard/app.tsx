import { useCallback, useEffect, useState } from 'react'
import { ApiError, api, type SessionView, setApiSession } from './api.ts'
import { LoadError, Loading } from './kit/index.ts'
import { SessionContext, type SessionState } from './session.ts'
import { SetPasswordPage, takeLinkToken } from './set-password-page.tsx'
import { Shell } from './shell.tsx'
import { SessionExpiredDialog, SignInPage } from './sign-in-page.tsx'

const SESSION_PATH = '/dashboard/api/session'

/** Shows the dashboard to a signed-in user, and the sign-in page otherwise. */
export function App({ initialLink }: { initialLink: string | undefined }) {
  // `undefined` until the session is loaded, `null` when no user is signed in.
  const [session, setSession] = useState<SessionView | null>()
  const [loadError, setLoadError] = useState<Error>()
  const [ended, setEnded] = useState(false)
  const [linkToken, setLinkToken] = useState(initialLink)

  const applySession = useCallback((session: SessionView | null) => {
    setApiSession(session ?? undefined, () => setEnded(true))
    setSession(session)
  }, [])

  const loadSession = useCallback(async () => {
    try {
      applySession(await api.get<SessionView>(SESSION_PATH))
      setLoadError(undefined)
    } catch (error) {
      const signedOut = error instanceof ApiError && error.status === 401
      if (signedOut) applySession(null)
      setLoadError(signedOut ? undefined : (error as Error))
    }
  }, [applySession])

  useEffect(() => {
    void loadSession()
  }, [loadSession])

  // A link that is opened in a tab that shows the dashboard already.
  useEffect(() => {
    const onChange = () => setLinkToken((current) => takeLinkToken() ?? current)
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])

  if (loadError)
    return (
      <main className="standalone">
        <LoadError error={loadError} retry={() => void loadSession()} />
      </main>
    )
  if (session === undefined)
    return (
      <main className="standalone">
        <Loading />
      </main>
    )
  const onSignedIn = (session: SessionView) => {
    setEnded(false)
    setLinkToken(undefined)
    applySession(session)
  }
  if (linkToken !== undefined)
    return (
      <SetPasswordPage token={linkToken} onSignedIn={onSignedIn} onCancel={() => setLinkToken(undefined)} />
    )
  if (session === null) return <SignInPage onSignedIn={onSignedIn} />

  const state: SessionState = {
    session,
    refresh: loadSession,
    async signOut() {
      await api.delete(SESSION_PATH)
      setEnded(false)
      applySession(null)
    },
  }
  return (
    <SessionContext value={state}>
      {/* The key resets all page state when another user signs in. */}
      <Shell key={session.user?.id ?? session.account_id} />
      {ended && <SessionExpiredDialog email={session.user?.email ?? ''} onSignedIn={onSignedIn} />}
    </SessionContext>
  )
}
