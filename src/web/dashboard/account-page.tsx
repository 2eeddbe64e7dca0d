import { ChangePassword } from './account/change-password.tsx'
import { SecondFactor } from './account/second-factor.tsx'
import { choiceLabel } from './form/labels.ts'
import { Card, Facts, Notice, Page, Time } from './kit/index.ts'
import { useSession } from './session.ts'

/** The signed-in user, password and second factor. */
export default function AccountPage() {
  const { session } = useSession()
  const { user } = session
  return (
    <Page title="Your account" lead="Your profile, password and second factor.">
      <Card title="Signed in">
        <Facts
          entries={[
            ['Email', user?.email],
            ['Name', user?.name],
            ['Role', choiceLabel(session.role)],
            ['Signed in with', session.api_key_sign_in ? 'an API key' : 'a password'],
            ['Account', <code key="id">{session.account_id}</code>],
            ['Session ends', <Time key="end" value={session.expires_at} exact />],
          ]}
        />
      </Card>
      {user === null ? (
        <Notice>
          You are signed in with the API key of a bot user, which has neither a password nor a second factor.
        </Notice>
      ) : (
        <>
          <ChangePassword />
          <SecondFactor />
        </>
      )}
    </Page>
  )
}
