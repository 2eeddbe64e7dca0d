import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanEnv, startProgram } from '../../src/agent/testing/program.ts'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const NAME = 'steady.adit.localhost'

test('a server whose log was damaged is not ready and serves traffic, until an operator accepts the loss', async (t) => {
  const dataDir = createTempDir()
  const first = await startServerProcess(t, dataDir)
  const call = createClient(first.url, first.apiKey)
  for (let write = 0; write < 20; write++) await call.create('/ip_policies', { description: `${write}` })
  await first.kill()
  const log = join(dataDir, 'adit.db-wal')
  const bytes = await readFile(log)
  // In the first frame: all that follows would be dropped.
  bytes[1000]! ^= 1
  await writeFile(log, bytes)
  const operate = async (...words: string[]) => {
    const command = startProgram(t, ['server', ...words, '--data-dir', dataDir], { env: cleanEnv(dataDir) })
    await eventually(() => command.child.exitCode !== null)
    return { code: command.child.exitCode, text: command.stdout + command.stderr }
  }

  const second = await startServerProcess(t, dataDir)

  assert.match(second.output(), /not ready\. The database .* is damaged: .* changes .* missing/)
  const callAgain = createClient(second.url, first.apiKey)
  const { status, body } = await callAgain('GET', '/readyz')
  assert.equal(status, 503)
  assert.match(body.reason, /adit server repair --accept-loss/)
  assert.equal((await callAgain('POST', '/ip_policies', { body: {} })).status, 503)
  for (const words of [['repair'], ['events'], ['backup', join(dataDir, 'backup')]]) {
    const { code, text } = await operate(...words)
    assert.equal(code, 1, text)
    assert.match(text, /ERROR: .* changes and \d+ audit records that it had confirmed are missing/)
  }
  assert.ok(bytes.equals(await readFile(log)), 'nothing was changed')

  const repaired = await operate('repair', '--accept-loss')

  assert.equal(repaired.code, 0, repaired.text)
  await eventually(async () => (await callAgain('GET', '/readyz')).status === 200, 'it is ready')
  await callAgain.create('/ip_policies', { description: 'after the loss' })
  assert.equal((await operate('repair')).text, 'The database has everything that it had confirmed.\n')
  const agent = await startAgent(t, second)
  const port = await startHttp(t, (_request, response) => response.end('served'))
  await agent.forward({ addr: port, domain: NAME, schemes: ['http'] })
  assert.equal((await fetchHost(second, NAME)).body, 'served')
  const [, kept] = /files as they were are in (\S+?)\. /.exec(repaired.text)!
  assert.ok(bytes.equals(await readFile(join(kept!, 'adit.db-wal'))))
})
