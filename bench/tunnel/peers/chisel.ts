import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { findFreePort, startProgram } from '../processes.ts'

export async function startChisel({ upstream, link }: Setting): Promise<Candidate> {
  const [port, forwards] = [await findFreePort(), await chooseForwards(upstream)]
  const listen = ['server', '--reverse', '--host', link.listenHost, '--port', String(port)]
  const edge = await startProgram('chisel', listen, { listens: port, host: link.listenHost })
  await link.expose(port)
  const remotes = forwards.map(({ local, remote }) => `R:127.0.0.1:${remote}:127.0.0.1:${local}`)
  const agent = await link.startRemote('chisel', ['client', `${link.dialHost}:${port}`, ...remotes], {
    listens: forwards.at(-1)!.remote,
  })
  return describePortTunnel('chisel', forwards, { edge, agent })
}
