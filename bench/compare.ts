import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Candidate } from './tunnel/candidates.ts'
import { measureRequests } from './tunnel/load.ts'
import { IDLE, LOCAL_LOADS, type Load } from './tunnel/loads.ts'
import { ADIT_PROGRAM, startAgent, startServer } from './tunnel/platform.ts'
import { cpuSeconds, withPrograms } from './tunnel/processes.ts'
import { type BenchUpstream, pathOf, startUpstream } from './tunnel/upstream.ts'

const USAGE = `Usage: npm run bench:compare -- REVISION [--rounds N] [--seconds N] [--load TEXT]

Measures this checkout and another revision in one run, in alternation: CPU time of server and agent per request or byte.
Prints the ratio of the medians for each load, or for those whose names contain TEXT; above 1, this checkout costs more.
`
const WARM_UP_SECONDS = 3
const TCP_PORTS = { before: '21000-21999', now: '22000-22999' } as const
const ROOT = join(import.meta.dirname, '..')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '2' },
    load: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const [revision] = positionals
if (values.help || revision === undefined) {
  console.log(USAGE)
  process.exitCode = values.help ? 0 : 1
} else await withPrograms((dir) => compare(dir, revision))

async function compare(dir: string, revision: string): Promise<void> {
  const checkout = join(dir, 'checkout')
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', checkout, revision], { cwd: ROOT })
  try {
    execFileSync('sh', [join(checkout, 'scripts', 'setup.sh')], { stdio: ['ignore', 'ignore', 'inherit'] })
    const upstream = await startUpstream(dir)
    const programs = { before: join(checkout, 'bin', 'adit'), now: ADIT_PROGRAM }
    const before = await startCandidate(dir, 'before', programs.before, upstream)
    const now = await startCandidate(dir, 'now', programs.now, upstream)
    for (const { http } of [before, now])
      if (http) await measureRequests(http, pathOf('128 B'), 50, WARM_UP_SECONDS)
    const loads = LOCAL_LOADS.filter(({ name }) => name !== IDLE && name.includes(values.load))
    for (const load of loads) await compareLoad(load, before, now)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT })
  }
}

/** Server and agent of a checkout, each in one process. */
async function startCandidate(
  dir: string,
  name: keyof typeof TCP_PORTS,
  program: string,
  upstream: BenchUpstream,
): Promise<Candidate> {
  const own = join(dir, name)
  mkdirSync(own)
  const help = execFileSync(program, ['server', '--help'], { encoding: 'utf8' })
  const workers = help.includes('--workers') ? ['--workers', '1'] : []
  const platform = await startServer(own, [...workers, '--tcp-ports', TCP_PORTS[name]], {}, program)
  const agent = await startAgent(platform, own, {
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

async function compareLoad(load: Load, before: Candidate, now: Candidate): Promise<void> {
  const costs = new Map<Candidate, number[]>([
    [before, []],
    [now, []],
  ])
  for (let round = 0; round < Number(values.rounds); round++)
    for (const candidate of round % 2 === 0 ? [before, now] : [now, before])
      costs.get(candidate)!.push(await measureCost(load, candidate))
  const [earlier, current] = [median(costs.get(before)!), median(costs.get(now)!)]
  console.log(`${load.name.padEnd(40)} ${(current / earlier).toFixed(3)}`)
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
