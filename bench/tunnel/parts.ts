import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Candidate, startCandidates, startTunnels } from './candidates.ts'
import { createDelayedLink, LOOPBACK, LOSSY_LINK, openNamespaces, SERVER_NAMESPACE } from './link.ts'
import { measureRequests } from './load.ts'
import { LOCAL_LOADS, LONG_LOADS, LOSSY_LOADS, type Load } from './loads.ts'
import { cpuSeconds, hasProgram, residentKib, stopAll } from './processes.ts'
import type { Results, Sample } from './results.ts'
import { readProcessorTime, stolenShare } from './stolen-time.ts'
import { raiseTcpMemory } from './tcp-memory.ts'
import { type BulkUpstream, startBulkUpstream } from './transfer.ts'
import { pathOf, startIperf, startUpstream } from './upstream.ts'

const ONE_WAY_MS = 25
const LOSS_PERCENT = 0.5
/** A server gives back memory in its first idle time, and compiles again what it uses afterwards. */
const WARM_UP_ROUNDS = 2
const WARM_UP_SECONDS = 3
/** A round in which other machines on the same hardware take more than this share of the processors is repeated. */
const MAX_STOLEN_SHARE = 0.03
const MAX_TRIES = 5
const PAUSE_MS = 5_000

/** The parts of the benchmark; each starts its own programs. */
export const PARTS = { local: runLocal, long: runLong, lossy: runLossy } as const
export type PartName = keyof typeof PARTS

/** Everything on one machine. */
async function runLocal(dir: string, results: Results): Promise<void> {
  const candidates = await startCandidates({ dir, link: LOOPBACK, upstream: await startUpstream(dir) })
  // Just-in-time compiled code is slow at first, and real tunnels are long-lived.
  for (let round = 0; round < WARM_UP_ROUNDS; round++)
    for (const { http } of candidates)
      if (http) await measureRequests(http, pathOf('128 B'), 50, WARM_UP_SECONDS)
  await measure('local', candidates, LOCAL_LOADS, results)
}

/** A link of 50 ms between agents and servers. */
async function runLong(dir: string, results: Results): Promise<void> {
  const link = createDelayedLink(ONE_WAY_MS)
  const bulk = await startBulkUpstream()
  raiseTcpMemory()
  try {
    const upstream = { ...bulk.ports, tcp: await startIperf(link) }
    await measure('long', await startTunnels({ dir, link, upstream }), LONG_LOADS, results, bulk)
  } finally {
    bulk.stop()
  }
}

/** The same with packet loss, in network namespaces; this process starts itself anew in the one of the servers. */
async function runLossy(_dir: string, _results: Results): Promise<void> {
  if (userInfo().uid !== 0 || !hasProgram('ip') || !hasProgram('python3'))
    throw new Error('needs root, iproute2 and python3 for network namespaces with packet loss')
  const close = await openNamespaces(ONE_WAY_MS, LOSS_PERCENT)
  try {
    const script = join(import.meta.dirname, 'lossy-part.ts')
    const args = ['netns', 'exec', SERVER_NAMESPACE, process.execPath, script, ...process.argv.slice(2)]
    const [code] = await once(spawn('ip', args, { stdio: 'inherit' }), 'exit')
    if (code !== 0) throw new Error(`exited with ${code}`)
  } finally {
    await stopAll()
    close()
  }
}

/** The part of `runLossy` inside the namespace of the servers. */
export async function measureLossy(dir: string, results: Results): Promise<void> {
  const upstream = { tcp: await startIperf(LOSSY_LINK) }
  await measure('lossy', await startTunnels({ dir, link: LOSSY_LINK, upstream }), LOSSY_LOADS, results)
}

/** Candidates alternate, so that other load on the machine affects them all. */
async function measure(
  part: string,
  candidates: readonly Candidate[],
  loads: readonly Load[],
  results: Results,
  bulk?: BulkUpstream,
): Promise<void> {
  const start = performance.now()
  for (const [index, load] of loads.entries()) {
    for (let round = 0; round < results.settings.rounds; round++)
      for (const candidate of candidates)
        if (!results.has(load.name, candidate.name, round))
          await measureOne(load, candidate, round, results, bulk)
    const minutesLeft = (((performance.now() - start) / (index + 1)) * (loads.length - index - 1)) / 60_000
    console.error(
      `${part} ${index + 1}/${loads.length}, about ${minutesLeft.toFixed(0)} min left in this part: ${load.name}`,
    )
  }
}

/** Measures until a round was undisturbed; the least disturbed one counts. */
async function measureOne(
  { name, run }: Load,
  candidate: Candidate,
  round: number,
  results: Results,
  bulk?: BulkUpstream,
): Promise<void> {
  const groups = [...new Set(Object.values(candidate.parts))]
  let best: Sample | undefined
  try {
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      if (attempt > 0) await setTimeout(PAUSE_MS)
      const [cpu, processorTime] = [cpuSeconds(groups), readProcessorTime()]
      const measured = await run(candidate, results.settings.seconds, bulk)
      if (measured === undefined) return
      const memory = Object.entries(candidate.parts).map(([part, group]) => [part, residentKib(group) / 1024])
      const sample: Sample = {
        load: name,
        candidate: candidate.name,
        round,
        ...measured,
        cpu: cpuSeconds(groups) - cpu,
        memory: Object.fromEntries(memory),
        stolen: stolenShare(processorTime),
      }
      if (best === undefined || sample.stolen < best.stolen) best = sample
      if (best.stolen <= MAX_STOLEN_SHARE) break
    }
  } catch (error) {
    console.error(`${candidate.name}, ${name}: ${(error as Error).message.split('\n')[0]}`)
  }
  if (best !== undefined) results.add(best)
}
