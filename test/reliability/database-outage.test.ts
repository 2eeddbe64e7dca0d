import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, readText, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { startPostgres } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'

const NAME = 'steady.adit.localhost'
const SHOP = 'shop.adit.localhost'

/** The ways a database becomes unavailable and is restored. */
const outages: Record<string, (t: TestContext) => Promise<Database>> = {
  async 'is stopped'(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    return {
      flags: ['--database-url', postgres.url],
      takeDown: () => postgres.stop(),
      restore: () => postgres.start(),
    }
  },
  async 'is moved away'() {
    return { flags: [], takeDown: moveAway, restore: moveBack }
  },
  async 'is corrupted'() {
    return {
      flags: [],
      async takeDown(dataDir) {
        await moveAway(dataDir)
        await writeFile(join(dataDir, 'adit.db'), 'not a database at all '.repeat(1000))
      },
      restore: moveBack,
    }
  },
  async 'does not respond'(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const url = new URL(postgres.url)
    const relay = await startRelay(t, Number(url.port))
    url.port = String(relay.port)
    return {
      flags: ['--database-url', url.href],
      takeDown: async () => relay.freeze(),
      restore: async () => relay.thaw(),
    }
  },
}

interface Database {
  readonly flags: readonly string[]
  takeDown(dataDir: string): Promise<void>
  restore(dataDir: string): Promise<void>
}

/** The embedded database and its WAL, which is restored first: without it the file has an earlier state. */
const DATABASE_FILES = ['adit.db-wal', 'adit.db']

async function moveAway(dataDir: string): Promise<void> {
  for (const file of DATABASE_FILES.toReversed())
    await rename(join(dataDir, file), join(dataDir, `${file}.aside`))
}

async function moveBack(dataDir: string): Promise<void> {
  for (const file of DATABASE_FILES) await rename(join(dataDir, `${file}.aside`), join(dataDir, file))
}

for (const [outage, create] of Object.entries(outages)) {
  test(`a restarted server serves its last known configuration while its database ${outage}`, async (t) => {
    const database = await create(t)
    const harness = await startHarness(t, database.flags)
    const dataDir = dirname(harness.credentials.ca_file)
    const port = await startHttp(t, (_request, response) => response.end('served'))
    const agent = harness.startAgent(['http', String(port), `--url=http://${NAME}`], {
      ADIT_CONNECT_URL: `127.0.0.1:${harness.agentPort}`,
      ADIT_CONNECT_CAS: harness.credentials.ca_file,
      ADIT_AUTHTOKEN: harness.credentials.authtoken,
    })
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    const { routeId, read, update } = await createShopEdge(harness, 'open')
    await eventually(async () => (await getShop(harness)) === 'open', 'the edge answers')
    await eventually(async () => isInFallbackCopy(dataDir, routeId), 'the local copy has the edge')

    await database.takeDown(dataDir)
    assert.equal(await getShop(harness), 'open')
    harness.server.child.kill('SIGKILL')
    await once(harness.server.child, 'exit')
    await harness.restart()
    assert.match(harness.server.stdout, /^Its database is unavailable, though\. The /m)
    assert.equal(await getShop(harness), 'open')
    await eventually(async () => (await readText(await harness.get(NAME))) === 'served', 'the agent is back')
    assert.equal(await read(), 503)
    assert.equal(await update('changed while away'), 503)
    assert.equal(await getShop(harness), 'open')

    await database.restore(dataDir)
    await eventually(async () => (await update('changed')) === 200, 'the database takes changes')
    await eventually(async () => (await getShop(harness)) === 'changed', 'the edge follows them', 5_000)
    assert.equal(await readText(await harness.get(NAME)), 'served')
  })
}

