import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHost, portOf, readPolicyActions, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { countResumed } from '../support/resumed-sessions.ts'

/** Starts two nodes on one database. */
async function startNodes(t: TestContext) {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
  return { first, second, call: createClient(second.credentials.api_url, first.credentials.api_key) }
}

/** Starts a TCP relay whose target can be switched; upstreams of existing connections are not notified. */
async function startSwitch(t: TestContext, target: number) {
  const state = { target }
  const pairs = new Set<readonly [client: Socket, upstream: Socket]>()
  const server = createTcpServer((client) => {
    const upstream = connectTcp(state.target, '127.0.0.1')
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream)
    upstream.pipe(client)
    pairs.add([client, upstream])
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of [...pairs].flat()) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    redirect(port: number) {
      state.target = port
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream)
        client.destroy()
      }
    },
  }
}

function httpsUrl(node: TestPlatform, host: string): string {
  return `https://${host}:${new URL(node.credentials.https_url).port}/`
}

test('clients of every node reach an agent that is connected to one of them', async (t) => {
  const { first, second, call } = await startNodes(t)
  const port = await startHttp(t, (request, response) => {
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
    })
    request.on('end', () => response.end(Buffer.alloc(size + 1_000_000, 'x')))
  })
  const agent = await startAgent(t, first, first.credentials.authtoken)

  const tunnel = await agent.forward({ addr: port, url: 'https://app.adit.localhost' })
  const received = await eventually(async () => {
    const upload = { method: 'POST', body: Buffer.alloc(700_000) }
    const response = await second.fetch(httpsUrl(second, 'app.adit.localhost'), upload)
    const body = await response.arrayBuffer()
    return response.status === 200 && body.byteLength
  })

  assert.equal(received, 1_700_000)
  const { body } = await call('GET', '/tunnels')
  assert.deepEqual(
    body.tunnels.map((item: { public_url: string }) => new URL(item.public_url).hostname),
    ['app.adit.localhost'],
  )
  await tunnel.close()
  await eventually(async () => (await second.fetch(httpsUrl(second, 'app.adit.localhost'))).status === 404)
})

test('the inspector shows what a policy did with a request that came through another node', async (t) => {
  const { first, second } = await startNodes(t)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const agent = await startAgent(t, first, first.credentials.authtoken, {
    inspector: '127.0.0.1:0',
    env: { ADIT_LEGS: '1' },
  })
  const rule = { name: 'Tag', actions: [{ type: 'add-headers', config: { headers: { 'x-tag': 'yes' } } }] }
  const traffic_policy = JSON.stringify({ on_http_request: [rule], on_http_response: [rule] })
  await agent.forward({ addr: port, url: 'http://noted.adit.localhost', traffic_policy })

  await eventually(async () => (await fetchHost(second, 'noted.adit.localhost')).body === 'here')

  await eventuallyEqual(
    async () => (await readPolicyActions(agent))['/']?.join(),
    'noted.adit.localhost on_http_request 1 Tag add-headers,noted.adit.localhost on_http_response 1 Tag add-headers',
  )
})

test('an upstream that aborts a response is seen as broken through another node too', async (t) => {
  const { first, second } = await startNodes(t)
  const port = await startHttp(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('half', () => response.socket?.destroy())
  })
  const agent = await startAgent(t, first, first.credentials.authtoken)
  await agent.forward({ addr: port, url: 'http://half.adit.localhost' })
  const url = `http://half.adit.localhost:${new URL(second.credentials.http_url).port}/`
  const read = async () => (await second.fetch(url)).text()
  await eventually(async () => (await second.fetch(url).catch(() => undefined))?.status !== 404)

  await assert.rejects(read())
})

test('a command sent to one node reaches an agent connected to another', async (t) => {
  const { first, call } = await startNodes(t)
  await startAgent(t, first, first.credentials.authtoken)
  const sessionId = async () => (await call('GET', '/tunnel_sessions')).body.tunnel_sessions[0]?.id
  const before = await eventually(sessionId)

  const restarted = await call('POST', `/tunnel_sessions/${before}/restart`)

  assert.equal(restarted.status, 204, JSON.stringify(restarted.body))
  await eventually(async () => ![undefined, before].includes(await sessionId()))
})

test('an agent that reconnects to another node takes its name over from its stale session', async (t) => {
  const { first, second, call } = await startNodes(t)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const relay = await startSwitch(t, portOf(first.credentials.agent_addr))
  const credentials = { ...first.credentials, agent_addr: `127.0.0.1:${relay.port}` }
  const agent = await startAgent(t, { ...first, credentials }, first.credentials.authtoken)
  await agent.forward({ addr: port, url: 'http://moves.adit.localhost' })
  await eventually(async () => (await fetchHost(second, 'moves.adit.localhost')).body === 'here')

  relay.redirect(portOf(second.credentials.agent_addr))

  await eventually(async () => {
    const { tunnel_sessions } = (await call('GET', '/tunnel_sessions')).body
    return tunnel_sessions.length === 1 && (await fetchHost(first, 'moves.adit.localhost')).body === 'here'
  })
  assert.equal((await fetchHost(second, 'moves.adit.localhost')).body, 'here')
})

