import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { startProgram } from '../processes.ts'

/** Neither the server nor the client of bore can be told another port. */
const CONTROL_PORT = 7835

export async function startBore({ upstream, link }: Setting): Promise<Candidate> {
  const forwards = await chooseForwards(upstream)
  const edge = await startProgram(
    'bore',
    ['server', '--bind-addr', link.listenHost, '--bind-tunnels', '127.0.0.1'],
    { listens: CONTROL_PORT, host: link.listenHost },
  )
  await link.expose(CONTROL_PORT)
  const parts: Record<string, number> = { edge }
  // One client forwards one port.
  for (const { service, local, remote } of forwards)
    parts[service] = await link.startRemote(
      'bore',
      ['local', String(local), '--local-host', '127.0.0.1', '--to', link.dialHost, '--port', String(remote)],
      { listens: remote },
    )
  return describePortTunnel('bore', forwards, parts)
}
