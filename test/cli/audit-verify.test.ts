import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { eventually } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'

async function verify(t: TestContext, dataDir: string): Promise<{ code: number | null; text: string }> {
  const command = startProgram(t, ['server', 'audit', 'verify', '--data-dir', dataDir], {
    env: cleanEnv(dataDir),
  })
  await eventually(() => command.child.exitCode !== null)
  return { code: command.child.exitCode, text: command.stdout + command.stderr }
}

test('the audit log is verified beside the running server and without it, and a changed record is named', async (t) => {
  const platform = await startPlatform(t)
  const { call, dataDir } = platform
  await call.create('/ip_policies', {})
  await call.create('/ip_policies', {})
  const { audit_events: records } = (await call('GET', '/audit_events')).body

  assert.match((await verify(t, dataDir)).text, /^ac_\w+ {2}default {2}ok\n$/)
  await platform.stop()
  assert.equal((await verify(t, dataDir)).code, 0)

  const database = new DatabaseSync(join(dataDir, 'adit.db'))
  database.prepare("UPDATE audit SET principal = 'usr_other' WHERE id = ?").run(records[0].id)
  database.close()
  const { code, text } = await verify(t, dataDir)
  assert.equal(code, 1)
  assert.match(
    text,
    new RegExp(`default {2}does not match from ${records[0].id} on\n.*ERROR: .* 1 account `, 's'),
  )
})
