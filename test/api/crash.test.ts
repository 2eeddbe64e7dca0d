import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { checkTables } from '../support/check-tables.ts'
import { killUnderWriters } from '../support/kill-server.ts'
import { createRandom } from '../support/random.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { WriteHistory } from '../support/write-history.ts'

const KILLS = 4
const WRITERS = 4

test(`acknowledged writes survive ${KILLS} kills under ${WRITERS} writers, and no write is partial (P1-P3)`, (t) =>
  killUnderWriters(t, { kills: KILLS, writers: WRITERS, writes: KILLS * WRITERS }))

test('the consistency checks detect a lost write and a missing claim', async (t) => {
  const dataDir = createTempDir()
  const server = await startServerProcess(t, dataDir, ['--roles', 'api'])
  const call = createClient(server.url, server.apiKey)
  const history = new WriteHistory(createRandom())
  const findPolicy = () =>
    history.objects.find(({ kind, mark }) => kind.path === '/ip_policies' && mark !== undefined)
  while (history.acknowledged < 30 || findPolicy() === undefined) await history.step(call)
  await history.verify(call)
  const victim = findPolicy()!
  const bot = await call.create('/bot_users', { name: 'somebody' })

  await call('DELETE', `/ip_policies/${victim.id}`)
  await assert.rejects(history.verify(call), /lost/)
  await server.stop()
  const database = new DatabaseSync(join(dataDir, 'adit.db'))
  database.exec(`DELETE FROM claims WHERE id = '${bot.id}'`)
  database.close()
  await assert.rejects(checkTables({ file: join(dataDir, 'adit.db') }), /a bot without its claim/)
})
