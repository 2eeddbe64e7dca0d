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
const home = mkdtempSync(join(tmpdir(), 'adit-bench-'))

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

async function startServer(dataDir: string): Promise<Server> {
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

async function read(server: Server, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { authorization: `Bearer ${server.key}` },
  })
  return (await response.json()) as Record<string, unknown>
}

const BODY = { description: 'made by the benchmark', metadata: '{"team":"blue","purpose":"measuring"}' }

/** A server with so many resources, and ids picked from all of them. */
async function startFilled(rows: number): Promise<{ server: Server; ids: string[] }> {
  const dataDir = join(home, String(rows))
  await (await startServer(dataDir)).stop()
  const ids = fill(dataDir, rows)
  return { server: await startServer(dataDir), ids }
}

/** Puts rows into the table directly, until there are so many. */
function fill(dataDir: string, rows: number): string[] {
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
  const file = join(home, 'raw.db')
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
  const small = await startFilled(FEW)
  const large = await startFilled(MANY)
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
      // Pages that are full: the oldest hundred have less behind them.
      ids
        .toSorted()
        .slice(100)
        .map((id) => request('GET', `/ip_policies?limit=100&before_id=${id}`, server.key)),
    )

  const bare = await startBare(await read(small.server, `/ip_policies/${small.ids[0]}`))
  const barePage = await startBare(await read(small.server, '/ip_policies?limit=100'))
  const constant = [request('GET', '/constant', small.server.key)]
  const found = {
    bare: [] as Measured[],
    get: [] as Measured[],
    getOfMany: [] as Measured[],
    barePage: [] as Measured[],
    list: [] as Measured[],
    listOfMany: [] as Measured[],
    raw: [] as Measured[],
    create: [] as Measured[],
  }
  // Code is compiled and pages are in memory before anything is measured.
  for (const each of [small, large, small, large]) await get(each)
  for (let turn = 0; turn < ROUNDS; turn++) {
    found.bare.push(await run(bare, constant))
    found.get.push(await get(small))
    found.getOfMany.push(await get(large))
    found.barePage.push(await run(barePage, constant))
    found.list.push(await list(small))
    found.listOfMany.push(await list(large))
  }
  await Promise.all([bare.stop(), barePage.stop(), large.server.stop()])
  for (let turn = 0; turn < ROUNDS; turn++) {
    found.raw.push({ perSecond: rawInserts(), cpu: Number.NaN })
    found.create.push(await run(small.server, [request('POST', '/ip_policies', small.server.key, BODY)], 201))
  }
  await small.server.stop()

  // Turn by turn: what is compared was measured within the same seconds.
  const ratio = (parts: Measured[], wholes: Measured[], of: (measured: Measured) => number) =>
    middle(parts.map((part, turn) => of(part) / of(wholes[turn]!)))
  const share = (part: Measured[], whole: Measured[]) =>
    `${Math.round(ratio(part, whole, ({ perSecond }) => perSecond) * 100)} %`
  const growth = (few: Measured[], many: Measured[]) =>
    `${ratio(many, few, ({ cpu }) => cpu).toFixed(2)}x the CPU, ${ratio(few, many, ({ perSecond }) => perSecond).toFixed(2)}x the time at ${grouped(FEW)} (target 1.30x)`
  process.stdout.write(`${grouped(FEW)} resources stored, SQLite, ${CONNECTIONS} connections\n`)
  say('bare Fastify route, one object', found.bare)
  say('GET by id', found.get, `${share(found.get, found.bare)} of the bare route (target 50 %)`)
  say('bare Fastify route, 100 objects', found.barePage)
  say('list of 100', found.list, `${share(found.list, found.barePage)} of the bare route`)
  say('raw durable inserts', found.raw)
  say('create', found.create, `${share(found.create, found.raw)} of raw inserts (target 50 %)`)
  process.stdout.write(`\n${grouped(MANY)} resources stored\n`)
  say('GET by id', found.getOfMany, growth(found.get, found.getOfMany))
  say('list of 100', found.listOfMany, growth(found.list, found.listOfMany))
}

try {
  await main()
} finally {
  rmSync(home, { recursive: true, force: true })
}
