import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Candidate, startCandidates } from './tunnel/candidates.ts'
import {
  type Measurement,
  measureBulk,
  measureNewConnections,
  measureRequests,
  openIdle,
} from './tunnel/load.ts'
import { cpuSeconds, hasProgram, residentKib, stopAll } from './tunnel/processes.ts'
import { type Case, type Idle, type Result, report } from './tunnel/report.ts'
import { type BodySize, pathOf, startUpstream } from './tunnel/upstream.ts'

/**
 * Compares tunnels and proxies to the same upstream under the same load, all in one run: `--quick` measures less and takes
 * under three minutes, `--write` writes the report to docs/benchmarks.md. Candidates alternate, so that other load on the
 * machine affects them all; the median of the rounds counts, and ratios mean more than rates.
 */
const TOOLS: Record<string, string> = {
  wrk: 'wrk',
  ab: 'apache2-utils',
  iperf3: 'iperf3',
  nginx: 'nginx-light',
  haproxy: 'haproxy',
  sshd: 'openssh-server',
}
const QUICK = process.argv.includes('--quick')
const ROUNDS = Number(process.env.ROUNDS ?? (QUICK ? 2 : 3))
const SECONDS = Number(process.env.SECONDS ?? (QUICK ? 1 : 2))
const IDLE_CONNECTIONS = 1000
const WARM_UP_SECONDS = 2

const missing = Object.keys(TOOLS).filter((tool) => !hasProgram(tool))
if (missing.length > 0) {
  const packages = missing.map((tool) => TOOLS[tool]).join(' ')
  console.error(`Missing programs: ${missing.join(', ')}. On Debian: apt-get install -y ${packages}`)
  process.exit(1)
}

const dir = mkdtempSync(join(tmpdir(), 'adit-bench-'))
// nginx workers started by root run as another user.
chmodSync(dir, 0o755)
try {
  const candidates = await startCandidates(dir, await startUpstream(dir))
  // Warm-up: just-in-time compiled code is slow at first, and real tunnels are long-lived.
  for (const { http } of candidates)
    if (http) await measureRequests(http, pathOf('128 B'), 50, WARM_UP_SECONDS)
  const results = await measure(candidates, QUICK ? quickCases() : allCases())
  const text = report({ results, idle: await measureIdle(candidates), rounds: ROUNDS, seconds: SECONDS })
  console.log(text)
  if (process.argv.includes('--write'))
    writeFileSync(join(import.meta.dirname, '..', 'docs', 'benchmarks.md'), text)
} finally {
  await stopAll()
  rmSync(dir, { recursive: true, force: true })
}

function keepAlive(body: BodySize, connections: number): Case {
  return {
    name: `${body}, keep-alive, ${connections} connection${connections === 1 ? '' : 's'}`,
    unit: 'requests/s',
    run: ({ http }) => http && measureRequests(http, pathOf(body), connections, SECONDS),
  }
}

function newConnection(body: BodySize, connections: number): Case {
  return {
    name: `${body}, new connections, ${connections} at once`,
    unit: 'requests/s',
    run: ({ http }) => http && measureNewConnections(http, pathOf(body), connections, SECONDS),
  }
}

function stream(direction: 'down' | 'up', streams: number): Case {
  return {
    name: `TCP ${direction}, ${streams} stream${streams === 1 ? '' : 's'}`,
    unit: 'MB/s',
    run: ({ tcp }) => (tcp === undefined ? undefined : measureBulk(tcp, direction, streams, SECONDS)),
  }
}

function bulkCases(): Case[] {
  return [stream('down', 1), stream('up', 1), stream('down', 4), stream('up', 4)]
}

function quickCases(): Case[] {
  const small = [1, 50, 200].map((connections) => keepAlive('128 B', connections))
  return [...small, keepAlive('64 KB', 50), newConnection('128 B', 50), ...bulkCases()]
}

function allCases(): Case[] {
  const bodies: BodySize[] = ['128 B', '64 KB', '10 MB']
  const keepAliveCases = bodies.flatMap((body) =>
    [1, 50, 200].map((connections) => keepAlive(body, connections)),
  )
  return [
    ...keepAliveCases,
    ...[1, 50, 200].map((connections) => newConnection('128 B', connections)),
    ...bulkCases(),
  ]
}

async function measure(candidates: readonly Candidate[], cases: readonly Case[]): Promise<Result[]> {
  const results: Result[] = []
  for (const loadCase of cases) {
    const rounds = new Map<string, (Measurement & { cpu: number })[]>()
    for (let round = 0; round < ROUNDS; round++) {
      for (const candidate of candidates) {
        const measured = await measureOne(loadCase, candidate)
        if (measured === undefined) continue
        rounds.set(candidate.name, [...(rounds.get(candidate.name) ?? []), measured])
      }
    }
    results.push({ case: loadCase, rounds })
    console.error(`measured: ${loadCase.name}`)
  }
  return results
}

async function measureOne(
  { name, run }: Case,
  candidate: Candidate,
): Promise<(Measurement & { cpu: number }) | undefined> {
  const groups = [...new Set(Object.values(candidate.parts))]
  const before = cpuSeconds(groups)
  try {
    const measured = await run(candidate)
    return measured && { ...measured, cpu: cpuSeconds(groups) - before }
  } catch (error) {
    console.error(`${candidate.name}, ${name}: ${(error as Error).message.split('\n')[0]}`)
    return undefined
  }
}

/** Memory of each part per idle connection, after one response. */
async function measureIdle(candidates: readonly Candidate[]): Promise<Idle[]> {
  const measured: Idle[] = []
  for (const { name, http, parts } of candidates) {
    if (http === undefined || Object.keys(parts).length === 0) continue
    const before = Object.values(parts).map(residentKib)
    const close = await openIdle(http, pathOf('128 B'), IDLE_CONNECTIONS)
    const kib = Object.entries(parts).map(([part, group], index) => {
      return [part, (residentKib(group) - before[index]!) / IDLE_CONNECTIONS] as const
    })
    close()
    measured.push({ name, kib: Object.fromEntries(kib) })
  }
  return measured
}
