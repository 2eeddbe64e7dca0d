import { startHaproxy, startNginxHop, startOpenSsh } from './anchors.ts'
import { OTHER_TUNNELS } from './others.ts'
import { startAdit } from './platform.ts'
import { hasProgram } from './processes.ts'
import type { BenchUpstream } from './upstream.ts'

/** One tunnel or proxy to the upstream. */
export interface Candidate {
  readonly name: string
  /** Its HTTP port and host name. */
  readonly http?: { readonly port: number; readonly host: string }
  readonly tcp?: number
  /** Its process groups, by part. */
  readonly parts: Readonly<Record<string, number>>
}

/** Starts every candidate whose programs are installed, and reports which are skipped and why. */
export async function startCandidates(dir: string, upstream: BenchUpstream): Promise<Candidate[]> {
  const candidates: Candidate[] = [
    { name: 'direct', http: { port: upstream.http, host: 'bench' }, tcp: upstream.tcp, parts: {} },
  ]
  const starters: Record<string, () => Promise<Candidate[]>> = {
    'nginx hop': async () => [await startNginxHop(dir, upstream)],
    haproxy: async () => [await startHaproxy(dir, upstream)],
    'OpenSSH -R': async () => [await startOpenSsh(dir, upstream)],
    platform: () => startAdit(dir, upstream),
    ...Object.fromEntries(
      Object.entries(OTHER_TUNNELS)
        .filter(([program]) => hasProgram(program))
        .map(([program, startOther]) => [program, async () => [await startOther(dir, upstream)]]),
    ),
  }
  for (const [name, startCandidate] of Object.entries(starters)) {
    try {
      candidates.push(...(await startCandidate()))
    } catch (error) {
      console.error(`${name} skipped: ${(error as Error).message}`)
    }
  }
  return candidates
}
