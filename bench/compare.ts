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

const USAGE = `Usage: npm run bench:compare -- [REVISION] [flags]

Measures this checkout and another revision, or two settings, in one run: CPU time of server and agent per request or byte,
and the rate. Both sides are started anew N times, because what one start of a program costs differs from the next, and
measured one right after the other in many short rounds, because the machine gets slower and faster within seconds.
Prints for each load the median over all starts of the ratio within a start, the interval that contains the true one with a
probability of 95 %, and the range; above 1, the second side has more.

  --workers A,B    worker counts of the two sides; 1 by default
  --legs A,B       connections of their agents; 1 by default
  --inspect A,B    whether their agents record requests; false by default
  --starts N       9 by default
  --rounds N       8 by default
  --seconds N      length of a round, 1 by default
  --load TEXT      only loads whose names contain it
`
const WARM_UP_SECONDS = 3
const TCP_PORTS = ['21000-21999', '22000-22999'] as const
const ROOT = join(import.meta.dirname, '..')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    workers: { type: 'string', default: '1' },
    legs: { type: 'string', default: '1' },
    inspect: { type: 'string', default: 'false' },
    starts: { type: 'string', default: '9' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '1' },
    load: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

/** One of the two that are compared. */
interface Side {
  readonly index: 0 | 1
  readonly program: string
  readonly workers: string
  readonly legs: string
  readonly inspect: boolean
}

/** What one side used and did in a round. */
interface Round {
  /** CPU seconds per request or byte. */
  readonly cost: number
  readonly rate: number
}

/** The ratios of one load, one of each start. */
interface Ratios {
  readonly cost: number[]
  readonly rate: number[]
}

const [revision] = positionals
if (values.help) console.log(USAGE)
else if (revision === undefined) await compare(ADIT_PROGRAM)
else await withCheckout(revision, (checkout) => compare(join(checkout, 'bin', 'adit')))

async function withCheckout(revision: string, work: (checkout: string) => Promise<void>): Promise<void> {
  const checkout = mkdtempSync(join(tmpdir(), 'adit-compare-'))
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', checkout, revision], { cwd: ROOT })
  try {
    execFileSync('sh', [join(checkout, 'scripts', 'setup.sh')], { stdio: ['ignore', 'ignore', 'inherit'] })
    await work(checkout)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT })
  }
}

async function compare(otherProgram: string): Promise<void> {
  const sides = ([0, 1] as const).map((index): Side => {
    const ofSide = (pair: string) => {
      const [first = '', second = first] = pair.split(',')
      return index === 0 ? first : second
    }
    return {
      index,
      program: index === 0 ? otherProgram : ADIT_PROGRAM,
      workers: ofSide(values.workers),
      legs: ofSide(values.legs),
      inspect: ofSide(values.inspect) === 'true',
    }
  })
  const loads = LOCAL_LOADS.filter(({ name }) => name !== IDLE && name.includes(values.load))
  const ratios = new Map(loads.map((load): [Load, Ratios] => [load, { cost: [], rate: [] }]))
  for (let start = 0; start < Number(values.starts); start++)
    await withPrograms((dir) => measureStart(dir, start % 2 === 0 ? sides : sides.toReversed(), ratios))
  for (const [{ name }, { cost, rate }] of ratios) {
    report(`${name}, CPU`, cost)
    report(`${name}, rate`, rate)
  }
}

/** Starts both sides and adds the ratios of each load, the medians of the rounds. */
async function measureStart(
  dir: string,
  sides: readonly Side[],
  ratios: ReadonlyMap<Load, Ratios>,
): Promise<void> {
  const upstream = await startUpstream(dir)
  const candidates: [Side, Candidate][] = []
  for (const side of sides) candidates.push([side, await startCandidate(dir, side, upstream)])
  for (const [, { http }] of candidates)
    if (http) await measureRequests(http, pathOf('128 B'), 50, WARM_UP_SECONDS)
  for (const [load, { cost, rate }] of ratios) {
    const rounds: Round[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      const measured: Partial<Record<Side['index'], Round>> = {}
      for (const [{ index }, candidate] of round % 2 === 0 ? candidates : candidates.toReversed())
        measured[index] = await measureRound(load, candidate)
      const [first, second] = [measured[0]!, measured[1]!]
      rounds.push({ cost: second.cost / first.cost, rate: second.rate / first.rate })
    }
    cost.push(median(rounds.map((round) => round.cost)))
    rate.push(median(rounds.map((round) => round.rate)))
  }
}

function report(name: string, ratios: readonly number[]): void {
  const sorted = ratios.toSorted((a, b) => a - b)
  const rank = confidenceRank(sorted.length)
  const span = (first: number) => `${sorted[first]!.toFixed(3)} to ${sorted.at(-1 - first)!.toFixed(3)}`
  console.log(`${name.padEnd(46)} ${median(sorted).toFixed(3)}  95 %: ${span(rank)}  range: ${span(0)}`)
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

/** Server and agent of one side. */
async function startCandidate(
  dir: string,
  { index, program, workers, legs, inspect }: Side,
  upstream: BenchUpstream,
): Promise<Candidate> {
  const name = String(index)
  const own = join(dir, name)
  mkdirSync(own)
  const help = execFileSync(program, ['server', '--help'], { encoding: 'utf8' })
  const workerFlags = help.includes('--workers') ? ['--workers', workers] : []
  const platform = await startServer(own, [...workerFlags, '--tcp-ports', TCP_PORTS[index]], {}, program)
  // A revision that knows no legs ignores the variable, and has one.
  const agentEnv = { ...platform.env, ADIT_LEGS: legs }
  const agent = await startAgent({ ...platform, env: agentEnv }, own, {
    web: {
      proto: 'http',
      addr: upstream.http,
      hostname: 'bench.adit.localhost',
      schemes: ['http'],
      inspect,
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

async function measureRound(load: Load, candidate: Candidate): Promise<Round> {
  const groups = Object.values(candidate.parts)
  const before = cpuSeconds(groups)
  const { rate, count } = (await load.run(candidate, Number(values.seconds)))!
  return { cost: (cpuSeconds(groups) - before) / count, rate }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
