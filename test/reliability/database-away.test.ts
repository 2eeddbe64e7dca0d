import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createClient } from '../support/api.ts'
import { startPostgres } from '../support/postgres.ts'
import { startLocal, startWorld, textOf, until, type World } from './harness.ts'
import { startRelay } from './relay.ts'

const NAME = 'steady.adit.localhost'
const SHOP = 'shop.adit.localhost'

/** How a database can be away, and how it comes back. */
const absences: Record<string, (t: TestContext) => Promise<Database>> = {
  async 'is stopped'(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    return {
      flags: ['--database-url', postgres.url],
      leave: () => postgres.stop(),
      comeBack: () => postgres.start(),
    }
  },
  async 'is moved away'() {
    return { flags: [], leave: putAside, comeBack: putBack }
  },
  async 'is no database any more'() {
    return {
      flags: [],
      async leave(dataDir) {
        await putAside(dataDir)
        await writeFile(join(dataDir, 'adit.db'), 'not a database at all '.repeat(1000))
      },
      comeBack: putBack,
    }
  },
  async 'does not answer'(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const url = new URL(postgres.url)
    const relay = await startRelay(t, Number(url.port))
    url.port = String(relay.port)
    return {
      flags: ['--database-url', url.href],
      leave: async () => relay.freeze(),
      comeBack: async () => relay.thaw(),
    }
  },
}

interface Database {
  readonly flags: readonly string[]
  leave(dataDir: string): Promise<void>
  comeBack(dataDir: string): Promise<void>
}

/** The embedded database with its log, which comes back first: without it the file would be an earlier one. */
const FILES = ['adit.db-wal', 'adit.db']

async function putAside(dataDir: string): Promise<void> {
  for (const file of FILES.toReversed()) await rename(join(dataDir, file), join(dataDir, `${file}.aside`))
}

async function putBack(dataDir: string): Promise<void> {
  for (const file of FILES) await rename(join(dataDir, `${file}.aside`), join(dataDir, file))
}

for (const [manner, create] of Object.entries(absences)) {
  test(`a server that is killed and started again serves what it knew while its database ${manner}`, async (t) => {
    const database = await create(t)
    const world = await startWorld(t, database.flags)
    const dataDir = dirname(world.credentials.ca_file)
    const port = await startLocal(t, (_request, response) => response.end('served'))
    const agent = world.startAgent(['http', String(port), `--url=http://${NAME}`], {
      ADIT_CONNECT_URL: `127.0.0.1:${world.agentPort}`,
      ADIT_CONNECT_CAS: world.credentials.ca_file,
      ADIT_AUTHTOKEN: world.credentials.authtoken,
    })
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    const { routeId, read, change } = await makeShop(world, 'open')
    await until(async () => (await shop(world)) === 'open', 'the edge answers')
    await until(async () => isKnown(dataDir, routeId), 'the local copy has the edge')

    await database.leave(dataDir)
    assert.equal(await shop(world), 'open')
    world.server.child.kill('SIGKILL')
    await once(world.server.child, 'exit')
    await world.restart()
    assert.match(world.server.stdout, /^Its database is unavailable, though\. The /m)
    assert.equal(await shop(world), 'open')
    await until(async () => (await textOf(await world.ask(NAME))) === 'served', 'the agent is back')
    assert.equal(await read(), 503)
    assert.equal(await change('changed while away'), 503)
    assert.equal(await shop(world), 'open')

    await database.comeBack(dataDir)
    await until(async () => (await change('changed')) === 200, 'the database takes changes')
    await until(async () => (await shop(world)) === 'changed', 'the edge follows them', 5_000)
    assert.equal(await textOf(await world.ask(NAME)), 'served')
  })
}

for (const manner of ['is stopped', 'does not answer']) {
  test(`the server that created the database lets agents in and shows what is online while it ${manner}`, async (t) => {
    const database = await absences[manner]!(t)
    const world = await startWorld(t, database.flags)
    const dataDir = dirname(world.credentials.ca_file)
    await makeShop(world, 'open')
    // A key that has not been used yet, so that no cache of this process knows it.
    const { create } = createClient(world.credentials.api_url, world.credentials.api_key)
    const key = await create('/api_keys', {})
    await until(async () => isKnown(dataDir, key.id), 'the local copy has the key')

    const port = await startLocal(t, (_request, response) => response.end('served'))
    const startAgent = () => world.startAgent(['http', String(port), `--url=http://${NAME}`])
    const former = startAgent()
    await former.until(({ stdout }) => stdout.includes('Forwarding'))

    await database.leave(dataDir)
    former.child.kill('SIGKILL')
    const agent = startAgent()
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    assert.equal(await textOf(await world.ask(NAME)), 'served')

    const call = createClient(world.credentials.api_url, key.token)
    for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints']) {
      const list = await call('GET', `/${kind}`)
      assert.equal(list.status, 200, kind)
      const found = list.body[kind] as { id: string }[]
      // The endpoint of the edge comes from the local copy.
      assert.equal(found.length, kind === 'endpoints' ? 2 : 1, kind)
      for (const { id } of found) assert.equal((await call('GET', `/${kind}/${id}`)).status, 200, id)
    }
    assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 503)
    const stranger = createClient(world.credentials.api_url, key.token.replace(/.$/, 'x'))
    assert.notEqual((await stranger('GET', '/tunnels')).status, 200)

    await database.comeBack(dataDir)
    await until(async () => (await call('POST', '/ip_policies', { body: {} })).status === 201, 'writes work')
    assert.equal(await textOf(await world.ask(NAME)), 'served')
  })
}

test('a key that is revoked right after the database is back is refused at once by the node that revoked it', async (t) => {
  const database = await absences['is stopped']!(t)
  const world = await startWorld(t, database.flags)
  const dataDir = dirname(world.credentials.ca_file)
  const call = createClient(world.credentials.api_url, world.credentials.api_key)
  const key = await call.create('/api_keys', { description: 'leaked' })
  await until(async () => isKnown(dataDir, key.id), 'the local copy has the key')
  const leaked = createClient(world.credentials.api_url, key.token)

  await database.leave(dataDir)
  assert.equal((await leaked('GET', '/tunnels')).status, 200)
  await database.comeBack(dataDir)
  await until(async () => (await call('DELETE', `/api_keys/${key.id}`)).status === 204, 'the key is deleted')

  assert.equal((await leaked('GET', '/tunnels')).status, 401)
})

/** An edge that answers with a text, and how to change that. */
async function makeShop({ credentials }: World, body: string) {
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
    change: async (text: string) => (await call('PATCH', path, { body: { body: text } })).status,
  }
}

/** What a visitor of the edge reads. */
async function shop({ credentials }: World): Promise<string> {
  const { port } = new URL(credentials.https_url)
  const request = get({
    ...{ host: '127.0.0.1', port, servername: SHOP, headers: { Host: SHOP }, agent: false },
    ca: readFileSync(credentials.ca_file),
  })
  const [response] = await once(request, 'response')
  return textOf(response)
}

/** Whether the copy in the data directory has a row already. */
function isKnown(dataDir: string, id: string): boolean {
  const copy = new DatabaseSync(join(dataDir, 'last-known.db'), { readOnly: true })
  try {
    return copy.prepare('SELECT 1 FROM resources WHERE id = ?').get(id) !== undefined
  } finally {
    copy.close()
  }
}
