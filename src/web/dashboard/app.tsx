import { useCallback, useEffect, useState } from 'react'
import { ApiError, api, callWithSession, type Session } from './api.ts'
import { Failed, Loading } from './kit/index.ts'
import { SessionContext, type SessionState } from './session.ts'
import { Shell } from './shell.tsx'
import { SignInAgain, SignInPage } from './sign-in-page.tsx'

const SESSION = '/dashboard/api/session'

/** The pages for those who are signed in, the sign-in page for everybody else. */
export function App() {
  // `undefined` until the server has been asked, `null` for nobody.
  const [session, setSession] = useState<Session | null>()
  const [failure, setFailure] = useState<Error>()
  const [ended, setEnded] = useState(false)

  const keep = useCallback((session: Session | null) => {
    callWithSession(session ?? undefined, () => setEnded(true))
    setSession(session)
  }, [])

  const read = useCallback(async () => {
    setFailure(undefined)
    try {
      keep(await api.get<Session>(SESSION))
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) keep(null)
      else setFailure(error as Error)
    }
  }, [keep])

  useEffect(() => {
    void read()
  }, [read])

  if (failure)
    return (
      <main className="alone">
        <Failed error={failure} retry={() => void read()} />
      </main>
    )
  if (session === undefined)
    return (
      <main className="alone">
        <Loading />
      </main>
    )
  const signedIn = (session: Session) => {
    setEnded(false)
    keep(session)
  }
  if (session === null) return <SignInPage onSignedIn={signedIn} />

  const state: SessionState = {
    session,
    refresh: read,
    async signOut() {
      await api.delete(SESSION)
      setEnded(false)
      keep(null)
    },
  }
  return (
    <SessionContext value={state}>
      {/* For somebody else everything begins anew. */}
      <Shell key={session.user?.id ?? session.account_id} />
      {ended && <SignInAgain email={session.user?.email ?? ''} onSignedIn={signedIn} />}
    </SessionContext>
  )
}
