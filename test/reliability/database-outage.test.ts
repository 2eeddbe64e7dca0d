import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { isInFallbackCopy } from '../support/fallback-copy.ts'
import { type Harness, readText, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { startPostgres } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'

const NAME = 'steady.adit.localhost'

/** The engines, each with the ways it becomes unavailable and is restored. */
const engines: Record<string, (t: TestContext) => Promise<Engine>> = {
  async PostgreSQL(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const url = new URL(postgres.url)
    const relay = await startRelay(t, Number(url.port))
    url.port = String(relay.port)
    return {
      flags: ['--database-url', url.href],
      outages: {
        'is stopped': { takeDown: () => postgres.stop(), restore: () => postgres.start() },
        'does not respond': { takeDown: async () => relay.freeze(), restore: async () => relay.thaw() },
      },
    }
  },
  async SQLite() {
    return {
      flags: [],
      outages: {
        'is moved away': { takeDown: moveAway, restore: moveBack },
        'is corrupted': {
          async takeDown(dataDir) {
            await moveAway(dataDir)
            await writeFile(join(dataDir, 'adit.db'), 'not a database at all '.repeat(1000))
          },
          restore: moveBack,
        },
      },
    }
  },
}

interface Engine {
  readonly flags: readonly string[]
  readonly outages: Readonly<Record<string, Outage>>
}

interface Outage {
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

for (const [engine, create] of Object.entries(engines))
  test(`a server survives outages of ${engine}`, async (t) => {
    const { flags, outages } = await create(t)
    const harness = await startHarness(t, flags)
    const { credentials } = harness
    const dataDir = dirname(credentials.ca_file)
    const api = createClient(credentials.api_url, credentials.api_key)
    const port = await startHttp(t, (_request, response) => response.end('served'))
    const startAgent = async () => {
      const agent = harness.startAgent(['http', String(port), `--url=http://${NAME}`], {
        ADIT_CONNECT_URL: `127.0.0.1:${harness.agentPort}`,
        ADIT_CONNECT_CAS: credentials.ca_file,
        ADIT_AUTHTOKEN: credentials.authtoken,
      })
      await agent.until(({ stdout }) => stdout.includes('Forwarding'))
      return agent
    }
    let agent = await startAgent()
    let edges = 0

    for (const [manner, outage] of Object.entries(outages)) {
      await t.test(
        `restarted, it serves its last known configuration while its database ${manner}`,
        async () => {
          const shop = await createShopEdge(harness, `shop-${edges}.adit.localhost`, 'open')
          edges += 1
          await eventually(async () => (await shop.get()) === 'open', 'the edge answers')
          await eventually(() => isInFallbackCopy(dataDir, shop.routeId), 'the local copy has the edge')

          await outage.takeDown(dataDir)
          assert.equal(await shop.get(), 'open')
          harness.server.child.kill('SIGKILL')
          await once(harness.server.child, 'exit')
          await harness.restart()
          assert.match(harness.server.stdout, /^Adit has started, but is not ready\. The /m)
          assert.equal(await shop.get(), 'open')
          await eventually(
            async () => (await readText(await harness.get(NAME))) === 'served',
            'the agent is back',
          )
          assert.equal(await shop.read(), 503)
          assert.equal(await shop.update('changed while away'), 503)
          assert.equal(await shop.get(), 'open')

          await outage.restore(dataDir)
          await eventually(async () => (await shop.update('changed')) === 200, 'the database takes changes')
          await eventually(async () => (await shop.get()) === 'changed', 'the edge follows them', 5_000)
          assert.equal(await readText(await harness.get(NAME)), 'served')
        },
      )

      if (engine === 'SQLite') continue
      await t.test(`it accepts agents and lists what is online while its database ${manner}`, async () => {
        // An unused key, so that it is in no cache of this process.
        const key = await api.create('/api_keys', {})
        await eventually(() => isInFallbackCopy(dataDir, key.id), 'the local copy has the key')
        const listSessions = () => harness.list('/tunnel_sessions')
        await eventually(async () => (await listSessions()).length === 1, 'the agent is listed')

        await outage.takeDown(dataDir)
        agent.child.kill('SIGKILL')
        agent = await startAgent()
        assert.equal(await readText(await harness.get(NAME)), 'served')

        const call = createClient(credentials.api_url, key.token)
        for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints']) {
          const list = await call('GET', `/${kind}`)
          assert.equal(list.status, 200, kind)
          const items = list.body[kind] as { id: string }[]
          // The endpoints of the edges come from the local copy.
          assert.equal(items.length, kind === 'endpoints' ? 1 + edges : 1, kind)
          for (const { id } of items) assert.equal((await call('GET', `/${kind}/${id}`)).status, 200, id)
        }
        assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 503)
        const forgedCall = createClient(credentials.api_url, key.token.replace(/.$/, 'x'))
        assert.notEqual((await forgedCall('GET', '/tunnels')).status, 200)

        await outage.restore(dataDir)
        await eventually(
          async () => (await call('POST', '/ip_policies', { body: {} })).status === 201,
          'writes work',
        )
        assert.equal(await readText(await harness.get(NAME)), 'served')
      })
    }

    if (engine === 'SQLite') return
    await t.test(
      'it rejects a key at once that it revokes right after its database is restored',
      async () => {
        const outage = outages['is stopped']!
        const key = await api.create('/api_keys', { description: 'leaked' })
        await eventually(() => isInFallbackCopy(dataDir, key.id), 'the local copy has the key')
        const leakedCall = createClient(credentials.api_url, key.token)

        await outage.takeDown(dataDir)
        assert.equal((await leakedCall('GET', '/tunnels')).status, 200)
        await outage.restore(dataDir)
        await eventually(
          async () => (await api('DELETE', `/api_keys/${key.id}`)).status === 204,
          'the key is deleted',
        )

        assert.equal((await leakedCall('GET', '/tunnels')).status, 401)
      },
    )
  })

/** Creates an edge with a fixed response, and functions to request, read and change it. */
async function createShopEdge({ credentials }: Harness, host: string, body: string) {
  const call = createClient(credentials.api_url, credentials.api_key)
  await call.create('/reserved_domains', { domain: host })
  const { id } = await call.create('/backends/http_response', { body })
  const edge = await call.create('/edges/https', { hostports: [`${host}:443`] })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    ...{ match_type: 'path_prefix', match: '/' },
    backend: { backend_id: id },
  })
  const path = `/backends/http_response/${id}`
  return {
    routeId: route.id as string,
    read: async () => (await call('GET', path)).status,
    update: async (text: string) => (await call('PATCH', path, { body: { body: text } })).status,
    /** Requests the edge and returns the body. */
    async get() {
      const { port } = new URL(credentials.https_url)
      const request = get({
        ...{ host: '127.0.0.1', port, servername: host, headers: { Host: host }, agent: false },
        ca: readFileSync(credentials.ca_file),
      })
      const [response] = await once(request, 'response')
      return readText(response)
    },
  }
}