test('a name that is online at one node cannot be bound at another', async (t) => {
  const { first, second, call } = await startNodes(t)
  const holder = await startAgent(t, first, first.credentials.authtoken)
  await holder.forward({ addr: 80, url: 'http://mine.adit.localhost' })
  await eventually(async () => (await call('GET', '/tunnels')).body.tunnels.length === 1)
  const other = await startAgent(t, second, first.credentials.authtoken)

  await assert.rejects(other.forward({ addr: 80, url: 'http://mine.adit.localhost' }), /already online/)
})

test('when a node stops, its agents have moved to another one', async (t) => {
  const { first, second } = await startNodes(t)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const agent = await startAgent(t, second, first.credentials.authtoken)
  await agent.forward({ addr: port, url: 'http://moved.adit.localhost' })
  await eventually(async () => (await fetchHost(first, 'moved.adit.localhost')).body === 'here')

  await second.stop()

  assert.deepEqual(await fetchHost(first, 'moved.adit.localhost'), { status: 200, body: 'here' })
})

test('a stopping node lets requests through other nodes finish', async (t) => {
  const { first, second } = await startNodes(t)
  const handled = Promise.withResolvers<() => void>()
  const port = await startHttp(t, (_request, response) => {
    response.write('begun, ')
    handled.resolve(() => response.end('and done'))
  })
  const agent = await startAgent(t, second, first.credentials.authtoken)
  await agent.forward({ addr: port, url: 'http://slow.adit.localhost' })
  const url = `http://slow.adit.localhost:${new URL(first.credentials.http_url).port}/`
  const slowResponse = await eventually(async () => {
    const response = await first.fetch(url)
    return response.status === 200 && response
  })

  const stopping = second.stop()
  // The API stops first.
  await eventually(() =>
    fetch(`${second.credentials.api_url}/healthz`).then(
      () => false,
      () => true,
    ),
  )
  ;(await handled.promise)()

  assert.equal(await (slowResponse as Response).text(), 'begun, and done')
  await stopping
})

test('a node without a peer address does not join the cluster', async (t) => {
  // Workers need it.
  const alone = ['--peer-addr', 'false', '--workers', '1']
  const flags = ['--database-url', (await createTestDatabase(t)).url, ...alone]
  const first = await startPlatform(t, flags)
  const key = join(first.dataDir, 'master.key')
  const second = await startPlatform(t, [...flags, '--master-key-file', key])
  const agent = await startAgent(t, first, first.credentials.authtoken)
  await agent.forward({ addr: 80, url: 'http://alone.adit.localhost' })

  const { status } = await fetchHost(second, 'alone.adit.localhost')

  assert.equal(status, 404)
})

test('the edge can run in its own process beside the gateway, even on the embedded database', async (t) => {
  const gateway = await startPlatform(t, ['--roles', 'api,gateway,jobs'])
  const edge = await startPlatform(t, ['--roles', 'edge'], gateway.dataDir)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const agent = await startAgent(t, edge, gateway.credentials.authtoken)

  await agent.forward({ addr: port, url: 'http://split.adit.localhost' })

  await eventually(async () => (await fetchHost(edge, 'split.adit.localhost')).body === 'here')
  assert.equal(edge.credentials.api_url, gateway.credentials.api_url)
})

test('each node resumes the TLS sessions of the other', async (t) => {
  const { first, second } = await startNodes(t)
  const ca = await readFile(first.credentials.ca_file, 'utf8')
  const ports = [first, second].map(({ credentials }) => Number(new URL(credentials.https_url).port))

  assert.equal(await countResumed(ports, ca, 'dashboard.adit.localhost'), 40)
})

test('nodes hold rate limits and trip circuit breakers together', async (t) => {
  const { first, second } = await startNodes(t)
  const port = await startHttp(t, (request, response) => {
    response.writeHead(request.url === '/broken' ? 500 : 200).end()
  })
  const host = 'limited.adit.localhost'
  const capacity = 30
  const limit = {
    type: 'rate-limit',
    config: {
      ...{ name: 'all', algorithm: 'sliding_window', capacity, rate: '3600s' },
      bucket_key: ['req.url.path'],
    },
  }
  const breaker = {
    type: 'circuit-breaker',
    config: {
      error_threshold: 0.01,
      volume_threshold: 10,
      window_duration: '120s',
      tripped_duration: '120s',
    },
  }
  const agent = await startAgent(t, first)
  await agent.forward({
    addr: port,
    url: `http://${host}`,
    traffic_policy: JSON.stringify({
      on_http_request: [
        { expressions: ["req.url.path.startsWith('/limited')"], actions: [limit] },
        { expressions: ["!req.url.path.startsWith('/limited')"], actions: [breaker] },
      ],
    }),
  })
  const ask = async (node: TestPlatform, path: string) => (await fetchHost(node, host, path)).status

  // Each time with another bucket: the first ones are used up before the nodes are linked.
  let bucket = 0
  await eventually(async () => {
    const path = `/limited/${bucket++}`
    const statuses = await Promise.all(Array.from({ length: capacity }, () => ask(first, path)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    let admitted = 0
    while ((await ask(second, path)) === 200) admitted++
    return admitted < capacity
  }, 'the second node admits fewer because of the requests to the first')

  for (let asked = 0; asked < 10; asked++) assert.equal(await ask(first, '/broken'), 500)
  for (const node of [first, second]) await eventually(async () => (await ask(node, '/')) === 503)
})
