import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Candidate } from './tunnel/candidates.ts'
import { measureRequests } from './tunnel/load.ts'
import { IDLE, LOCAL_LOADS, type Load } from './tunnel/loads.ts'
import { ADIT_PROGRAM, startAgent, startServer } from './tunnel/platform.ts'
import { cpuSeconds, withPrograms } from './tunnel/processes.ts'
import { type BenchUpstream, pathOf, startUpstream } from './tunnel/upstream.ts'

const USAGE = `Usage: npm run bench:compare -- REVISION [--starts N] [--rounds N] [--seconds N] [--load TEXT]

Measures this checkout and another revision in one run: CPU time of server and agent per request or byte. Both are
started anew N times, because what one start of a program costs differs from the next, and measured one right after the
other in many short rounds, because the machine gets slower and faster within seconds.
Prints for each load, or for those whose names contain TEXT, the median over all starts of the ratio within a start, the
interval that contains the true one with a probability of 95 %, and the range; above 1, this checkout costs more.
`
const WARM_UP_SECONDS = 3
const TCP_PORTS = { before: '21000-21999', now: '22000-22999' } as const
type Side = keyof typeof TCP_PORTS
const SIDES: readonly Side[] = ['before', 'now']
const ROOT = join(import.meta.dirname, '..')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    starts: { type: 'string', default: '9' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '1' },
    load: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const [revision] = positionals
if (values.help || revision === undefined) {
  console.log(USAGE)
  process.exitCode = values.help ? 0 : 1
} else await compare(revision)

async function compare(revision: string): Promise<void> {
  const checkout = mkdtempSync(join(tmpdir(), 'adit-compare-'))
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', checkout, revision], { cwd: ROOT })
  try {
    execFileSync('sh', [join(checkout, 'scripts', 'setup.sh')], { stdio: ['ignore', 'ignore', 'inherit'] })
    const programs = { before: join(checkout, 'bin', 'adit'), now: ADIT_PROGRAM }
    const loads = LOCAL_LOADS.filter(({ name }) => name !== IDLE && name.includes(values.load))
    const ratios = new Map(loads.map((load): [Load, number[]] => [load, []]))
    for (let start = 0; start < Number(values.starts); start++) {
      const order = start % 2 === 0 ? SIDES : SIDES.toReversed()
      await withPrograms((dir) => measureStart(dir, programs, order, ratios))
    }
    for (const [load, measured] of ratios) report(load, measured)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT })
  }
}

/** Starts both sides and adds the ratio of their costs for each load, the median of the rounds. */
async function measureStart(
  dir: string,
  programs: Record<Side, string>,
  order: readonly Side[],
  ratios: ReadonlyMap<Load, number[]>,
): Promise<void> {
  const upstream = await startUpstream(dir)
  const candidates: [Side, Candidate][] = []
  for (const side of order) candidates.push([side, await startCandidate(dir, side, programs[side], upstream)])
  for (const [, { http }] of candidates)
    if (http) await measureRequests(http, pathOf('128 B'), 50, WARM_UP_SECONDS)
  for (const [load, measured] of ratios) {
    const rounds: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      const costs = { before: 0, now: 0 }
      for (const [side, candidate] of round % 2 === 0 ? candidates : candidates.toReversed())
        costs[side] = await measureCost(load, candidate)
      rounds.push(costs.now / costs.before)
    }
    measured.push(median(rounds))
  }
}

function report(load: Load, ratios: readonly number[]): void {
  const sorted = ratios.toSorted((a, b) => a - b)
  const rank = confidenceRank(sorted.length)
  const span = (first: number) => `${sorted[first]!.toFixed(3)} to ${sorted.at(-1 - first)!.toFixed(3)}`
  console.log(`${load.name.padEnd(40)} ${median(sorted).toFixed(3)}  95 %: ${span(rank)}  range: ${span(0)}`)
}

/** How many values at each end of a sorted sample lie outside the interval of 95 % for its median. */
function confidenceRank(size: number): number {
  let rank = 0
  // The chance that exactly, and that at most, `rank` of the values are below the true median.
  let exactly = 0.5 ** size
  let atMost = exactly
  while (atMost <= 0.025) {
    rank++
    exactly *= (size - rank + 1) / rank
    atMost += exactly
  }
  return Math.max(0, rank - 1)
}

/** Server and agent of a checkout, each in one process, with one connection between them. */
async function startCandidate(
  dir: string,
  name: Side,
  program: string,
  upstream: BenchUpstream,
): Promise<Candidate> {
  const own = join(dir, name)
  mkdirSync(own)
  const help = execFileSync(program, ['server', '--help'], { encoding: 'utf8' })
  const workers = help.includes('--workers') ? ['--workers', '1'] : []
  const platform = await startServer(own, [...workers, '--tcp-ports', TCP_PORTS[name]], {}, program)
  // A revision that knows no legs ignores the variable, and has one.
  const agentEnv = { ...platform.env, ADIT_LEGS: '1' }
  const agent = await startAgent({ ...platform, env: agentEnv }, own, {
    web: {
      proto: 'http',
      addr: upstream.http,
      hostname: 'bench.adit.localhost',
      schemes: ['http'],
      inspect: false,
    },
    raw: { proto: 'tcp', addr: upstream.tcp },
  })
  const { tunnels } = (await platform.call('GET', '/tunnels')) as {
    tunnels: { proto: string; public_url: string }[]
  }
  const raw = tunnels.find(({ proto }) => proto === 'tcp')!
  return {
    name,
    http: { port: platform.port, host: `bench.adit.localhost:${platform.port}` },
    tcp: Number(new URL(raw.public_url).port),
    parts: { edge: platform.edge, agent },
  }
}

/** CPU seconds per request or byte. */
async function measureCost(load: Load, candidate: Candidate): Promise<number> {
  const groups = Object.values(candidate.parts)
  const before = cpuSeconds(groups)
  const measured = await load.run(candidate, Number(values.seconds))
  return (cpuSeconds(groups) - before) / measured!.count
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
