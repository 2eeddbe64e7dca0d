import { startHaproxy, startNginxHop, startOpenSsh } from './anchors.ts'
import { startAdit } from './platform.ts'
import { freePort, has, start } from './processes.ts'
import type { Upstream } from './upstream.ts'

/** One way to the same upstream. */
export interface Candidate {
  readonly name: string
  /** Where its HTTP is reached, and under which name. */
  readonly http?: { readonly port: number; readonly host: string }
  readonly tcp?: number
  /** Its own process groups, by their part. */
  readonly parts: Readonly<Record<string, number>>
}

/** Starts every way that this machine has the programs for; says which are left out, and why. */
export async function startCandidates(dir: string, upstream: Upstream): Promise<Candidate[]> {
  const candidates: Candidate[] = [
    { name: 'direct', http: { port: upstream.http, host: 'bench' }, tcp: upstream.tcp, parts: {} },
  ]
  const ways: Record<string, () => Promise<Candidate[]>> = {
    'nginx hop': async () => [await startNginxHop(dir, upstream)],
    haproxy: async () => [await startHaproxy(dir, upstream)],
    'OpenSSH -R': async () => [await startOpenSsh(dir, upstream)],
    platform: () => startAdit(dir, upstream),
    ...Object.fromEntries(
      Object.entries(others)
        .filter(([program]) => has(program))
        .map(([program, startOther]) => [program, async () => [await startOther(dir, upstream)]]),
    ),
  }
  for (const [name, startWay] of Object.entries(ways)) {
    try {
      candidates.push(...(await startWay()))
    } catch (error) {
      console.error(`${name} is left out: ${(error as Error).message}`)
    }
  }
  return candidates
}

/** Other tunnels whose visitors come in by plain TCP; each is measured when its program is on the PATH. */
const others: Record<string, (dir: string, upstream: Upstream) => Promise<Candidate>> = {
  async chisel(_dir, upstream) {
    const [server, http, tcp] = [await freePort(), await freePort(), await freePort()]
    const listening = ['server', '--reverse', '--host', '127.0.0.1', '--port', String(server)]
    const edge = await start('chisel', listening, { listens: server })
    const forwards = [
      `R:127.0.0.1:${http}:127.0.0.1:${upstream.http}`,
      `R:127.0.0.1:${tcp}:127.0.0.1:${upstream.tcp}`,
    ]
    const agent = await start('chisel', ['client', `127.0.0.1:${server}`, ...forwards], { listens: tcp })
    return { name: 'chisel', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
  },
  async bore(_dir, upstream) {
    const [http, tcp] = [await freePort(), await freePort()]
    const edge = await start('bore', ['server', '--min-port', '1024'], { listens: 7835 })
    const local = (port: number, publicPort: number) =>
      start('bore', ['local', String(port), '--to', '127.0.0.1', '--port', String(publicPort)], {
        listens: publicPort,
      })
    const agent = await local(upstream.http, http)
    const second = await local(upstream.tcp, tcp)
    return { name: 'bore', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent, second } }
  },
}
