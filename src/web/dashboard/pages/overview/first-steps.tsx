import { Fragment, useState } from 'react'
import type { TunnelCredential } from '../../../../api-client/index.ts'
import { api, errorMessage } from '../../api.ts'
import { Button, Card, notify, SegmentedControl } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { configureCommands, joinCommand, otherInstallCommands, sshCommand } from '../install-commands.ts'
import type { PlatformInfo } from '../platform.ts'

const AUTHTOKEN_PLACEHOLDER = 'YOUR_AUTHTOKEN'
const IS_AT_SERVER = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)

/** In a directory of its own: the one that the terminal is in may hold private files. */
const HELLO_SERVICE =
  'mkdir -p hello && echo Hello > hello/index.html && python3 -m http.server -b 127.0.0.1 -d hello 3000'

const PLACES = [
  ['server', IS_AT_SERVER ? 'On this machine' : 'On the machine of the server'],
  ['other', 'On another machine'],
] as const

/** Three steps to a first URL, for an account without any. */
export function FirstSteps({ platform }: { platform: PlatformInfo | undefined }) {
  const [place, setPlace] = useState<'server' | 'other'>(IS_AT_SERVER ? 'server' : 'other')
  const [authtoken, setAuthtoken] = useState<string>()
  const mayChange = useCanChange()
  const canJoin = platform?.agent_addr !== null
  const isOther = place === 'other' && platform !== undefined && canJoin
  const needsRoot = isOther && !platform.public_certificate
  return (
    <Card
      title="Get started"
      actions={
        canJoin && (
          <SegmentedControl
            name="place"
            legend="Where your service runs"
            options={PLACES}
            value={place}
            onValue={setPlace}
          />
        )
      }
    >
      <ol className="steps">
        <li>
          {isOther ? (
            <InstallStep platform={platform} authtoken={authtoken} onAuthtoken={setAuthtoken} />
          ) : (
            <>
              <h3>Start your service</h3>
              <p>For example, a web service on port 3000. To try it out, serve a page that says hello:</p>
              <CommandLine text={HELLO_SERVICE} />
            </>
          )}
        </li>
        <li>
          <h3>Give it a public URL</h3>
          <p>
            In another terminal; it runs until you press Ctrl+C.
            {needsRoot && <CertificateHint ca={platform.ca_pem} />}
          </p>
          <CommandLine text={needsRoot ? 'adit http 3000 --root-cas adit-ca.pem' : 'adit http 3000'} />
        </li>
        <li>
          <h3>Open the URL</h3>
          <p>
            The command prints it, and it appears here. Requests and responses are shown on {WEB_INTERFACE}.
          </p>
        </li>
      </ol>
      {isOther && <OtherWays platform={platform} authtoken={authtoken} />}
      {mayChange && (
        <p className="quiet">
          Then <a href={hrefTo('/domains/new')}>reserve a domain</a>, so that the URL stays yours, or{' '}
          <a href={hrefTo('/edges/new')}>create an edge</a> with sign-in, IP policies and several backends.
        </p>
      )}
    </Card>
  )
}

const WEB_INTERFACE = <code>http://localhost:4040</code>

/** Installs the agent and tells it the server and an authtoken, in one line where the server hands out agents. */
function InstallStep({
  platform,
  authtoken = AUTHTOKEN_PLACEHOLDER,
  onAuthtoken,
}: {
  platform: PlatformInfo
  authtoken: string | undefined
  onAuthtoken: (authtoken: string) => void
}) {
  const join = joinCommand(platform, authtoken)
  return (
    <>
      <h3>Install the agent there</h3>
      {join === undefined ? (
        <>
          <p>
            From a release, as{' '}
            <a href="/docs/install#3-install" target="_blank" rel="noreferrer">
              the documentation
            </a>{' '}
            describes; then point it at this server:
          </p>
          {configureCommands(platform, authtoken).map((command) => (
            <CommandLine key={command} text={command} />
          ))}
        </>
      ) : (
        <>
          <p>This line also points it at this server.</p>
          <CommandLine text={join} />
        </>
      )}
      <AuthtokenButton isFilledIn={authtoken !== AUTHTOKEN_PLACEHOLDER} onAuthtoken={onAuthtoken} />
    </>
  )
}

/** Creates the authtoken that the commands lack. */
function AuthtokenButton({
  isFilledIn,
  onAuthtoken,
}: {
  isFilledIn: boolean
  onAuthtoken: (authtoken: string) => void
}) {
  const mayChange = useCanChange()
  const [busy, setBusy] = useState(false)
  const create = async () => {
    setBusy(true)
    try {
      const body = { description: 'Created with the first steps' }
      onAuthtoken((await api.post<TunnelCredential>('/credentials', body)).token!)
    } catch (error) {
      notify(errorMessage(error))
    }
    setBusy(false)
  }
  if (!mayChange) return <p>Only users who may create a credential see an authtoken.</p>
  if (isFilledIn)
    return (
      <p className="quiet" role="status">
        Copy it now: the authtoken is not shown again. It is listed with the{' '}
        <a href={hrefTo('/tunnel-credentials')}>tunnel credentials</a>, where it can be deleted.
      </p>
    )
  return (
    <Button busy={busy} onClick={() => void create()}>
      Fill in a new authtoken
    </Button>
  )
}

/** Agents have to trust a server that has no certificate of a public authority. */
function CertificateHint({ ca }: { ca: string }) {
  return (
    <>
      {' '}
      First{' '}
      <a href={`data:application/x-pem-file,${encodeURIComponent(ca)}`} download="adit-ca.pem">
        download the CA certificate of the server
      </a>
      , which has no public certificate.
    </>
  )
}

function OtherWays({
  platform,
  authtoken = AUTHTOKEN_PLACEHOLDER,
}: {
  platform: PlatformInfo
  authtoken: string | undefined
}) {
  const ssh = sshCommand(platform)
  const others = otherInstallCommands(platform, authtoken)
  if (others.length === 0 && ssh === undefined) return null
  return (
    <details className="other-ways">
      <summary>Other ways</summary>
      {others.map(({ channel, command }) => (
        <Fragment key={channel}>
          <p>{channel}:</p>
          <CommandLine text={command} />
        </Fragment>
      ))}
      {ssh !== undefined && (
        <>
          <p>
            Without an agent, using an SSH key that <a href={hrefTo('/ssh-credentials')}>is stored here</a>:
          </p>
          <CommandLine text={ssh} />
        </>
      )}
    </details>
  )
}
