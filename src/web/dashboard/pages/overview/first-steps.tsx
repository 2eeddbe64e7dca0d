import { ButtonLink, Card } from '../../kit/index.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { type PlatformInfo, usePlatform } from '../platform.ts'

/** Getting-started instructions for an empty account, with the commands to run. */
export function FirstSteps() {
  const platform = usePlatform()
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

/** Commands for other machines, which need the address of the server. */
function RemoteMachineSteps({ platform }: { platform: PlatformInfo | undefined }) {
  const mayChange = useCanChange()
  if (!platform?.agent_addr) return null
  const download = `data:application/x-pem-file,${encodeURIComponent(platform.ca_pem)}`
  return (
    <details className="remote-machine">
      <summary>On another machine</summary>
      <p>
        Install the agent there, from the release of this server: with npm, or in{' '}
        <a href="/docs/install#3-install" target="_blank" rel="noreferrer">
          another way
        </a>
        .
      </p>
      <CommandLine text={`npm install --global ./adit-agent-${platform.version}.tgz`} />
      <p>
        Configure the address of the server and an authtoken once. The authtoken is shown when you{' '}
        {mayChange ? <a href="#/tunnel-credentials/new">create a credential</a> : 'create a credential'}. Also{' '}
        <a href={download} download="adit-ca.pem">
          download the CA certificate of the server
        </a>
        .
      </p>
      <CommandLine text={`adit config add-connect-url ${platform.agent_addr}`} />
      <CommandLine text="adit config add-authtoken YOUR_AUTHTOKEN" />
      <CommandLine text="adit http 3000 --root-cas adit-ca.pem" />
    </details>
  )
}
