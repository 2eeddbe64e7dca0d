import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestDatabase } from '../support/postgres.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

/** Interrupts a query once the server runs it. */
const CANCEL = `
psql -Xq -c 'SELECT pg_sleep(600)' 2>&1 &
query=$!
until psql -XAtq -c "SELECT 'running' FROM pg_stat_activity
  WHERE datname = current_database() AND query = 'SELECT pg_sleep(600)'" | grep -q running; do :; done
kill -INT $query
wait
`

test('PostgreSQL: pgbench, a copy of 30 MB in both directions, a notification, a cancelled query and a dump', {
  skip: missingPrograms('pgbench'),
}, async (t) => {
  let database = ''
  const seen = await assertSameUse(
    t,
    async () => {
      const url = new URL((await createTestDatabase(t)).url)
      database = url.pathname.slice(1)
      return Number(url.port)
    },
    async ({ host, port, dir, run }) => {
      const env = { PGHOST: host, PGPORT: String(port), PGUSER: 'adit', PGDATABASE: database }
      const query = (...commands: string[]) =>
        run(['psql', '-XAtq', ...commands.flatMap((command) => ['-c', command])], env)

      await run(['pgbench', '--quiet', '--initialize', '--scale=1'], env)
      const bench = await run(['pgbench', '-n', '--client=1', '--transactions=300', '--random-seed=1'], env)
      const rows = createNoise(15 << 20)
        .toString('hex')
        .match(/.{1,64}/g)!
      writeFileSync(join(dir, 'rows'), `${rows.join('\n')}\n`)
      await query('CREATE TABLE notes (text text)', String.raw`\copy notes FROM 'rows'`)
      const copied = await query(String.raw`\copy notes TO STDOUT`)
      // The request to cancel comes on a connection of its own.
      writeFileSync(join(dir, 'cancel'), CANCEL)
      const cancelled = await run(['sh', 'cancel'], env)
      const dump = await run(['pg_dump', '--no-owner', '--table=notes'], env)
      return {
        transactions: /actually processed: (\S+)/.exec(bench)?.[1],
        balances: await query(
          'SELECT bid, bbalance FROM pgbench_branches; SELECT md5(string_agg(a::text, $$ $$ ORDER BY aid)) FROM pgbench_accounts a',
        ),
        copied: createHash('sha256').update(copied).digest('hex'),
        notified: (await query('LISTEN news', "NOTIFY news, 'hello'")).replace(/PID \d+/, 'PID'),
        cancelled,
        dump: createHash('sha256')
          .update(dump.replaceAll(/^\\(un)?restrict .*$/gm, ''))
          .digest('hex'),
      }
    },
    { proto: 'tcp' },
  )
  assert.equal(seen?.transactions, '300/300')
  assert.match(seen.notified, /"news" with payload "hello"/)
  assert.match(seen.cancelled, /canceling statement due to user request/)
})
