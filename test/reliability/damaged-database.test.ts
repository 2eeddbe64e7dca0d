import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { isInFallbackCopy } from '../support/fallback-copy.ts'
import { startHttp } from '../support/local-server.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const NAME = 'steady.adit.localhost'

test('a server whose database is an earlier one is not ready until an operator accepts the loss', async (t) => {
  const dataDir = createTempDir()
  const file = join(dataDir, 'adit.db')
  await (await startServerProcess(t, dataDir)).stop()
  const earlier = await readFile(file)
  const first = await startServerProcess(t, dataDir)
  const { id } = await createClient(first.url, first.apiKey).create('/ip_policies', {})
  await eventually(() => isInFallbackCopy(dataDir, id), 'the local copy has all of it')
  await first.kill()
  await writeFile(file, earlier)
  await rm(`${file}-wal`)
  const operate = async (...words: string[]) => {
    const command = startProgram(t, ['server', ...words, '--data-dir', dataDir], { env: cleanEnv(dataDir) })
    await eventually(() => command.child.exitCode !== null)
    return { code: command.child.exitCode, text: command.stdout + command.stderr }
  }

  const second = await startServerProcess(t, dataDir)

  assert.match(second.output(), /not ready\. The database .* is damaged: .* changes .* missing/)
  const callAgain = createClient(second.url, first.apiKey)
  const { status, body } = await callAgain('GET', '/readyz?strict')
  assert.equal(status, 503)
  assert.match(body.reason, /adit server repair --accept-loss/)
  assert.equal((await callAgain('POST', '/ip_policies', { body: {} })).status, 503)
  for (const words of [['repair'], ['events'], ['backup', join(dataDir, 'backup')]]) {
    const { code, text } = await operate(...words)
    assert.equal(code, 1, text)
    assert.match(text, /ERROR: .* changes and \d+ audit records that it had confirmed are missing/)
  }
  assert.ok(earlier.equals(await readFile(file)), 'nothing was changed')

  const repaired = await operate('repair', '--accept-loss')

  assert.equal(repaired.code, 0, repaired.text)
  await eventually(async () => (await callAgain('GET', '/readyz?strict')).status === 200, 'it is ready')
  await callAgain.create('/ip_policies', { description: 'after the loss' })
  assert.equal((await operate('repair')).text, 'The database has lost nothing that it had confirmed.\n')
  const agent = await startAgent(t, second)
  const port = await startHttp(t, (_request, response) => response.end('served'))
  const forward = () => agent.forward({ addr: port, domain: NAME, schemes: ['http'] })
  // The claims of names try the database again once a second.
  await eventually(() => forward().then(Boolean, () => false), 'the name is bound')
  assert.equal((await fetchHost(second, NAME)).body, 'served')
  const [, kept] = /files as they were are in (\S+?)\. /.exec(repaired.text)!
  assert.ok(earlier.equals(await readFile(join(kept!, 'adit.db'))))
})
