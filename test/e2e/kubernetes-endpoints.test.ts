import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { clusterRequest, ForwarderClient } from '../../src/edge/testing/forwarder-client.ts'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { listen, startHttp, startTcp } from '../support/local-server.ts'
import { createOperatorRequest } from '../support/operator-request.ts'
import { joinFlags, startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createSecondAccount } from '../support/second-account.ts'

const bindings = ['kubernetes']

/** Registers an operator, and connects to services as the forwarder of its cluster does. */
async function registerOperator(
  t: TestContext,
  { call, caPem }: Pick<TestPlatform, 'call' | 'caPem'>,
  endpoint_selectors: string[],
) {
  const { csr, key } = await createOperatorRequest()
  const body = { enabled_features: ['bindings'], binding: { endpoint_selectors, csr } }
  const { id, binding } = await call.create('/kubernetes_operators', body)
  const [servername, port] = binding.ingress_endpoint.split(':')
  const options = { servername, port: Number(port), ca: caPem, cert: binding.cert.cert, key }
  return {
    id,
    servername,
    bound: () => listed(call, `/kubernetes_operators/${id}/bound_endpoints`),
    async connectTo(host: string, servicePort: number) {
      const client = ForwarderClient.open(t, options).write(clusterRequest(host, servicePort))
      return { client, response: await client.response() }
    },
  }
}

async function listed(call: TestPlatform['call'], path: string): Promise<[string, string[]][]> {
  const { body } = await call('GET', path)
  return body.endpoints.map((endpoint: { url: string; bindings: string[] }) => [
    endpoint.url,
    endpoint.bindings,
  ])
}

const get = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

test('endpoints in Kubernetes clusters are reached by the operators that select them, and by no visitor', async (t) => {
  const platform = await startPlatform(t)
  const other = await createSecondAccount(platform)
  const [agent, foreign] = [await startAgent(t, platform), await startAgent(t, platform, other.authtoken)]
  const port = await findFreePorts(1)
  const addr = await startHttp(t, (_request, response) => response.end('inside'))
  const theirs = await startHttp(t, (_request, response) => response.end('theirs'))
  const db = await startTcp(t, (socket) => socket.end('db'))
  const blue = await registerOperator(t, platform, ["endpoint.metadata == 'blue'"])
  const all = await registerOperator(t, platform, ['true'])

  await agent.forward({ addr, proto: 'http', url: 'http://web.default', bindings, metadata: 'green' })
  const tunnel = await agent.forward({
    addr: db,
    proto: 'tcp',
    url: `tcp://db.default:${port}`,
    bindings,
    metadata: 'blue',
  })
  await foreign.forward({ addr: theirs, proto: 'http', url: 'http://web.default', bindings })
  await foreign.forward({ addr: theirs, proto: 'http', url: 'http://theirs.default', bindings })
  await platform.call.create('/endpoints', {
    url: 'http://cloud.default:8080',
    bindings,
    traffic_policy: 'on_http_request: [{actions: [{type: custom-response, config: {content: cloud}}]}]',
  })

  assert.equal(tunnel.url, `tcp://db.default:${port}`)
  assert.deepEqual(await blue.bound(), [[`tcp://db.default:${port}`, bindings]])
  assert.deepEqual((await all.bound()).length, 3)
  for (const operator of [blue, all]) {
    const { client } = await operator.connectTo('db.default', port)
    await client.until(({ answer }) => answer === 'db')
  }
  for (const [host, servicePort, answer] of [
    ['web.default', 80, 'inside'],
    ['cloud.default', 8080, 'cloud'],
  ] as const) {
    const { client, response } = await all.connectTo(host, servicePort)
    client.write(get(host))
    await client.untilText(answer)
    assert.equal(response[1], '2 http')
    assert.equal((await blue.connectTo(host, servicePort)).response[0], '3 ERR_ADIT_3703')
  }
  assert.equal((await all.connectTo('theirs.default', 80)).response[0], '3 ERR_ADIT_3703')
  assert.equal((await fetchHost(platform, 'web.default')).status, 404)
  assert.equal(await text(connect(port, '127.0.0.1')).catch((error) => error.code), 'ECONNREFUSED')
  const reserved = await platform.call('POST', '/reserved_domains', { body: { name: all.servername } })
  assert.equal(reserved.status, 400)

  await platform.call('DELETE', `/kubernetes_operators/${all.id}`)
  await eventuallyEqual(async () => (await all.connectTo('web.default', 80)).response[0], '3 ERR_ADIT_3701')
})

/** A service of gRPC that returns each message as it arrives, and its result in trailers. */
function startGrpcEcho(t: TestContext): Promise<number> {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const common = { ':status': 200, 'content-type': 'application/grpc' }
    if (headers[':path'] !== '/echo.Echo/Chat') {
      stream.respond({ ...common, 'grpc-status': '12', 'grpc-message': 'unimplemented' }, { endStream: true })
      return
    }
    stream.respond(common, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-te': String(headers.te) }))
    stream.pipe(stream)
  })
  return listen(t, server)
}

