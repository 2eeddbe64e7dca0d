import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { eventually, eventuallyEqual } from '../../support/eventually.ts'
import { execute, type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { allWell } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic, type Traffic } from './traffic.ts'

/** What docs/operations.md says of a process without workers. */
const CONNECTIONS_PER_NODE = 10
/** Twice as many as both nodes have connections to read. */
const CALLERS = 32
const LOCKED_VISITS = 400
const SAMPLE_MS = 20

/** Starts a server that ends with the test. */
async function startServer(t: TestContext, settings: Record<string, string> = {}): Promise<PostgresServer> {
  const postgres = await startPostgres(settings)
  t.after(() => postgres.dispose())
  return postgres
}

/** A connection that stays open until the test closes it. */
async function hold(t: TestContext, connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

/** Everything goes on, and no visitor has failed. */
async function assertRecovered(
  traffic: Traffic,
  { nodes }: Awaited<ReturnType<typeof startNodes>>,
  databaseUrl: string,
): Promise<void> {
  await allWell(nodes)
  traffic.writeAgain()
  await traffic.written(60)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[0]!)
  await assertServed(nodes, databaseUrl, traffic.history)
}

test('while a table is locked, callers take no more connections than documented, and no visitor notices', async (t) => {
  const postgres = await startServer(t)
  const platform = await startNodes(t, 2, () => postgres.url)
  const traffic = await startTraffic(t, platform.nodes)
  await traffic.written(60)
  const bound = CONNECTIONS_PER_NODE * platform.nodes.length
  const locker = await hold(t, postgres.url)
  const monitor = await hold(t, postgres.url)

  // The head first, as writers do: otherwise one of them may have one of the tables, and wait for another.
  await locker.query(
    'BEGIN; SELECT 1 FROM head FOR UPDATE; LOCK TABLE resources, changes, settings IN ACCESS EXCLUSIVE MODE',
  )
  await traffic.writersRejected()
  let calling = true
  const answers = new Set<number>()
  const callers = Array.from({ length: CALLERS }, async (_, index) => {
    const call = traffic.calls[index % traffic.calls.length]!
    while (calling) {
      answers.add((await call('GET', '/ip_policies')).status)
      await delay(SAMPLE_MS)
    }
  })
  let most = 0
  const goal = traffic.visited(LOCKED_VISITS).then(() => {
    calling = false
  })
  while (calling) {
    const { rows } = await monitor.query(
      "SELECT count(*)::int AS backends FROM pg_stat_activity WHERE application_name = 'adit'",
    )
    most = Math.max(most, rows[0].backends)
    await delay(SAMPLE_MS)
  }
  await goal
  await locker.query('COMMIT')
  await Promise.all(callers)

  t.diagnostic(`at most ${most} backends of ${bound}`)
  assert.ok(most > 0 && most <= bound, `${most} backends, ${bound} are documented`)
  assert.deepEqual(
    [...answers].filter((status) => ![200, 503].includes(status)),
    [],
  )
  await assertRecovered(traffic, platform, postgres.url)
})

test('without a connection that PostgreSQL has left, nodes serve visitors and say what is missing, and go on by themselves', async (t) => {
  const postgres = await startServer(t, { max_connections: '40' })
  await execute(postgres.url, 'CREATE ROLE adit_app LOGIN')
  await execute(postgres.url, 'CREATE ROLE others LOGIN')
  await execute(postgres.url, 'CREATE DATABASE adit OWNER adit_app')
  // Superusers have connections of their own.
  const url = new URL(postgres.url)
  url.username = 'adit_app'
  url.pathname = '/adit'
  const platform = await startNodes(t, 2, () => url.href)
  const traffic = await startTraffic(t, platform.nodes)
  await traffic.written(60)

  // Others take the connections while the nodes may have none.
  await execute(postgres.url, 'ALTER ROLE adit_app CONNECTION LIMIT 0')
  await execute(
    postgres.url,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'adit_app'",
  )
  const others = new URL(postgres.url)
  others.username = 'others'
  const taken: pg.Client[] = []
  const takeAll = async () => {
    for (;;) taken.push(await hold(t, others.href))
  }
  await assert.rejects(takeAll(), { code: '53300' })
  await execute(postgres.url, 'ALTER ROLE adit_app CONNECTION LIMIT -1')
  await traffic.writersRejected()
  for (const { url: api } of platform.nodes) {
    const probe = async (path: string) => {
      const response = await fetch(api + path)
      return `${response.status} ${await response.text()}`
    }
    await eventually(
      async () => /^503 .*(too many clients|remaining connection slots)/.test(await probe('/readyz?strict')),
      'it says that connections are missing',
    )
    await eventuallyEqual(() => probe('/readyz'), '200 {"status":"ready","database":"unavailable"}')
  }
  await traffic.visited(200)
  await Promise.all(taken.map((client) => client.end()))

  await assertRecovered(traffic, platform, url.href)
})
