import { Fragment } from 'react'
import { ButtonLink, Card } from '../../kit/index.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { joinCommand, otherInstallCommands, sshCommand } from '../install-commands.ts'
import type { PlatformInfo } from '../platform.ts'

/** Getting-started instructions for an empty account, with the commands to run. */
export function FirstSteps({ platform }: { platform: PlatformInfo | undefined }) {
  const mayChange = useCanChange()
  return (
    <Card title="Get started">
      <ol className="steps">
        <li>
          <h3>Give a local service a public address</h3>
          <p>
            On the machine that runs the server, no configuration is needed. For a web service on port 3000:
          </p>
          <CommandLine text="adit http 3000" />
          <RemoteMachineSteps platform={platform} />
        </li>
        <li>
          <h3>Reserve a domain</h3>
          <p>Only your account can use a reserved domain, for an agent or an edge.</p>
          {mayChange && <ButtonLink to="/domains/new">Reserve a domain</ButtonLink>}
        </li>
        <li>
          <h3>Create an edge</h3>
          <p>
            An edge adds sign-in, IP policies and several backends, and stays when agents come and go. Agents
            join it by label:
          </p>
          <CommandLine text="adit tunnel --label app=shop 3000" />
          {mayChange && <ButtonLink to="/edges/new">Create an edge</ButtonLink>}
        </li>
      </ol>
    </Card>
  )
}

/** Commands for other machines, which need an agent from the server, its address and an authtoken. */
function RemoteMachineSteps({ platform }: { platform: PlatformInfo | undefined }) {
  if (!platform?.agent_addr) return null
  const join = joinCommand(platform, 'YOUR_AUTHTOKEN')
  const ssh = sshCommand(platform)
  return (
    <details className="remote-machine">
      <summary>On another machine</summary>
      {join === undefined ? (
        <p>
          Install the agent there, from a release, as{' '}
          <a href="/docs/install#3-install" target="_blank" rel="noreferrer">
            the documentation
          </a>{' '}
          describes.
        </p>
      ) : (
        <>
          <p>
            This line installs the agent there and tells it this server. <CredentialHint />
          </p>
          <CommandLine text={join} />
        </>
      )}
      <CertificateHint platform={platform} />
      <CommandLine
        text={platform.public_certificate ? 'adit http 3000' : 'adit http 3000 --root-cas adit-ca.pem'}
      />
      <details open={join === undefined}>
        <summary>Other ways</summary>
        {otherInstallCommands(platform).map(({ channel, command }) => (
          <Fragment key={channel}>
            <p>{channel}:</p>
            <CommandLine text={command} />
          </Fragment>
        ))}
        <p>
          An agent that is there already is told the server and an authtoken once.{' '}
          {join === undefined && <CredentialHint />}
        </p>
        <CommandLine text={`adit config add-connect-url ${platform.agent_addr}`} />
        <CommandLine text="adit config add-authtoken YOUR_AUTHTOKEN" />
        {ssh !== undefined && (
          <>
            <p>
              Without an agent, with an SSH key that <a href="#/ssh-credentials">is stored here</a>:
            </p>
            <CommandLine text={ssh} />
          </>
        )}
      </details>
    </details>
  )
}

function CredentialHint() {
  const mayChange = useCanChange()
  return (
    <>
      The authtoken is shown when you{' '}
      {mayChange ? <a href="#/tunnel-credentials/new">create a credential</a> : 'create a credential'}.
    </>
  )
}

/** Agents have to trust a server that has no certificate of a public authority. */
function CertificateHint({ platform: { public_certificate, ca_pem } }: { platform: PlatformInfo }) {
  if (public_certificate) return null
  const download = `data:application/x-pem-file,${encodeURIComponent(ca_pem)}`
  return (
    <p>
      Also{' '}
      <a href={download} download="adit-ca.pem">
        download the CA certificate of the server
      </a>
      , which has no public certificate.
    </p>
  )
}
