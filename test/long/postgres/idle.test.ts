import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { eventuallyEqual } from '../../support/eventually.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startServerProcess } from '../../support/server-process.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const SECONDS = 30
const MAX_PER_SECOND = 10
const WORKERS = 2

test('two idle nodes of two workers make at most ten statements a second', async (t) => {
  const server = await startPostgres({ shared_preload_libraries: 'pg_stat_statements' })
  t.after(() => server.dispose())
  const query = async (text: string, connectionString = server.url) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  await query('CREATE DATABASE adit')
  await query('CREATE EXTENSION pg_stat_statements')
  const url = new URL(server.url)
  url.pathname = '/adit'
  const flags = ['--database-url', url.href, '--workers', String(WORKERS)]
  const first = createTempDir()
  await startServerProcess(t, first, flags)
  await startServerProcess(t, createTempDir(), [...flags, '--master-key-file', join(first, 'master.key')])
  const countNodes = async () => (await query('SELECT id FROM nodes', url.href)).length
  await eventuallyEqual(countNodes, 2 * (WORKERS + 1))

  await query('SELECT pg_stat_statements_reset()')
  // The budget is one of statements per time.
  await delay(SECONDS * 1000)
  const rows = await query(
    `SELECT query, calls::int AS calls FROM pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'adit') ORDER BY calls DESC`,
  )

  const calls = rows.reduce((sum, row) => sum + row.calls, 0)
  t.diagnostic(`${(calls / SECONDS).toFixed(1)} statements a second`)
  const busiest = rows.slice(0, 5).map((row) => `${row.calls} ${row.query}`)
  assert.ok(calls <= SECONDS * MAX_PER_SECOND, `${calls} statements in ${SECONDS} s: ${busiest.join('\n')}`)
})
