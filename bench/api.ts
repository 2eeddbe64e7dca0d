// Measures the management API: `npm run bench:api`. BENCH_ROWS and BENCH_SECONDS shorten or lengthen the run.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newId } from '../src/base/values/id.ts'
import { type LoadResult, measure, request } from './load.ts'
import { BODY, insertRows } from './rows.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 0.6)
const MANY_ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const FEW_ROWS = 1_000
const CONNECTIONS = 32
// Many short rounds, so that other load on the machine affects everything compared alike.
const ROUNDS = 9
const FLAGS = ['--roles', 'api', '--log-level', 'error', '--api-rate-limit', '0']
const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'adit-bench-'))

interface Server {
  readonly port: number
  readonly pid: number
  readonly key: string
  stop(): Promise<void>
}

async function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<string> {
  let output = ''
  child.stdout!.setEncoding('utf8')
  while (!pattern.test(output)) {
    const [chunk] = (await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])) as [unknown]
    if (typeof chunk !== 'string') throw new Error(`the server exited: ${output}`)
    output += chunk
  }
  return output
}

async function stopChild(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

async function startServer(dataDir: string): Promise<Server> {
  const ports = ['api', 'http', 'https', 'agent', 'ssh', 'dns'].flatMap((name) => [
    `--${name}-addr`,
    '127.0.0.1:0',
  ])
  const child = spawn(join(root, 'bin', 'adit'), ['server', '--data-dir', dataDir, ...ports, ...FLAGS], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await waitForOutput(child, /Adit is ready/)
  const { api_url, api_key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return { port: Number(new URL(api_url).port), pid: child.pid!, key: api_key, stop: () => stopChild(child) }
}

async function startBare(constant: object): Promise<Omit<Server, 'key'>> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare.ts'), JSON.stringify(constant)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = Number(await waitForOutput(child, /\d+\n/))
  return { port, pid: child.pid!, stop: () => stopChild(child) }
}

async function fetchJson(server: Server, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { authorization: `Bearer ${server.key}` },
  })
  return (await response.json()) as Record<string, unknown>
}

/** Starts a server with this many resources and returns a sample of their ids. */
async function startWithRows(rows: number): Promise<{ server: Server; ids: string[] }> {
  const dataDir = join(home, String(rows))
  await (await startServer(dataDir)).stop()
  const ids = insertRows(dataDir, rows)
  return { server: await startServer(dataDir), ids }
}

/** Bare inserts per second, each in its own transaction and flushed to disk. */
function measureRawInserts(): number {
  const file = join(home, 'raw.db')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE resources (account TEXT, kind TEXT, id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT INTO resources VALUES (?, ?, ?, ?)')
  const data = JSON.stringify(BODY)
  const deadline = performance.now() + SECONDS * 1000
  let rows = 0
  while (performance.now() < deadline) {
    insert.run('ac', 'ip_policies', newId('ipp'), data)
    rows += 1
  }
  database.close()
  rmSync(file)
  return rows / SECONDS
}

const median = (values: number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!
const medianRate = (runs: LoadResult[]) => median(runs.map(({ perSecond }) => perSecond))
const medianCpu = (runs: LoadResult[]) => median(runs.map(({ cpu }) => cpu))
const formatCount = (value: number) => Math.round(value).toLocaleString('en')

function printRow(what: string, runs: LoadResult[], note = ''): void {
  const cpu = medianCpu(runs)
  const cpuText = Number.isNaN(cpu) ? '' : `${Math.round(cpu)} us CPU`
  process.stdout.write(
    `${what.padEnd(34)}${formatCount(medianRate(runs)).padStart(9)}/s ${cpuText.padStart(12)}  ${note}\n`,
  )
}

async function main(): Promise<void> {
  const small = await startWithRows(FEW_ROWS)
  const large = await startWithRows(MANY_ROWS)
  const run = ({ port, pid }: Omit<Server, 'key'>, requests: Buffer[], status = 200) =>
    measure({ connections: CONNECTIONS, seconds: SECONDS, port, pid, requests, status })
  const get = ({ server, ids }: typeof small) =>
    run(
      server,
      ids.map((id) => request('GET', `/ip_policies/${id}`, server.key)),
    )
  const list = ({ server, ids }: typeof small) =>
    run(
      server,
      // Full pages only: the oldest hundred have fewer rows after them.
      ids
        .toSorted()
        .slice(100)
        .map((id) => request('GET', `/ip_policies?limit=100&before_id=${id}`, server.key)),
    )

  const bare = await startBare(await fetchJson(small.server, `/ip_policies/${small.ids[0]}`))
  const barePage = await startBare(await fetchJson(small.server, '/ip_policies?limit=100'))
  const constant = [request('GET', '/constant', small.server.key)]
  const measured = {
    bare: [] as LoadResult[],
    get: [] as LoadResult[],
    getOfMany: [] as LoadResult[],
    barePage: [] as LoadResult[],
    list: [] as LoadResult[],
    listOfMany: [] as LoadResult[],
    raw: [] as LoadResult[],
    create: [] as LoadResult[],
  }
  // Warm-up: code is compiled and pages are in memory before anything is measured.
  for (const side of [small, large, small, large]) await get(side)
  for (let round = 0; round < ROUNDS; round++) {
    measured.bare.push(await run(bare, constant))
    measured.get.push(await get(small))
    measured.getOfMany.push(await get(large))
    measured.barePage.push(await run(barePage, constant))
    measured.list.push(await list(small))
    measured.listOfMany.push(await list(large))
  }
  await Promise.all([bare.stop(), barePage.stop(), large.server.stop()])
  for (let round = 0; round < ROUNDS; round++) {
    measured.raw.push({ perSecond: measureRawInserts(), cpu: Number.NaN })
    measured.create.push(
      await run(small.server, [request('POST', '/ip_policies', small.server.key, BODY)], 201),
    )
  }
  await small.server.stop()

  // Per round: values that are compared were measured within the same seconds.
  const ratio = (parts: LoadResult[], wholes: LoadResult[], of: (measured: LoadResult) => number) =>
    median(parts.map((part, round) => of(part) / of(wholes[round]!)))
  const share = (part: LoadResult[], whole: LoadResult[]) =>
    `${Math.round(ratio(part, whole, ({ perSecond }) => perSecond) * 100)} %`
  const growth = (few: LoadResult[], many: LoadResult[]) =>
    `${ratio(many, few, ({ cpu }) => cpu).toFixed(2)}x the CPU, ${ratio(few, many, ({ perSecond }) => perSecond).toFixed(2)}x the time at ${formatCount(FEW_ROWS)} (target 1.30x)`
  process.stdout.write(`${formatCount(FEW_ROWS)} resources stored, SQLite, ${CONNECTIONS} connections\n`)
  printRow('bare Fastify route, one object', measured.bare)
  printRow('GET by id', measured.get, `${share(measured.get, measured.bare)} of the bare route (target 60 %)`)
  printRow('bare Fastify route, 100 objects', measured.barePage)
  printRow('list of 100', measured.list, `${share(measured.list, measured.barePage)} of the bare route`)
  printRow('raw durable inserts', measured.raw)
  printRow('create', measured.create, `${share(measured.create, measured.raw)} of raw inserts (target 50 %)`)
  process.stdout.write(`\n${formatCount(MANY_ROWS)} resources stored\n`)
  printRow('GET by id', measured.getOfMany, growth(measured.get, measured.getOfMany))
  printRow('list of 100', measured.listOfMany, growth(measured.list, measured.listOfMany))
}

try {
  await main()
} finally {
  rmSync(home, { recursive: true, force: true })
}
