import { startHaproxy, startNginxHop } from './anchors.ts'
import type { Setting } from './forwards.ts'
import { LOOPBACK } from './link.ts'
import type { HttpTarget } from './load.ts'
import { PEERS } from './peers/index.ts'
import { startAdit } from './platform.ts'
import { hasProgram } from './processes.ts'

/** One tunnel or proxy to the upstream. */
export interface Candidate {
  readonly name: string
  readonly http?: HttpTarget
  /** HTTP/2 over TLS. */
  readonly http2?: HttpTarget
  readonly tcp?: number
  /** Its process groups, by part. */
  readonly parts: Readonly<Record<string, number>>
}

/** Starts every tunnel whose programs are installed, and reports which are skipped and why. */
export async function startTunnels(setting: Setting): Promise<Candidate[]> {
  const tunnels: Candidate[] = []
  const start = startReporting(tunnels)
  await start('Adit', () => startAdit(setting))
  for (const { name, programs, start: startPeer } of PEERS) {
    const missing = programs.filter((program) => !hasProgram(program))
    if (missing.length > 0) console.error(`${name} skipped: ${missing.join(' and ')} not on the PATH`)
    else await start(name, async () => [await startPeer(setting)])
  }
  return tunnels
}

/** The upstream itself, proxies without a tunnel, and every tunnel, all on this machine. */
export async function startCandidates(
  setting: Setting & { upstream: { http: number } },
): Promise<Candidate[]> {
  const { dir, upstream } = setting
  const candidates: Candidate[] = [
    { name: 'direct', http: { port: upstream.http, host: 'bench' }, tcp: upstream.tcp, parts: {} },
  ]
  const start = startReporting(candidates)
  await start('nginx hop', async () => [await startNginxHop(dir, upstream.http)])
  await start('haproxy', async () => [await startHaproxy(dir, upstream)])
  candidates.push(...(await startTunnels({ ...setting, link: LOOPBACK })))
  return candidates
}

/** A function that starts candidates and adds them, or reports why they are skipped. */
function startReporting(candidates: Candidate[]) {
  return async (name: string, start: () => Promise<(Candidate | undefined)[]>): Promise<void> => {
    try {
      candidates.push(...(await start()).filter((candidate) => candidate !== undefined))
    } catch (error) {
      console.error(`${name} skipped: ${(error as Error).message.split('\n').slice(0, 3).join(' ')}`)
    }
  }
}
