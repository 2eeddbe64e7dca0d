// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are what header values hold
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { sendHttp } from '../../../test/support/https-client.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { createDial } from '../../base/outbound/guarded-dial.ts'
import { StaticBackend } from '../../resources/index.ts'
import { echo, HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { createLocalTunnel } from '../testing/tunnels.ts'

const NAMES = ['x-real-ip', 'true-client-ip', 'x-original-url', 'x-rewrite-url', 'proxy', 'x-client-ip']

const ENDPOINT = 'endpoint.adit.localhost'
const FORGED = 'forged'

/** Spellings of a name that an upstream might fold and the edge might not. */
function spellings(name: string): string[] {
  const all = [name, name.replaceAll('-', '_'), name.replaceAll('-', '.'), name.replace('-', '_')]
  return [...new Set(all)]
}

const forged = Object.fromEntries(NAMES.flatMap(spellings).map((name) => [name, FORGED]))

/** Sends a request with these headers and returns the fields that the upstream received. */
type SendRequest = (
  t: TestContext,
  harness: HttpsEdgeHarness,
  headers: Record<string, string>,
) => Promise<string>

const paths: Record<string, SendRequest> = {
  'an edge, over HTTP/1': async (_t, { sendRequest }, headers) =>
    (await sendRequest({ headers: toUpperCaseNames(headers) })).text,

  'an edge, over HTTP/2': (t, harness, headers) => askHttp2(t, harness, headers),

  'a static backend': async (t, { config, routeId, sendRequest }, headers) => {
    const port = await startHttp(t, echo)
    const backend_id = config.create(StaticBackend, { address: `127.0.0.1:${port}` })
    config.update(routeId, { backend: { backend_id } })
    await config.waitUntilApplied()
    return (await sendRequest({ headers })).text
  },

  'an upstream that speaks HTTP/2': async (t, { tunnels, port }, headers) => {
    const server = createHttp2Server()
    server.on('stream', (stream: ServerHttp2Stream, seen: IncomingHttpHeaders) => {
      stream.respond({ ':status': 200 })
      stream.end(JSON.stringify(seen))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const { port: upstream } = server.address() as AddressInfo
    tunnels.add(ENDPOINT, createLocalTunnel(upstream, { forwardsProto: 'http2' }))
    return (await sendHttp(port, { host: ENDPOINT, headers })).text
  },

  'an endpoint of an agent or SSH client': async (t, { tunnels, port }, headers) => {
    tunnels.add(ENDPOINT, createLocalTunnel(await startHttp(t, echo)))
    return (await sendHttp(port, { host: ENDPOINT, headers })).text
  },

  'an endpoint, to upgrade to WebSocket': async (t, { tunnels, port }, headers) => {
    tunnels.add(ENDPOINT, createLocalTunnel(await startHttp(t, echo)))
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const client = openRawClient(t, port).write(
      `GET / HTTP/1.1\r\nHost: ${ENDPOINT}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${lines.join('')}\r\n`,
    )
    return (await client.untilClosed()).text
  },
}

for (const [path, sendRequest] of Object.entries(paths)) {
  test(`fields that upstreams trust are never a client's own: ${path}`, async (t) => {
    const dependencies = { dial: createDial({ allow: ['127.0.0.0/8'] }) }
    const harness = await startHttpsEdge(t, echo, { dependencies })

    const seen = await sendRequest(t, harness, { ...forged, 'x-harmless': 'kept' })

    assert.ok(seen.includes('x-harmless'), seen)
    assert.ok(!seen.includes(FORGED), seen)
  })
}

test('request_headers can set such a field, on a route and on an endpoint', async (t) => {
  const { config, routeId, tunnels, port, sendRequest } = await startHttpsEdge(t)
  const add = { 'X-Real-IP': '${conn.client_ip}', 'True-Client-IP': '${conn.client_ip}' }
  config.update(routeId, { request_headers: { add } })
  await config.waitUntilApplied()
  const options = { requestHeaders: { add: Object.entries(add), remove: [] } }
  tunnels.add(ENDPOINT, createLocalTunnel(await startHttp(t, echo), { options }))

  const answers = [
    await sendRequest({ headers: forged }),
    await sendHttp(port, { host: ENDPOINT, headers: forged }),
  ]

  for (const { text: answer } of answers) {
    const { headers } = JSON.parse(answer) as { headers: Record<string, string> }
    assert.deepEqual([headers['x-real-ip'], headers['true-client-ip']], ['127.0.0.1', '127.0.0.1'])
  }
})

function toUpperCaseNames(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
}

function askHttp2(t: TestContext, { tlsPort, ca }: HttpsEdgeHarness, headers: Record<string, string>) {
  const session = connectHttp2(`https://${HOST}:${tlsPort}`, { ca, host: '127.0.0.1', servername: HOST })
  t.after(() => session.destroy())
  return text(session.request(headers))
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let result = ''
  for await (const chunk of stream) result += chunk
  return result
}
