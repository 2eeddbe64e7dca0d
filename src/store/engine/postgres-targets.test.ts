import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { enableTls, startPostgres } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestCa } from '../../../test/support/test-ca.ts'
import { silentLog } from '../../base/process/log.ts'
import { StoreUnavailable, UnsupportedDatabase } from '../index.ts'
import { migrate } from './migrations.ts'
import { PostgresEngine } from './postgres.ts'
import { PostgresTargets } from './postgres-targets.ts'
import { migrations } from './schema.ts'

async function startServer(t: TestContext, settings: Record<string, string> = {}) {
  const server = await startPostgres(settings)
  t.after(() => server.dispose())
  const { port } = new URL(server.url)
  return { ...server, port }
}

async function execute(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

test('of several servers the one that accepts writes is used, also after a failover', async (t) => {
  const [standby, primary] = [await startServer(t), await startServer(t)]
  for (const { url } of [standby, primary]) {
    const engine = new PostgresEngine(url, silentLog)
    await migrate(engine, migrations)
    await engine.close()
  }
  const setReadOnly = (value: string) =>
    execute(
      standby.url,
      'SET default_transaction_read_only = off',
      `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
      'SELECT pg_reload_conf()',
    )
  await setReadOnly('on')
  const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
  const engine = new PostgresEngine(
    `postgres://adit@${hosts}/postgres?target_session_attrs=read-write`,
    silentLog,
  )
  t.after(() => engine.close())
  const write = async () => {
    const transaction = await engine.begin()
    await transaction.run('UPDATE head SET pruned = pruned')
    await transaction.commit(false)
  }
  const readPort = async () => (await engine.reader.get("SELECT current_setting('port') AS port"))?.port

  await eventually(() => write().then(() => true), 'the primary takes a write')
  assert.equal(await readPort(), primary.port)
  await primary.stop()
  await assert.rejects(write(), StoreUnavailable)
  await setReadOnly('off')

  await eventually(() => write().then(() => true), 'the standby has taken over')
  await eventually(async () => (await readPort()) === standby.port, 'reads follow')
})

test('the modes of TLS mean what libpq says they mean, and nothing warns', async (t) => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const ca = await createTestCa()
  const caFile = join(createTempDir(), 'ca.pem')
  writeFileSync(caFile, ca.caPem)
  const server = await startServer(t)
  await enableTls(server, await ca.issue('localhost'))
  const connect = async (host: string, query: string): Promise<string> => {
    const engine = new PostgresEngine(`postgres://adit@${host}:${server.port}/postgres?${query}`, silentLog)
    try {
      const row = await engine.reader.get(
        'SELECT ssl::text AS ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
      )
      return String(row?.ssl)
    } catch (error) {
      return (error as Error).name
    } finally {
      await engine.close()
    }
  }
  await eventually(
    async () => (await connect('localhost', 'sslmode=require')) === 'true',
    'the server uses TLS',
  )

  const root = `sslrootcert=${encodeURIComponent(caFile)}`
  const results: [host: string, query: string, result: string][] = [
    ['localhost', 'sslmode=disable', 'false'],
    ['localhost', 'sslmode=allow', 'true'],
    ['localhost', 'sslmode=prefer', 'true'],
    ['127.0.0.1', `sslmode=require&${root}`, 'true'],
    ['127.0.0.1', `sslmode=verify-ca&${root}`, 'true'],
    ['localhost', `sslmode=verify-full&${root}`, 'true'],
    ['127.0.0.1', `sslmode=verify-full&${root}`, 'StoreUnavailable'],
    ['localhost', 'sslmode=verify-full', 'StoreUnavailable'],
    ['localhost', 'sslrootcert=system', 'StoreUnavailable'],
  ]
  for (const [host, query, result] of results)
    assert.equal(await connect(host, query), result, `${host} ${query}`)

  assert.deepEqual(warnings, [])
})

test('a URL that cannot work is rejected without its password', () => {
  for (const url of [
    'postgres://adit:hunter2@db/adit?target_session_attrs=standby',
    'postgres://adit:hunter2@db/adit?sslmode=verify-ca',
    'postgres://adit:hunter2@db/adit?sslmode=verify-full&sslrootcert=/not/there',
    'mysql://adit:hunter2@db/adit',
  ])
    assert.throws(
      () => new PostgresTargets(url),
      (error) => error instanceof UnsupportedDatabase && !error.message.includes('hunter2'),
    )
})
