import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADIT } from '../support/adit-program.ts'
import { type ApiClient, createClient, type TestApi } from '../support/api.ts'
import { shareEngines } from '../support/engines.ts'
import { eventually } from '../support/eventually.ts'
import { API_ONLY } from '../support/kill-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const EACH = 150

/** Three levels of references, so that an account is filled in three steps. */
const document = {
  ip_policies: Object.fromEntries(names().map((name) => [name, { description: name }])),
  ip_policy_rules: Object.fromEntries(
    names().map((name) => [name, { ip_policy_id: name, cidr: '10.0.0.0/8', action: 'allow' }]),
  ),
  edges_tcp: Object.fromEntries(names().map((name) => [name, { ip_restriction: { ip_policy_ids: [name] } }])),
}

function names(): string[] {
  return Array.from({ length: EACH }, (_, index) => `name-${index}`)
}

const apply = (call: ApiClient) => call('POST', '/apply', { body: document })

/** The resources of the document, as the account has them. */
async function exported(call: ApiClient): Promise<unknown> {
  const { body } = await call('GET', '/export')
  return Object.keys(document).map((kind) => body.document[kind])
}

/** Waits until the first of the resources exist. */
const begun = (call: ApiClient) =>
  eventually(async () => (await call('GET', '/ip_policies')).body.ip_policies.length > 0)

/** What an account holds after the document was applied without interruption. */
async function expected(fresh: () => Promise<TestApi>): Promise<unknown> {
  const { call } = await fresh()
  assert.equal((await apply(call)).body.created, 3 * EACH)
  return exported(call)
}

for (const [engine, fresh] of await shareEngines()) {
  test(`${engine}: an apply that was ended by a crash of the server ends in the same state when run again`, async (t) => {
    const dataDir = createTempDir()
    const flags = engine === 'SQLite' ? [] : ['--database-url', (await createTestDatabase(t)).url]
    const start = () => startServerProcess(t, dataDir, [...API_ONLY, ...flags])
    const crashing = await start()
    const call = createClient(crashing.url, crashing.apiKey)
    const interrupted = assert.rejects(apply(call))
    await begun(call)
    await crashing.kill()
    await interrupted

    const server = await start()
    const { status, body } = await apply(createClient(server.url, server.apiKey))
    assert.deepEqual([status, body.failed, body.created + body.unchanged], [200, 0, 3 * EACH])
    assert.ok(body.unchanged > 0)
    assert.deepEqual(await exported(createClient(server.url, server.apiKey)), await expected(fresh))
  })

  test(`${engine}: an adit apply that was killed ends in the same state when run again at once`, async () => {
    const dir = createTempDir()
    const { url, call, account } = await fresh()
    const file = join(dir, 'account.yml')
    writeFileSync(file, JSON.stringify(document))
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      ADIT_API_URL: url,
      ADIT_API_KEY: account.apiKey.reveal(),
    }
    const start = () => {
      const child = spawn(ADIT, ['apply', '-f', file], { env, stdio: 'ignore' })
      return { child, exited: once(child, 'exit') }
    }
    const { child, exited } = start()
    await begun(call)
    child.kill('SIGKILL')
    assert.deepEqual(await exited, [null, 'SIGKILL'])

    assert.deepEqual(await start().exited, [0, null])
    assert.deepEqual(await exported(call), await expected(fresh))
  })

  test(`${engine}: two applies of one document at the same time make each resource once`, async () => {
    const { call } = await fresh()
    const reports = await Promise.all([apply(call), apply(call)])
    assert.equal(reports[0].body.created + reports[1].body.created, 3 * EACH)
    assert.deepEqual(
      reports.map(({ body }) => body.failed),
      [0, 0],
    )
    assert.deepEqual(await exported(call), await expected(fresh))
  })
}
