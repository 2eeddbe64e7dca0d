import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanEnv, runProgram } from '../../support/agent-process.ts'
import { eventually, eventuallyEqual } from '../../support/eventually.ts'
import { isInFallbackCopy } from '../../support/fallback-copy.ts'
import { execute, startPostgres } from '../../support/postgres.ts'
import { startRelay } from '../../support/relay.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { throughPort } from './cluster.ts'
import { allWell } from './nodes.ts'
import { assertServed, probeAuthtoken } from './served.ts'
import { startTraffic } from './traffic.ts'

/** A database as docs/operations.md sets it up for two users: its owner creates tables, the other one runs the nodes. */
async function startDatabase(t: TestContext) {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const urlOf = (user: string, password: string) => {
    const url = new URL('/adit', postgres.url)
    Object.assign(url, { username: user, password })
    return url.href
  }
  /** As a superuser of the database, who needs no password. */
  const administer = async (...statements: string[]) => {
    for (const statement of statements) await execute(urlOf('adit', ''), statement)
  }
  for (const statement of [
    "CREATE ROLE adit_owner LOGIN PASSWORD 'owned'",
    "CREATE ROLE adit_app LOGIN PASSWORD 'applied'",
    "CREATE DATABASE adit OWNER adit_owner ENCODING 'UTF8' TEMPLATE template0",
  ])
    await execute(postgres.url, statement)
  await administer(
    'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
    'ALTER DEFAULT PRIVILEGES FOR ROLE adit_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO adit_app',
    'GRANT CREATE, USAGE ON SCHEMA public TO adit_owner',
    'GRANT USAGE ON SCHEMA public TO adit_app',
  )
  writeFileSync(
    join(postgres.dataDir, 'pg_hba.conf'),
    'host all adit 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n',
  )
  await administer('SELECT pg_reload_conf()')
  const [ownerUrl, appUrl] = [urlOf('adit_owner', 'owned'), urlOf('adit_app', 'applied')]
  return { postgres, administer, ownerUrl, appUrl, adminUrl: urlOf('adit', '') }
}

/** Ends the connections of nodes: they meet what was changed when they connect again. */
const DISCONNECT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'adit_app'"

async function migrate(t: TestContext, url: string) {
  const home = createTempDir()
  const env = cleanEnv(home, { ADIT_DATABASE_URL: url })
  return runProgram(t, ['server', 'migrate', '--data-dir', home], { env })
}

test('nodes run as a role that cannot create tables, once their owner has', async (t) => {
  const { appUrl, ownerUrl, adminUrl } = await startDatabase(t)
  await assert.rejects(
    startNodes(t, 1, () => appUrl),
    /permission denied for schema public\. Grant its user the permissions/,
  )
  assert.notEqual((await migrate(t, appUrl)).code, 0)

  for (let attempt = 0; attempt < 2; attempt++) assert.equal((await migrate(t, ownerUrl)).code, 0)

  const { nodes } = await startNodes(t, 2, () => appUrl)
  const traffic = await startTraffic(t, nodes)
  await traffic.written(80)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, adminUrl, traffic.history)
})

const MISTAKES: readonly {
  readonly what: string
  readonly make: readonly string[]
  readonly correct: string
  readonly reason: RegExp
}[] = [
  {
    what: 'another password',
    make: ["ALTER ROLE adit_app PASSWORD 'changed'"],
    correct: "ALTER ROLE adit_app PASSWORD 'applied'",
    reason: /password authentication failed for user \\"adit_app\\"/,
  },
  {
    what: 'no permission to log in',
    make: ['ALTER ROLE adit_app NOLOGIN'],
    correct: 'ALTER ROLE adit_app LOGIN',
    reason: /not permitted to log in/,
  },
  {
    what: 'no rights to tables',
    make: ['REVOKE ALL ON ALL TABLES IN SCHEMA public FROM adit_app'],
    correct: 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO adit_app',
    reason: /permission denied for table/,
  },
  {
    what: 'no database of this name',
    // A database with connections cannot be renamed.
    make: [
      'ALTER ROLE adit_app NOLOGIN',
      DISCONNECT,
      'ALTER DATABASE adit RENAME TO renamed',
      'ALTER ROLE adit_app LOGIN',
    ],
    correct: 'ALTER DATABASE renamed RENAME TO adit',
    reason: /database \\"adit\\" does not exist/,
  },
]

test('nodes whose role gets other rights say what is wrong and serve visitors until it is corrected', async (t) => {
  const { postgres, appUrl, ownerUrl, adminUrl } = await startDatabase(t)
  assert.equal((await migrate(t, ownerUrl)).code, 0)
  const { nodes } = await startNodes(t, 2, () => appUrl)
  const traffic = await startTraffic(t, nodes)

  for (const { what, make, correct, reason } of MISTAKES) {
    await traffic.written(30)
    // A right to tables is one of the database.
    const place = what === 'no rights to tables' ? adminUrl : postgres.url
    for (const statement of make) await execute(place, statement)
    await execute(postgres.url, DISCONNECT)
    await traffic.writersRejected()
    for (const { url } of nodes)
      await eventually(
        async () => reason.test(await (await fetch(`${url}/readyz?strict`)).text()),
        `it says: ${what}`,
      )
    await traffic.visited(100)

    await execute(place, correct)
    await allWell(nodes)
    await traffic.history.verify(traffic.calls[0]!)
    traffic.writeAgain()
  }

  await traffic.written(30)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, adminUrl, traffic.history)
})

test('an authtoken that was deleted while a node had no database is refused as soon as it answers, even to reads alone', async (t) => {
  const { postgres, administer, appUrl, ownerUrl } = await startDatabase(t)
  assert.equal((await migrate(t, ownerUrl)).code, 0)
  const relay = await startRelay(t, Number(new URL(postgres.url).port))
  const urls = [appUrl, throughPort(appUrl, relay.port)]
  const { nodes } = await startNodes(t, 2, (index) => urls[index]!)
  const traffic = await startTraffic(t, nodes)
  const [call] = traffic.calls
  const { id, token } = await call!.create('/credentials', {})
  for (const node of nodes) await eventuallyEqual(() => probeAuthtoken(node, token), 'accepted')

  await traffic.stopWriters()
  const dataDir = dirname(nodes[1]!.credentials.ca_file)
  await eventually(() => isInFallbackCopy(dataDir, id), 'the fallback copy has the authtoken')
  relay.freeze()
  await eventually(
    async () => (await (await fetch(`${nodes[1]!.url}/readyz`)).text()).includes('"unavailable"'),
    'the node has no database',
  )
  assert.equal((await call!('DELETE', `/credentials/${id}`)).status, 204)
  await eventuallyEqual(() => probeAuthtoken(nodes[0]!, token), 'ERR_ADIT_107')
  assert.equal(await probeAuthtoken(nodes[1]!, token), 'accepted')
  await administer('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public FROM adit_app')
  relay.thaw()
  relay.cut()

  await eventuallyEqual(() => probeAuthtoken(nodes[1]!, token), 'ERR_ADIT_107')
  await traffic.stop()
})
