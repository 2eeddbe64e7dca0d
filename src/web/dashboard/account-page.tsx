import { Facts, Page, Time } from './kit/index.ts'
import { useSession } from './session.ts'

/** Who is signed in. */
export default function AccountPage() {
  const { session } = useSession()
  return (
    <Page title="Your account">
      <Facts
        entries={[
          ['Email', session.user?.email],
          ['Role', session.user?.role],
          ['Account', <code key="id">{session.account_id}</code>],
          ['Session ends', <Time key="end" at={session.expires_at} exact />],
        ]}
      />
    </Page>
  )
}
