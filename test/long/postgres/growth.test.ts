import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { startLightAgents } from '../../support/light-agents.ts'
import { execute, startPostgres } from '../../support/postgres.ts'
import { startRelay } from '../../support/relay.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { allWell } from './nodes.ts'

const MINUTES = Number(process.env.GROWTH_MINUTES ?? 30)
const CHANGES_PER_MINUTE = 100_000 / 30
const CHANGES = Math.round(MINUTES * CHANGES_PER_MINUTE)
const GROUPS = 4
const AGENTS_IN_GROUP = 50
const AGENTS = GROUPS * AGENTS_IN_GROUP
const RECONNECT_MS = 10_000
const WRITERS = 16
const SAMPLE_MS = 10_000
/** What a failure shows of a node's log. */
const MAX_LOG_TEXT = 2000
/** Below this, the first quarter does not fill the feed, and growth cannot be told from what autovacuum does now and then. */
const STEADY_MINUTES = 20
/** Pages are written to the log in full after a checkpoint: each part of a run has several. */
const SETTINGS = { checkpoint_timeout: '60s' }
/** The feed keeps 10,000 changes, and is pruned by the thousand. */
const MAX_FEED = 12_000
const MAX_GROWTH = 1.25
/** What small numbers may vary by. */
const SLACK = { bytes: 1024 * 1024, rows: 2000 }
/** The record of every change stays: its rows grow with the changes, and nothing else of it does. */
const RECORDS = 'audit'

interface Table {
  readonly live: number
  readonly dead: number
  readonly bytes: number
}

interface Sample {
  readonly minute: number
  readonly tables: ReadonlyMap<string, Table>
  readonly feed: number
  readonly wal: number
}

const TABLES = `SELECT relname, n_live_tup::int AS live, n_dead_tup::int AS dead,
  pg_total_relation_size(relid)::float AS bytes FROM pg_stat_user_tables`
const FEED = `SELECT (SELECT count(*) FROM changes)::int AS feed,
  pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float AS wal`

async function takeSample(url: string, minute: number): Promise<Sample> {
  const tables = (await execute(url, TABLES)).map(({ relname, ...table }) => [relname, table] as const)
  const [{ feed, wal }] = (await execute(url, FEED)) as [{ feed: number; wal: number }]
  return { minute, tables: new Map(tables), feed, wal }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

test(`${AGENTS} agents that reconnect for ${MINUTES} minutes and ${CHANGES} changes leave the database as large as it was`, async (t) => {
  const postgres = await startPostgres(SETTINGS)
  t.after(() => postgres.dispose())
  const { nodes } = await startNodes(t, 2, () => postgres.url, ['--api-rate-limit', '0'])
  const calls = nodes.map(({ url }) => createClient(url, nodes[0]!.apiKey))
  const [host = '', port] = nodes[0]!.credentials.agent_addr.split(':')
  const relay = await startRelay(t, Number(port))
  const server = { ...nodes[0]!.credentials, agent_addr: `${host}:${relay.port}` }
  const groups = Array.from({ length: GROUPS }, (_, group) =>
    startLightAgents(t, server, AGENTS_IN_GROUP, `group-${group}.adit.localhost`),
  )
  const online = () => groups.reduce((sum, agents) => sum + agents.online, 0)
  await eventually(() => online() === AGENTS, 'all agents are online', 300_000)
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  let [changes, reconnections] = [0, 0]
  let ended = false
  t.after(() => {
    ended = true
  })
  // A slow machine takes longer for the changes.
  const running = () => !ended && (minute() < MINUTES || changes < CHANGES)

  const reconnect = async () => {
    while (running()) {
      await delay(RECONNECT_MS)
      relay.cut()
      reconnections += 1
    }
  }
  /** Each creates, changes and deletes, at the pace of all together. */
  const write = async (_: unknown, index: number) => {
    const call = calls[index % calls.length]!
    const waitForTurn = async () => {
      while (changes >= minute() * CHANGES_PER_MINUTE) await delay(10)
      changes += 1
    }
    const succeed = async (expected: number, ...request: Parameters<typeof call>) => {
      const { status, body } = await call(...request)
      if (status === expected) return
      const logs = nodes.map(({ output }) => output().slice(-MAX_LOG_TEXT)).join('\n--\n')
      assert.fail(`minute ${minute().toFixed(1)}: ${status} ${JSON.stringify(body)}\n${logs}`)
    }
    while (!ended && changes < CHANGES) {
      await waitForTurn()
      const { id } = await call.create('/ip_policies', { description: 'created' })
      for (let update = 0; update < 3; update++) {
        await waitForTurn()
        await succeed(200, 'PATCH', `/ip_policies/${id}`, { body: { description: `changed ${update}` } })
      }
      await waitForTurn()
      await succeed(204, 'DELETE', `/ip_policies/${id}`)
    }
  }
  const samples: Sample[] = []
  const sample = async () => {
    for (; running(); await delay(SAMPLE_MS)) samples.push(await takeSample(postgres.url, minute()))
  }
  await Promise.all([reconnect(), sample(), ...Array.from({ length: WRITERS }, write)])

  await eventually(() => online() === AGENTS, 'all agents are back', 300_000)
  await allWell(nodes)
  samples.push(await takeSample(postgres.url, minute()))
  const last = samples.at(-1)!
  const between = (from: number, to: number) =>
    samples.filter((each) => each.minute >= from * last.minute && each.minute <= to * last.minute)
  // The first quarter fills the feed.
  const [early, late] = [between(0.25, 0.5), between(0.75, 1)]
  const walPerMinute = (part: readonly Sample[]) =>
    (part.at(-1)!.wal - part[0]!.wal) / (part.at(-1)!.minute - part[0]!.minute)
  const mebibytes = (bytes: number) => `${(bytes / SLACK.bytes).toFixed(2)} MiB`
  t.diagnostic(`${changes} changes, ${reconnections} reconnections of all agents, a feed of ${last.feed}`)
  for (const [name, { live, dead, bytes }] of last.tables)
    t.diagnostic(`${name}: ${live} rows, ${dead} dead, ${mebibytes(bytes)}`)

  assert.ok(reconnections > 0)
  assert.ok(last.feed <= MAX_FEED, `the feed has ${last.feed} changes`)
  if (MINUTES < STEADY_MINUTES) return
  t.diagnostic(`WAL: ${mebibytes(walPerMinute(early))}, later ${mebibytes(walPerMinute(late))} a minute`)
  assert.ok(walPerMinute(late) <= MAX_GROWTH * walPerMinute(early), 'more WAL a minute')
  for (const name of last.tables.keys()) {
    const grows = (what: keyof Table, slack: number) => {
      const [before, after] = [early, late].map((part) =>
        mean(part.map(({ tables }) => tables.get(name)![what])),
      ) as [number, number]
      return after > MAX_GROWTH * before + slack ? [`${what} of ${name}: ${before} became ${after}`] : []
    }
    const growth = [
      ...grows('dead', SLACK.rows),
      ...(name === RECORDS ? [] : [...grows('live', SLACK.rows), ...grows('bytes', SLACK.bytes)]),
    ]
    assert.deepEqual(growth, [])
  }
})
