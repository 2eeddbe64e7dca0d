import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { listen, startHttp, startTcp } from '../../../test/support/local-server.ts'
import { sendHttp } from '../testing/client.ts'
import { startEdge } from '../testing/edge.ts'
import { POLICY_HOST, startPolicyEndpoint } from '../testing/policy-endpoint.ts'
import { openRawClient } from '../testing/raw-client.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import type { EndpointOptions } from '../tunnels.ts'

test('a policy of a TCP endpoint admits and refuses connections', async (t) => {
  let connections = 0
  const upstream = await startTcp(t, (socket) => {
    connections++
    socket.end('hello')
  })
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels)
  const bindPolicy = async (policy: object) => {
    const port = await edge.ports.acquire()
    const options = { trafficPolicy: JSON.stringify({ on_tcp_connect: [policy] }) }
    tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options }))
    return port
  }
  const open = await bindPolicy({
    expressions: ["conn.client_ip == '10.0.0.1'"],
    actions: [{ type: 'close-connection' }],
  })
  const ports = [
    await bindPolicy({ actions: [{ type: 'deny' }] }),
    await bindPolicy({ actions: [{ type: 'close-connection' }] }),
    await bindPolicy({ actions: [{ type: 'restrict-ips', config: { allow: ['10.0.0.0/8'] } }] }),
    await bindPolicy({
      actions: [
        { type: 'set-vars', config: { vars: [{ a: '${conn.client_ip.startsWith("127.")}' }] } },
        { type: 'deny' },
      ],
    }),
  ]

  const admitted = await openRawClient(t, open).untilClosed()
  const refused: string[] = []
  for (const port of ports) refused.push((await openRawClient(t, port).untilClosed()).text)

  assert.deepEqual([admitted.text, refused, connections], ['hello', ['', '', '', ''], 1])
})

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const upgradeRequest = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${POLICY_HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`

test('a policy acts on WebSocket upgrades: headers, refusals and replaced responses', async (t) => {
  let requestedHeader: string | undefined
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    requestedHeader = request.headers['x-added'] as string
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\nbytes`,
    )
  })
  const upstream = await listen(t, server)
  const trafficPolicy = JSON.stringify({
    on_http_request: [
      { expressions: ["req.url.path == '/denied'"], actions: [{ type: 'deny' }] },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-added': 'yes' } } }] },
    ],
    on_http_response: [
      {
        expressions: ["req.url.path == '/replaced'", 'res.status_code == 101'],
        actions: [{ type: 'custom-response', config: { status_code: 410, body: 'not here' } }],
      },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-res': '${res.status_code}' } } }] },
    ],
  })
  const tunnel = createLocalTunnel(upstream, { options: { trafficPolicy } })
  const { port } = await startEdge(t, new TestTunnels().add(POLICY_HOST, tunnel))

  const denied = openRawClient(t, port).write(upgradeRequest('/denied'))
  const replaced = openRawClient(t, port).write(upgradeRequest('/replaced'))
  const accepted = openRawClient(t, port).write(upgradeRequest('/ws'))
  await Promise.all([denied.untilText('403'), replaced.untilText('not here'), accepted.untilText('bytes')])

  assert.match(denied.text, /^HTTP\/1\.1 403 /)
  assert.match(replaced.text, /^HTTP\/1\.1 410 Gone\r\n/)
  assert.doesNotMatch(replaced.text, /bytes|x-res/)
  assert.match(accepted.text, /^HTTP\/1\.1 101 [\s\S]*x-res: 101\r\n/)
  assert.equal(requestedHeader, 'yes')
})

test('a replaced response does not wait for a body that never ends', async (t) => {
  let upstreamClosed: Promise<unknown> | undefined
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_response: [{actions: [{type: custom-response, config: {body: short}}]}]',
    {
      listener: (_request, response) => {
        upstreamClosed = once(response, 'close')
        response.write('the first of many')
      },
    },
  )

  const response = await ask()
  await upstreamClosed

  assert.equal(response.text, 'short')
})

test('a policy that is replaced while the tunnel is online applies to the next request', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('upstream'))
  const tunnel = createLocalTunnel(upstream) as { options: EndpointOptions } & ReturnType<
    typeof createLocalTunnel
  >
  const { port } = await startEdge(t, new TestTunnels().add(POLICY_HOST, tunnel))
  const ask = async () => (await sendHttp(port, { host: POLICY_HOST })).status

  const before = await ask()
  tunnel.options = { proxyProto: 0, trafficPolicy: 'on_http_request: [{actions: [{type: deny}]}]' }
  const denied = await ask()
  tunnel.options = { proxyProto: 0 }
  const after = await ask()

  assert.deepEqual([before, denied, after], [200, 403, 200])
})

test('an expression that fails does not match, and a text that fails denies', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({
      on_http_request: [
        { expressions: ["req.headers['none'][0] == 'x'"], actions: [{ type: 'deny' }] },
        {
          expressions: ["req.url.path == '/text'"],
          actions: [{ type: 'add-headers', config: { headers: { a: "${req.headers['none'][0]}" } } }],
        },
        {
          expressions: ["req.url.path == '/header'"],
          actions: [{ type: 'add-headers', config: { headers: { a: "${'x\\r\\ny: z'}" } } }],
        },
        {
          expressions: [
            "req.url.path == '/costly' && lists.range(300).all(a, lists.range(300).all(b, a + b >= 0))",
          ],
          actions: [{ type: 'log', config: { metadata: { a: 'b' } } }],
        },
      ],
      on_http_response: [
        {
          expressions: ["req.url.path == '/response'"],
          actions: [{ type: 'add-headers', config: { headers: { a: '${res.location}' } } }],
        },
      ],
    }),
  )

  const responses = await Promise.all(
    ['/', '/text', '/header', '/costly', '/response'].map((path) => ask({ path })),
  )

  assert.deepEqual(
    responses.map(({ status, headers }) => [status, headers['adit-error-code']]),
    [[200, undefined], ...Array(4).fill([500, 'ERR_ADIT_2300'])],
  )
})

test('a policy that refers to a missing IP policy denies all traffic', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_request: [{actions: [{type: restrict-ips, config: {ip_policies: [ipp_none]}}]}]',
  )

  const { status, headers } = await ask()

  assert.deepEqual([status, headers['adit-error-code']], [503, 'ERR_ADIT_3212'])
})

test('redirects of an upstream with another host lead back to the endpoint', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_request: [{actions: [{type: add-headers, config: {headers: {host: inside.test}}}]}]',
    {
      listener: (request, response) => {
        response.writeHead(302, { location: `http://${request.headers.host}/next?a=1` })
        response.end()
      },
    },
  )

  const { headers } = await ask()

  assert.equal(headers.location, `https://${POLICY_HOST}/next?a=1`)
})