/** One message of gRPC: not compressed, its length, its bytes. */
function grpcMessage(content: string): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, Buffer.from(content)])
}

test('a gRPC client in a cluster exchanges messages in both directions, and gets the trailers', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  const addr = await startGrpcEcho(t)
  const { connectTo } = await registerOperator(t, platform, ['true'])
  await agent.forward({
    addr,
    proto: 'http',
    app_protocol: 'http2',
    url: 'http://echo.default:50051',
    bindings,
  })
  const { client } = await connectTo('echo.default', 50051)
  const session = client.startHttp2(t, 'echo.default:50051')
  const call = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' }

  const stream = session.request({ ...call, ':path': '/echo.Echo/Chat' })
  const messages = [grpcMessage('one'), grpcMessage('two')]
  let received = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
  })
  const trailers = once(stream, 'trailers')
  for (const [index, message] of messages.entries()) {
    stream.write(message)
    await eventuallyEqual(() => received, Buffer.concat(messages.slice(0, index + 1)))
  }
  stream.end()
  const [{ 'grpc-status': status, 'x-te': te }] = await trailers
  const unknown = session.request({ ...call, ':path': '/echo.Echo/Unknown' })
  unknown.end(grpcMessage('three'))
  const [headers] = await once(unknown, 'response')

  assert.deepEqual([status, te], ['0', 'trailers'])
  assert.deepEqual([headers['grpc-status'], headers['grpc-message']], ['12', 'unimplemented'])
})

test('a pool in clusters takes turns by weight, over the members that the operator selects', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  for (const [metadata, pooling_weight] of [
    ['blue', 3],
    ['green', 1],
  ] as const)
    await agent.forward({
      addr: await startHttp(t, (_request, response) => response.end(metadata)),
      proto: 'http',
      url: 'http://pool.default',
      bindings,
      metadata,
      pooling_enabled: true,
      pooling_weight,
    })
  const all = await registerOperator(t, platform, ['true'])
  const green = await registerOperator(t, platform, ["endpoint.metadata == 'green'"])
  const request = async (client: ForwarderClient, length: number) => {
    client.write('GET / HTTP/1.1\r\nHost: pool.default\r\n\r\n')
    await client.until(({ answer }) => (answer.match(/blue|green/g) ?? []).length === length)
  }
  /** What four requests get, on one connection or on four. */
  const answers = async ({ connectTo }: typeof all, perConnection: number) => {
    let text = ''
    for (let sent = 0; sent < 4; sent += perConnection) {
      const { client } = await connectTo('pool.default', 80)
      for (let length = 1; length <= perConnection; length++) await request(client, length)
      text += client.answer
      client.socket.destroy()
    }
    return text.match(/blue|green/g)?.toSorted()
  }

  for (const perConnection of [1, 4]) {
    assert.deepEqual(await answers(all, perConnection), ['blue', 'blue', 'blue', 'green'])
    assert.deepEqual(await answers(green, perConnection), ['green', 'green', 'green', 'green'])
  }
})

for (const how of ['workers', 'nodes'])
  test(`a cluster reaches agents of other ${how}`, async (t) => {
    const { entry, home } = how === 'workers' ? await startWorkers(t) : await startNodes(t)
    const { authtoken, api_key } = entry.credentials
    const agent = await startAgent(t, home, authtoken, { env: { ADIT_LEGS: '1' } })
    const addr = await startHttp(t, (_request, response) => response.end('inside'))
    const call = createClient(home.credentials.api_url, api_key)
    const { connectTo } = await registerOperator(t, { call, caPem: entry.caPem }, ['true'])
    await agent.forward({ addr, proto: 'http', url: 'http://web.default', bindings })
    await agent.forward({ addr, proto: 'tcp', url: 'tcp://raw.default:5432', bindings })

    // Nodes that have just started need a moment to find each other.
    await eventuallyEqual(async () => {
      const { client, response } = await connectTo('raw.default', 5432)
      client.socket.destroy()
      return response[1]
    }, '2 tcp')

    // Several, so that with workers some connections arrive where the agent is not.
    for (let round = 0; round < 8; round++)
      for (const [host, port] of [
        ['web.default', 80],
        ['raw.default', 5432],
      ] as const) {
        const { client } = await connectTo(host, port)
        client.write(get(host))
        await client.untilText('inside')
      }
  })

async function startWorkers(t: TestContext) {
  const platform = await startPlatform(t, ['--workers', '2'])
  return { entry: platform, home: platform }
}

/** Visitors come to one node, agents and calls of the API to the other. */
async function startNodes(t: TestContext) {
  const { url } = await createTestDatabase(t)
  const entry = await startPlatform(t, ['--database-url', url])
  const home = await startPlatform(t, ['--database-url', url, ...joinFlags(entry)])
  return { entry, home }
}