for (const outage of ['is stopped', 'does not respond']) {
  test(`a server accepts agents and lists what is online while the database it created ${outage}`, async (t) => {
    const database = await outages[outage]!(t)
    const harness = await startHarness(t, database.flags)
    const dataDir = dirname(harness.credentials.ca_file)
    await createShopEdge(harness, 'open')
    // An unused key, so that it is in no cache of this process.
    const { create } = createClient(harness.credentials.api_url, harness.credentials.api_key)
    const key = await create('/api_keys', {})
    await eventually(async () => isInFallbackCopy(dataDir, key.id), 'the local copy has the key')

    const port = await startHttp(t, (_request, response) => response.end('served'))
    const startAgent = () => harness.startAgent(['http', String(port), `--url=http://${NAME}`])
    const previousAgent = startAgent()
    await previousAgent.until(({ stdout }) => stdout.includes('Forwarding'))

    await database.takeDown(dataDir)
    previousAgent.child.kill('SIGKILL')
    const agent = startAgent()
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    assert.equal(await readText(await harness.get(NAME)), 'served')

    const call = createClient(harness.credentials.api_url, key.token)
    for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints']) {
      const list = await call('GET', `/${kind}`)
      assert.equal(list.status, 200, kind)
      const items = list.body[kind] as { id: string }[]
      // The endpoint of the edge comes from the local copy.
      assert.equal(items.length, kind === 'endpoints' ? 2 : 1, kind)
      for (const { id } of items) assert.equal((await call('GET', `/${kind}/${id}`)).status, 200, id)
    }
    assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 503)
    const forgedCall = createClient(harness.credentials.api_url, key.token.replace(/.$/, 'x'))
    assert.notEqual((await forgedCall('GET', '/tunnels')).status, 200)

    await database.restore(dataDir)
    await eventually(
      async () => (await call('POST', '/ip_policies', { body: {} })).status === 201,
      'writes work',
    )
    assert.equal(await readText(await harness.get(NAME)), 'served')
  })
}

test('a key revoked right after the database is restored is rejected at once by the node that revoked it', async (t) => {
  const database = await outages['is stopped']!(t)
  const harness = await startHarness(t, database.flags)
  const dataDir = dirname(harness.credentials.ca_file)
  const call = createClient(harness.credentials.api_url, harness.credentials.api_key)
  const key = await call.create('/api_keys', { description: 'leaked' })
  await eventually(async () => isInFallbackCopy(dataDir, key.id), 'the local copy has the key')
  const leakedCall = createClient(harness.credentials.api_url, key.token)

  await database.takeDown(dataDir)
  assert.equal((await leakedCall('GET', '/tunnels')).status, 200)
  await database.restore(dataDir)
  await eventually(
    async () => (await call('DELETE', `/api_keys/${key.id}`)).status === 204,
    'the key is deleted',
  )

  assert.equal((await leakedCall('GET', '/tunnels')).status, 401)
})

/** Creates an edge with a fixed response, and functions to read and change it. */
async function createShopEdge({ credentials }: Harness, body: string) {
  const call = createClient(credentials.api_url, credentials.api_key)
  await call.create('/reserved_domains', { domain: SHOP })
  const { id } = await call.create('/backends/http_response', { body })
  const edge = await call.create('/edges/https', { hostports: [`${SHOP}:443`] })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    ...{ match_type: 'path_prefix', match: '/' },
    backend: { backend_id: id },
  })
  const path = `/backends/http_response/${id}`
  return {
    routeId: route.id as string,
    read: async () => (await call('GET', path)).status,
    update: async (text: string) => (await call('PATCH', path, { body: { body: text } })).status,
  }
}

/** Requests the edge and returns the body. */
async function getShop({ credentials }: Harness): Promise<string> {
  const { port } = new URL(credentials.https_url)
  const request = get({
    ...{ host: '127.0.0.1', port, servername: SHOP, headers: { Host: SHOP }, agent: false },
    ca: readFileSync(credentials.ca_file),
  })
  const [response] = await once(request, 'response')
  return readText(response)
}

/** Whether the fallback copy in the data directory already has the row. */
function isInFallbackCopy(dataDir: string, id: string): boolean {
  const copy = new DatabaseSync(join(dataDir, 'last-known.db'), { readOnly: true })
  try {
    return copy.prepare('SELECT 1 FROM resources WHERE id = ?').get(id) !== undefined
  } finally {
    copy.close()
  }
}
