import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHost, startAgent } from '../../support/agents.ts'
import { eventually } from '../../support/eventually.ts'
import { findFreePorts } from '../../support/free-ports.ts'
import { startHttp } from '../../support/local-server.ts'
import { startPlatform } from '../../support/platform.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { missingPrograms } from '../../support/required-programs.ts'
import { startServiceProgram } from '../../support/service-program.ts'

const HOST = 'app.adit.localhost'
const skip = missingPrograms('pgbouncer')

/** A pooler in front of a database of its own. */
async function startPooler(t: TestContext, mode: string) {
  const database = new URL((await createTestDatabase(t)).url)
  const dir = mkdtempSync(join(tmpdir(), 'adit-test-pgbouncer-'))
  t.after(() => rmSync(dir, { recursive: true }))
  chmodSync(dir, 0o755)
  const port = await findFreePorts(1)
  const file = join(dir, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${database.pathname.slice(1)} = host=127.0.0.1 port=${database.port} user=adit
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 40
`,
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const start = () => startServiceProgram(t, ['pgbouncer', ...user, file], { port })
  const pooled = new URL(database)
  pooled.port = String(port)
  return { url: pooled.href, start, program: await start() }
}

test('a platform behind PgBouncer in session mode works, also after a restart of it', { skip }, async (t) => {
  const pooler = await startPooler(t, 'session')
  const platform = await startPlatform(t, ['--database-url', pooler.url])
  const agent = await startAgent(t, platform)
  const addr = await startHttp(t, (_request, response) => response.end('served'))
  await agent.forward({ addr, url: `http://${HOST}` })
  const { call } = platform
  const policy = await call.create('/ip_policies', {})
  assert.equal((await fetchHost(platform, HOST)).body, 'served')

  await pooler.program.stop()
  assert.equal((await fetchHost(platform, HOST)).body, 'served')
  await pooler.start()

  await eventually(
    async () => (await call('PATCH', `/ip_policies/${policy.id}`, { body: {} })).status === 200,
    'writes work again',
  )
  await eventually(async () => (await call('GET', '/readyz?strict')).status === 200, 'all is well')
  assert.equal((await fetchHost(platform, HOST)).body, 'served')
})

for (const mode of ['transaction', 'statement'])
  test(`behind PgBouncer in ${mode} mode a start says what to do`, { skip }, async (t) => {
    const pooler = await startPooler(t, mode)

    await assert.rejects(startPlatform(t, ['--database-url', pooler.url]), /set pool_mode=session/)
  })
