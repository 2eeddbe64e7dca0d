// Measures the management API: `npm run bench:api`. BENCH_ROWS and BENCH_SECONDS shorten or lengthen the run.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newId } from '../src/base/id.ts'
import { type Measured, measure, request } from './load.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 0.6)
const MANY = Number(process.env.BENCH_ROWS ?? 1_000_000)
const FEW = 1_000
const CONNECTIONS = 32
// Many short turns: what else the machine does then meets all that is compared alike.
const ROUNDS = 9
const FLAGS = ['--roles', 'api', '--log-level', 'error', '--api-rate-limit', '0']
const root = join(import.meta.dirname, '..')
const dataDir = mkdtempSync(join(tmpdir(), 'adit-bench-'))

interface Server {
  readonly port: number
  readonly pid: number
  readonly key: string
  stop(): Promise<void>
}

async function started(child: ChildProcess, word: RegExp): Promise<string> {
  let said = ''
  child.stdout!.setEncoding('utf8')
  while (!word.test(said)) {
    const [piece] = (await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])) as [unknown]
    if (typeof piece !== 'string') throw new Error(`the server ended: ${said}`)
    said += piece
  }
  return said
}

async function stopped(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

async function startServer(): Promise<Server> {
  const ports = ['api', 'http', 'https', 'agent', 'ssh', 'dns'].flatMap((name) => [
    `--${name}-addr`,
    '127.0.0.1:0',
  ])
  const child = spawn(join(root, 'bin', 'adit'), ['server', '--data-dir', dataDir, ...ports, ...FLAGS], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await started(child, /Adit is ready/)
  const { api_url, api_key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return { port: Number(new URL(api_url).port), pid: child.pid!, key: api_key, stop: () => stopped(child) }
}

async function startBare(constant: object): Promise<Omit<Server, 'key'>> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare.ts'), JSON.stringify(constant)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = Number(await started(child, /\d+\n/))
  return { port, pid: child.pid!, stop: () => stopped(child) }
}

async function get(server: Server, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { authorization: `Bearer ${server.key}` },
  })
  return (await response.json()) as Record<string, unknown>
}

const BODY = { description: 'made by the benchmark', metadata: '{"team":"blue","purpose":"measuring"}' }

