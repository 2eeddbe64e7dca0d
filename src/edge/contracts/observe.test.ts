import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { TestObserver } from '../testing/observer.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

test('a finished request is reported with its details to an observer of its account', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(201, { 'X-Made': 'yes' }).end('created'))
  })
  const observe = new TestObserver('ac_test')
  const tunnel = createLocalTunnel(upstream)
  const foreign = createLocalTunnel(upstream, { accountId: 'ac_other' })
  const tunnels = new TestTunnels().add(HOST, tunnel).add('other.example', foreign)
  const { port } = await startEdge(t, tunnels, {}, { observe })
  const ask = (host: string) =>
    `POST /a?b=c HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: me\r\nContent-Length: 5\r\n\r\nhello`

  const client = await openRawClient(t, port).write(ask(HOST)).untilText('created')
  client.write(ask(HOST))
  await openRawClient(t, port).write(ask('other.example')).untilText('created')
  await eventually(() => observe.requests.length === 2, 'both are reported')

  const [first, second] = observe.requests
  assert.ok(first && second)
  assert.deepEqual([first.hostId, first.tunnelId], [tunnel.id, tunnel.id])
  assert.deepEqual([first.method, first.host, first.target, first.status], ['POST', HOST, '/a?b=c', 201])
  assert.deepEqual([first.requestBodyLength, first.responseBodyLength], [5, 7])
  assert.match(first.requestFields, /User-Agent: me\r\n/)
  assert.match(first.responseFields, /X-Made: yes\r\n/)
  assert.equal(first.connection.remoteAddress, '127.0.0.1')
  assert.deepEqual([first.connectionReused, second.connectionReused], [false, true])
  assert.deepEqual([first.complete, first.errorCode], [true, undefined])
})

test('a rejected request and an incomplete response are reported as such', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', (head: Buffer) => {
      if (head.includes('/half')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
      else socket.destroy()
    })
  })
  const observe = new TestObserver('ac_test')
  const { port } = await startEdge(
    t,
    new TestTunnels().add(HOST, createLocalTunnel(upstream)),
    {},
    { observe },
  )

  await openRawClient(t, port).write(`GET /none HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).untilText('ERR_ADIT_8016')
  await openRawClient(t, port)
    .write(`GET /half HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    .until(({ closed }) => closed)
  await eventually(() => observe.requests.length === 2, 'both are reported')

  assert.deepEqual(
    observe.requests.map((event) => [event.status, event.errorCode, event.complete]),
    [
      [502, 'ERR_ADIT_8016', true],
      [200, 'ERR_ADIT_8016', false],
    ],
  )
})

test('the event of a TCP connection names the decision of its IP restriction, if any', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.resume().end('hello'))
  const observe = new TestObserver('ac_test')
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels, {}, { observe })
  const restrictions = [undefined, '127.0.0.0/8', '10.0.0.0/8']

  for (const [index, cidr] of restrictions.entries()) {
    const port = await edge.ports.acquire()
    const options = cidr === undefined ? {} : { ipRestriction: { allow: [cidr], deny: [] } }
    tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options }))
    const client = await openRawClient(t, port).untilClosed()
    client.socket.end()
    await eventually(() => observe.connections.length === index + 1, 'the connection is reported')
  }

  assert.deepEqual(
    observe.connections.map(({ annotations }) => annotations),
    [{}, { 'ip_policy.decision': 'allow' }, { 'ip_policy.decision': 'block' }],
  )
})

test('the event of a request names the decision of its endpoint’s IP restriction', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('hello'))
  const observe = new TestObserver('ac_test')
  const ipRestriction = { allow: ['127.0.0.0/8'], deny: [] }
  const tunnels = new TestTunnels()
    .add(HOST, createLocalTunnel(upstream, { options: { ipRestriction } }))
    .add('open.adit.localhost', createLocalTunnel(upstream))
  const { port } = await startEdge(t, tunnels, {}, { observe })

  for (const host of [HOST, 'open.adit.localhost'])
    await openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).untilText('hello')
  await eventually(() => observe.requests.length === 2, 'both are reported')

  assert.deepEqual(
    observe.requests.map(({ annotations }) => annotations['ip_policy.decision']),
    ['allow', undefined],
  )
})
