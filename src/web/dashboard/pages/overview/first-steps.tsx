import { ButtonLink, Card } from '../../kit/index.ts'
import { CommandLine } from '../command-line.tsx'
import { type Platform, usePlatform } from '../platform.ts'

/** What to do in an account in which nothing has happened yet, with the very lines to type. */
export function FirstSteps() {
  const platform = usePlatform()
  return (
    <Card title="First steps">
      <ol className="steps">
        <li>
          <h3>Give a local service a public address</h3>
          <p>
            On the machine the server runs on nothing has to be configured. For a web service on port 3000:
          </p>
          <CommandLine text="adit http 3000" />
          <RemoteMachineSteps platform={platform} />
        </li>
        <li>
          <h3>Keep a name</h3>
          <p>A reserved domain stays yours, so that an agent or an edge finds it again.</p>
          <ButtonLink to="/domains/new">Reserve a domain</ButtonLink>
        </li>
        <li>
          <h3>Put an edge in front</h3>
          <p>
            An edge has sign-in, IP policies and several backends, and stays when agents come and go. Agents
            join it by their labels:
          </p>
          <CommandLine text="adit tunnel --label app=shop 3000" />
          <ButtonLink to="/edges/new">Create an edge</ButtonLink>
        </li>
      </ol>
    </Card>
  )
}

/** Lines for other machines, which have to be told where the server is. */
function RemoteMachineSteps({ platform }: { platform: Platform | undefined }) {
  if (!platform?.agent_addr) return null
  const download = `data:application/x-pem-file,${encodeURIComponent(platform.ca_pem)}`
  return (
    <details className="elsewhere">
      <summary>On another machine</summary>
      <p>
        Tell the agent once where the server is and who it is. An authtoken is shown when you{' '}
        <a href="#/tunnel-credentials/new">create a credential</a>; the server's own authority can be{' '}
        <a href={download} download="adit-ca.pem">
          downloaded here
        </a>
        .
      </p>
      <CommandLine text={`adit config add-connect-url ${platform.agent_addr}`} />
      <CommandLine text="adit config add-authtoken YOUR_AUTHTOKEN" />
      <CommandLine text="adit http 3000 --root-cas adit-ca.pem" />
    </details>
  )
}
