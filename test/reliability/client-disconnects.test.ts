import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startSink } from '../../src/events/testing/sink.ts'
import { portOf, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'slow.adit.localhost'
const CLIENTS = 40
/** Concurrent clients, fewer than the limit per client address. */
const BATCH_SIZE = 10

/** The fields of an event's object that depend on the client connection. */
interface ConnectionFields {
  readonly conn?: { readonly server_ip?: string; readonly server_port?: number }
  readonly tls?: { readonly version?: string; readonly cipher_suite?: string }
}

/** Starts a server, an agent with a slow HTTPS service, and a subscription for each list of fields. */
async function startSlowPlatform(t: TestContext, type: string, fields: readonly (string[] | undefined)[]) {
  const server = await startServerProcess(t, createTempDir(), ['--outbound-allow', '127.0.0.1'])
  const call = createClient(server.url, server.apiKey)
  const sink = await startSink(t, () => ({ status: 204 }))
  for (const [index, names] of fields.entries()) {
    const { id } = await call.create('/event_destinations', {
      target: { webhook: { url: `${sink.url}/${index}`, secret: `whsec_${'MDEy'.repeat(11)}` } },
    })
    await call.create('/event_subscriptions', {
      sources: [names === undefined ? { type } : { type, fields: names }],
      destination_ids: [id],
    })
  }
  const agent = await startAgent(t, server)
  const port = await startHttp(t, (request, response) => {
    if (request.url === '/') response.end('whole')
    else response.writeHead(200, { 'content-length': '100' }).write('x')
  })
  await agent.forward({ addr: port, url: `https://${HOST}` })
  const delivered = (index: number): ConnectionFields[] =>
    sink.arrivals
      .filter(({ path }) => path === `/${index}`)
      .flatMap(({ body }) => JSON.parse(body.toString()))
      .filter(({ event_type }) => event_type === type)
      .map(({ object }) => object)
  return { server, agent, port, delivered }
}

/** Opens connections in batches and resets each one as soon as its response has begun. */
async function resetEarly(t: TestContext, open: () => Promise<Socket>): Promise<void> {
  for (let remaining = CLIENTS; remaining > 0; remaining -= BATCH_SIZE) {
    const transports = await Promise.all(Array.from({ length: BATCH_SIZE }, open))
    for (const transport of transports) transport.resetAndDestroy()
  }
  t.diagnostic(`${CLIENTS} clients have reset their connections`)
}

async function dial(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function assertHealthy(server: ServerProcess, exited: Promise<void>): Promise<void> {
  const response = await Promise.race([fetch(`${server.url}/healthz`), exited])
  assert.equal(response?.status, 200, server.output())
}

test('clients that reset their TLS connections neither crash the server nor lose events', async (t) => {
  const { server, delivered } = await startSlowPlatform(t, 'http_request_complete.v0', [
    ['tls.version'],
    undefined,
    ['tls.cipher_suite'],
  ])
  const exited = server.ended()
  const ca = await readFile(server.credentials.ca_file)
  const port = portOf(server.credentials.https_url)

  await resetEarly(t, async () => {
    const transport = await dial(t, port)
    const secure = connectTls({ socket: transport, servername: HOST, ca, ALPNProtocols: ['http/1.1'] })
    secure.on('error', () => {})
    secure.write(`GET /slow HTTP/1.1\r\nHost: ${HOST}:${port}\r\n\r\n`)
    await Promise.race([once(secure, 'data'), exited])
    return transport
  })
  await assertHealthy(server, exited)

  for (const index of [0, 1, 2])
    await eventually(() => delivered(index).length >= CLIENTS, `the events of subscription ${index}`, 30_000)
  assert.deepEqual(
    delivered(0),
    Array.from({ length: CLIENTS }, () => ({ tls: { version: 'TLSv1.3' } })),
  )
  assert.equal(delivered(1).length, CLIENTS)
  assert.deepEqual(
    delivered(2).map(({ tls }) => /^TLS_/.test(tls?.cipher_suite ?? '')),
    Array.from({ length: CLIENTS }, () => true),
  )
})

test('the event of a reset TCP connection has the server address and port', async (t) => {
  const { server, agent, port, delivered } = await startSlowPlatform(t, 'tcp_connection_closed.v0', [
    undefined,
    ['conn.server_ip', 'conn.server_port'],
  ])
  const exited = server.ended()
  const { url } = await agent.forward({ addr: port, proto: 'tcp' })
  const publicPort = portOf(url)

  await resetEarly(t, async () => {
    const transport = await dial(t, publicPort)
    transport.write(`GET /slow HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await Promise.race([once(transport, 'data'), exited])
    return transport
  })
  await assertHealthy(server, exited)

  for (const index of [0, 1])
    await eventually(() => delivered(index).length >= CLIENTS, `the events of subscription ${index}`, 30_000)
  for (const { conn } of [...delivered(0), ...delivered(1)])
    assert.deepEqual([conn?.server_ip, conn?.server_port], ['127.0.0.1', publicPort])
})