/** Puts rows into the table directly, until there are so many; answers with ids picked from all of them. */
function fill(rows: number): string[] {
  const database = new DatabaseSync(join(dataDir, 'adit.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  const account = String(
    database.prepare("SELECT account FROM resources WHERE kind = 'users'").get()!.account,
  )
  const count = Number(
    database.prepare("SELECT count(*) AS count FROM resources WHERE kind = 'ip_policies'").get()!.count,
  )
  const insert = database.prepare(
    "INSERT INTO resources (account, kind, id, data, sealed, revision, created_at) VALUES (?, 'ip_policies', ?, ?, NULL, 1, ?)",
  )
  const data = JSON.stringify(BODY)
  const from = Date.now() - rows * 10
  database.exec('BEGIN')
  for (let row = count; row < rows; row++)
    insert.run(account, newId('ipp', from + row * 10), data, from + row * 10)
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  const picked = database
    .prepare("SELECT id FROM resources WHERE kind = 'ip_policies' ORDER BY random() LIMIT 20000")
    .all()
  database.close()
  return picked.map(({ id }) => String(id))
}

/** Inserts a second when each is a transaction of its own, flushed to disk, and nothing else is done. */
function rawInserts(): number {
  const file = join(dataDir, 'raw.db')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE resources (account TEXT, kind TEXT, id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT INTO resources VALUES (?, ?, ?, ?)')
  const data = JSON.stringify(BODY)
  const until = performance.now() + SECONDS * 1000
  let rows = 0
  while (performance.now() < until) {
    insert.run('ac', 'ip_policies', newId('ipp'), data)
    rows += 1
  }
  database.close()
  rmSync(file)
  return rows / SECONDS
}

const middle = (values: number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!
const rate = (runs: Measured[]) => middle(runs.map(({ perSecond }) => perSecond))
const cost = (runs: Measured[]) => middle(runs.map(({ cpu }) => cpu))
const grouped = (value: number) => Math.round(value).toLocaleString('en')

function say(what: string, runs: Measured[], beside = ''): void {
  const cpu = cost(runs)
  const spent = Number.isNaN(cpu) ? '' : `${Math.round(cpu)} us CPU`
  process.stdout.write(
    `${what.padEnd(34)}${grouped(rate(runs)).padStart(9)}/s ${spent.padStart(12)}  ${beside}\n`,
  )
}

async function main(): Promise<void> {
  let server = await startServer()
  await server.stop()
  const few = fill(FEW)
  const common = { connections: CONNECTIONS, seconds: SECONDS, status: 200 }
  const run = ({ port, pid }: Omit<Server, 'key'>, requests: Buffer[], status = 200) =>
    measure({ ...common, port, pid, requests, status })
  const gets = (ids: string[]) => ids.map((id) => request('GET', `/ip_policies/${id}`, server.key))
  const lists = (ids: string[]) =>
    ids.map((id) => request('GET', `/ip_policies?limit=100&before_id=${id}`, server.key))

  server = await startServer()
  const bare = await startBare(await get(server, `/ip_policies/${few[0]}`))
  const barePage = await startBare(await get(server, '/ip_policies?limit=100'))
  const constant = [request('GET', '/constant', server.key)]
  const found: Record<'bare' | 'get' | 'barePage' | 'list' | 'raw' | 'create', Measured[]> = {
    bare: [],
    get: [],
    barePage: [],
    list: [],
    raw: [],
    create: [],
  }
  for (let turn = 0; turn < ROUNDS; turn++) {
    found.bare.push(await run(bare, constant))
    found.get.push(await run(server, gets(few)))
    found.barePage.push(await run(barePage, constant))
    // Pages that are full: the oldest hundred have less behind them.
    found.list.push(await run(server, lists(few.toSorted().slice(100))))
  }
  await bare.stop()
  await barePage.stop()
  for (let turn = 0; turn < ROUNDS; turn++) {
    found.raw.push({ perSecond: rawInserts(), cpu: Number.NaN })
    found.create.push(await run(server, [request('POST', '/ip_policies', server.key, BODY)], 201))
  }
  await server.stop()

  const share = (part: Measured[], whole: Measured[]) => `${Math.round((rate(part) / rate(whole)) * 100)} %`
  process.stdout.write(`${grouped(FEW)} resources stored, SQLite, ${CONNECTIONS} connections\n`)
  say('bare Fastify route, one object', found.bare)
  say('GET by id', found.get, `${share(found.get, found.bare)} of the bare route (target 50 %)`)
  say('bare Fastify route, 100 objects', found.barePage)
  say('list of 100', found.list, `${share(found.list, found.barePage)} of the bare route`)
  say('raw durable inserts', found.raw)
  say('create', found.create, `${share(found.create, found.raw)} of raw inserts (target 50 %)`)

  const many = fill(MANY)
  server = await startServer()
  const large = { get: [] as Measured[], list: [] as Measured[] }
  for (let turn = 0; turn < ROUNDS; turn++) {
    large.get.push(await run(server, gets(many)))
    large.list.push(await run(server, lists(many)))
  }
  await server.stop()
  const growth = (before: Measured[], after: Measured[]) =>
    `${(cost(after) / cost(before)).toFixed(2)}x the CPU, ${(rate(before) / rate(after)).toFixed(2)}x the time at ${grouped(FEW)} (target 1.30x)`
  process.stdout.write(`\n${grouped(MANY)} resources stored\n`)
  say('GET by id', large.get, growth(found.get, large.get))
  say('list of 100', large.list, growth(found.list, large.list))
}

try {
  await main()
} finally {
  rmSync(dataDir, { recursive: true, force: true })
}
