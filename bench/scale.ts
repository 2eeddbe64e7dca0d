// Measures how the platform grows with agents, edges, resources, nodes, workers and legs: `npm run bench:scale -- --help`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createTestDatabase } from '../test/support/postgres.ts'
import { insertRows } from './rows.ts'
import { type BenchPlatform, startServer } from './tunnel/platform.ts'
import { cpuSeconds, residentKib, stopAll, withPrograms } from './tunnel/processes.ts'

const USAGE = `Usage: npm run bench:scale -- [flags]

Prints how long agents take to connect and what they cost, and how a start grows with what is stored.
The open files (ulimit -n) of a process limit the sessions of an account, to 44 % of them less 2,880, and further legs to
6.5 %: 10,000 agents at one worker need 29,000 open files, and with four legs each 460,000. Legs beyond that are not opened.

  --agents N       agents, each with a tunnel; 10000 by default
  --workers A,B    worker counts; 1,2 by default
  --legs A,B       connections of each agent; 1,4 by default
  --nodes N        nodes on one PostgreSQL database, with the agents spread over them; 3 by default
  --edges N        HTTPS edges that are stored; 100000 by default
  --resources N    IP policies that are stored; 1000000 by default
`

const { values: flags } = parseArgs({
  options: {
    agents: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '1,2' },
    legs: { type: 'string', default: '1,4' },
    nodes: { type: 'string', default: '3' },
    edges: { type: 'string', default: '100000' },
    resources: { type: 'string', default: '1000000' },
    help: { type: 'boolean', default: false },
  },
})

const AGENTS = Number(flags.agents)
const AGENTS_PROGRAM = join(import.meta.dirname, 'scale', 'agents.ts')
const AGENT_PROCESSES = 4
/** Calls of the API that are under way at once. */
const CALLS = 32
const FLAGS = ['--api-rate-limit', '0']
/** An idle server collects its garbage within ten seconds (decision 254). */
const IDLE_MS = 15_000

if (flags.help) process.stdout.write(USAGE)
else await withPrograms(measureAll)

async function measureAll(dir: string): Promise<void> {
  printRow(['agents', 'nodes', 'workers', 'legs each', 'seconds', 'CPU ms each', 'KiB each'])
  for (const workers of numbers(flags.workers))
    for (const legs of numbers(flags.legs))
      await measureAgents(join(dir, `workers-${workers}-legs-${legs}`), { nodes: 1, workers, legs })
  if (Number(flags.nodes) > 1)
    await measureAgents(join(dir, 'nodes'), { nodes: Number(flags.nodes), workers: 1, legs: 1 })
  printRow(['stored', '', '', '', 'start s', 'CPU s', 'MiB'])
  await measureStart(join(dir, 'nothing'), 'nothing', () => {})
  const [edges, resources] = [Number(flags.edges), Number(flags.resources)]
  await measureStart(join(dir, 'edges'), `${edges} edges`, (server) => createEdges(server, edges))
  await measureStart(join(dir, 'resources'), `${resources} rows`, async ({ env }) => {
    await stopAll()
    insertRows(env.ADIT_DATA_DIR!, resources)
  })
}

/** Connects the agents and prints what that took, and what they added to the servers. */
async function measureAgents(
  dir: string,
  { nodes, workers, legs }: { nodes: number; workers: number; legs: number },
): Promise<void> {
  const cleanups: (() => unknown)[] = []
  const servers = await startNodes(dir, { nodes, workers }, (cleanup) => cleanups.push(cleanup))
  const roots = servers.map(({ edge }) => edge)
  const resident = () => roots.reduce((sum, root) => sum + residentKib(root), 0)
  await sleep(IDLE_MS)
  const before = { kib: resident(), cpu: cpuSeconds(roots), startedAt: performance.now() }
  const agents = await connectAgents(servers, legs)
  const seconds = (performance.now() - before.startedAt) / 1000
  const cpuMs = ((cpuSeconds(roots) - before.cpu) * 1000) / AGENTS
  await sleep(IDLE_MS)
  const kib = (resident() - before.kib) / AGENTS
  const legsEach = (agents.legs / AGENTS).toFixed(1)
  printRow([AGENTS, nodes, workers, legsEach, seconds.toFixed(1), cpuMs.toFixed(1), kib.toFixed(1)])
  agents.stop()
  await stopAll()
  for (const cleanup of cleanups) await cleanup()
}

/** Starts one server, or several on one database. */
async function startNodes(
  dir: string,
  { nodes, workers }: { nodes: number; workers: number },
  after: (cleanup: () => unknown) => void,
): Promise<BenchPlatform[]> {
  mkdirSync(dir)
  const shared = ['--workers', String(workers)]
  if (nodes > 1) {
    const { url } = await createTestDatabase({ after })
    shared.push('--database-url', url, '--master-key-file', join(dir, 'master.key'))
  }
  const servers: BenchPlatform[] = []
  for (let node = 0; node < nodes; node++) {
    const home = join(dir, String(node))
    mkdirSync(home)
    servers.push(await startServer(home, [...FLAGS, ...shared]))
  }
  return servers
}

/** Resolves once all agents are online, to the number of their legs. */
async function connectAgents(
  servers: readonly BenchPlatform[],
  legs: number,
): Promise<{ legs: number; stop(): void }> {
  const { ca_file = '', authtoken = '' } = servers[0]!.credentials
  const addresses = servers.map(({ credentials }) => credentials.agent_addr!)
  const children = Array.from({ length: AGENT_PROCESSES }, (_, index) => {
    const share = String(Math.floor((AGENTS + index) / AGENT_PROCESSES))
    const args = [AGENTS_PROGRAM, ca_file, authtoken, share, String(legs), ...addresses]
    return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  })
  const opened = await Promise.all(
    children.map(async ({ stdout }) => {
      // Each prints one line, when its agents are online.
      const [line] = await Promise.race([
        once(createInterface({ input: stdout }), 'line'),
        once(stdout, 'end'),
      ])
      if (line === undefined)
        throw new Error('a process with agents has ended: is the limit of open files too low?')
      return Number(line)
    }),
  )
  return {
    legs: opened.reduce((sum, each) => sum + each, 0),
    stop: () => {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}

/** Stores something, and prints what the next start takes. */
async function measureStart(
  dir: string,
  what: string,
  store: (server: BenchPlatform) => Promise<void> | void,
): Promise<void> {
  mkdirSync(dir)
  await store(await startServer(dir, FLAGS))
  await stopAll()
  const startedAt = performance.now()
  const { edge } = await startServer(dir, FLAGS)
  const seconds = (performance.now() - startedAt) / 1000
  printRow([
    what,
    '',
    '',
    '',
    seconds.toFixed(1),
    cpuSeconds([edge]).toFixed(1),
    Math.round(residentKib(edge) / 1024),
  ])
  await stopAll()
}

async function createEdges({ call }: BenchPlatform, count: number): Promise<void> {
  await call('POST', '/reserved_domains', { domain: '*.scale.adit.localhost' })
  const backend = await call('POST', '/backends/http_response', { body: 'scale', status_code: 200 })
  let created = 0
  const createNext = async () => {
    while (created < count) {
      const hostports = [`e${created++}.scale.adit.localhost:443`]
      const edge = await call('POST', '/edges/https', { hostports })
      const route = { match_type: 'path_prefix', match: '/', backend: { backend_id: backend.id } }
      await call('POST', `/edges/https/${edge.id}/routes`, route)
    }
  }
  await Promise.all(Array.from({ length: CALLS }, createNext))
}

function numbers(list: string): number[] {
  return list.split(',').map(Number)
}

function printRow(cells: readonly (string | number)[]): void {
  process.stdout.write(`${cells.map((cell) => String(cell).padStart(14)).join('')}\n`)
}
