import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { protocolError } from '../../protocol/index.ts'
import { type Container, ContainerEngine } from '../docker/engine.ts'
import { ContainerFollower } from '../docker/follower.ts'
import { startAgent } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'
import { dockerCommand, specsOfLabels } from './docker.ts'

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

/** The word by which each engine filters the ends of containers; both report `die`. */
const END_FILTERS = { Docker: 'die', Podman: 'died' }

/** A socket that answers as the API of a container engine does. */
async function startEngine(t: TestContext, product: keyof typeof END_FILTERS) {
  const path = join(createTempDir(), 'engine.sock')
  const containers = new Map<string, { labels: Record<string, string>; address: string }>()
  const followers = new Map<ServerResponse, readonly string[]>()
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/containers/json')
      return response.end(
        JSON.stringify(
          [...containers].map(([name, { labels, address }]) => ({
            Id: name.padEnd(64, '0'),
            Names: [`/${name}`],
            State: 'running',
            Labels: labels,
            NetworkSettings: { Networks: { bridge: { IPAddress: address } } },
          })),
        ),
      )
    const filters = new URL(request.url ?? '', 'http://engine').searchParams.get('filters')
    if (filters === null) return response.writeHead(404).end('{}')
    response.flushHeaders()
    followers.set(response, JSON.parse(filters).event)
    response.on('close', () => followers.delete(response))
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const disconnect = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(path)
  await once(server, 'listening')
  t.after(() => {
    disconnect()
    server.close()
  })
  const emit = (Action: string, name: string, filter = Action) => {
    for (const [follower, filters] of followers)
      if (filters.includes(filter))
        follower.write(`${JSON.stringify({ Type: 'container', Action, Actor: { ID: name } })}\n`)
  }
  return {
    host: `unix://${path}`,
    followers,
    containers,
    disconnect,
    start(name: string, labels: Record<string, string>, address = '127.0.0.1') {
      containers.set(name, { labels, address })
      emit('start', name)
    },
    stop(name: string) {
      containers.delete(name)
      emit('die', name, END_FILTERS[product])
    },
  }
}

async function follow(t: TestContext, product: keyof typeof END_FILTERS = 'Docker') {
  const gateway = await TestGateway.start(t)
  const engine = await startEngine(t, product)
  const { agent, lines } = startAgent(t, gateway)
  const notices: string[] = []
  const follower = new ContainerFollower({
    engine: new ContainerEngine(engine.host),
    tunnels: agent.tunnels,
    specsOf: specsOfLabels,
    notice: (text) => notices.push(text),
    log: agent.log,
  })
  t.after(() => follower.close())
  void follower.run()
  await eventually(() => engine.followers.size > 0)
  return { gateway, engine, lines, notices, tunnels: agent.tunnels }
}

for (const product of ['Docker', 'Podman'] as const)
  test(`a container of ${product} with a label is reachable while it runs`, async (t) => {
    const { gateway, engine, tunnels } = await follow(t, product)
    const port = await startHttp(t, (_, response) => response.end('from the container'))

    engine.start('web', { 'adit.http': String(port), 'com.example.other': 'x' })
    const tunnel = await eventually(() => tunnels.get('web'))
    assert.match(await gateway.request(tunnel.publicUrl, GET), /from the container$/)

    engine.stop('web')
    await eventually(() => tunnels.list().length === 0)
  })

test('a container that comes back with other labels gets another endpoint, others stay', async (t) => {
  const { engine, tunnels } = await follow(t)
  engine.start('one', { 'adit.tcp': '22' })
  engine.start('two', { 'adit.http': '80', 'adit.metadata': 'before' })
  const [one, before] = await eventually(() => {
    const both = [tunnels.get('one'), tunnels.get('two')]
    return both.every((each) => each !== undefined) && both
  })

  engine.start('two', { 'adit.http': '80', 'adit.metadata': 'after' })
  await eventually(() => tunnels.get('two') !== undefined && tunnels.get('two') !== before)
  assert.equal(tunnels.get('one'), one)
})

test('changes that happen while the engine is away are noticed when it is back', async (t) => {
  const { engine, tunnels } = await follow(t)
  engine.start('gone', { 'adit.http': '80' })
  engine.start('kept', { 'adit.http': '81' })
  const kept = await eventually(() => tunnels.get('gone') && tunnels.get('kept'))

  engine.disconnect()
  engine.containers.delete('gone')
  engine.containers.set('new', { labels: { 'adit.tcp': '5432' }, address: '127.0.0.1' })
  await eventually(() => tunnels.get('new') !== undefined && tunnels.get('gone') === undefined)
  assert.equal(tunnels.get('kept'), kept)
})

test('unusable labels of one container are logged and told once, and do not affect others', async (t) => {
  const { engine, tunnels, lines, notices } = await follow(t)
  engine.start('wrong', { 'adit.http': '80', 'adit.basic-aut': 'a:b' })
  engine.start('right', { 'adit.http': '80' })
  await eventually(() => tunnels.get('right'))
  assert.equal(tunnels.get('wrong'), undefined)
  assert.match(
    lines.join(''),
    /container=wrong err="there is no label adit\.basic-aut; did you mean adit\.basic-auth\?"/,
  )
  assert.deepEqual(notices, [
    'The labels of the container wrong cannot be used: there is no label adit.basic-aut; did you mean adit.basic-auth?',
  ])
})

test('that the server rejects the endpoint of a container is told once, and again after it came back', async (t) => {
  const { gateway, engine, notices, tunnels } = await follow(t)
  const rejection = protocolError('options_invalid', 'not this one.')

  gateway.bindError = rejection
  engine.start('web', { 'adit.http': '80' })
  await eventually(() => notices.length > 0)
  engine.stop('web')
  gateway.bindError = undefined
  engine.start('other', { 'adit.http': '81' })
  await eventually(() => tunnels.get('other'))
  gateway.bindError = rejection
  engine.start('web', { 'adit.http': '80' })
  await eventually(() => notices.length > 1)

  assert.match(notices[0]!, /^The endpoint of the container web cannot be opened: .*not this one\.$/)
  assert.deepEqual(notices, [notices[0], notices[0]])
})

test('labels become the definition of a tunnel', () => {
  const container = (labels: Record<string, string>, address?: string): Container => ({
    id: 'id',
    name: 'web',
    labels,
    address,
  })
  const [spec] = specsOfLabels(
    container(
      { 'adit.http': '3000', 'adit.domain': 'app.example.com', 'adit.basic-auth': 'ada:long-password' },
      '172.17.0.2',
    ),
  )
  assert.equal(spec!.upstream.text, 'http://172.17.0.2:3000')
  assert.equal(spec!.binds[0]!.opts.Domain ?? spec!.binds[0]!.opts.Hostname, 'app.example.com')
  assert.match(JSON.stringify(spec), /ada/)
  const several = specsOfLabels(container({ 'adit.http': '80', 'adit.tcp': 'db.internal:5432' }))
  assert.deepEqual(
    several.map(({ name, upstream }) => [name, upstream.text]),
    [
      ['web-http', 'http://127.0.0.1:80'],
      ['web-tcp', 'db.internal:5432'],
    ],
  )
  const policy = 'on_http_request:\n  - actions:\n      - type: deny\n'
  assert.match(JSON.stringify(specsOfLabels(container({ 'adit.http': '80', 'adit.policy': policy }))), /deny/)
  assert.deepEqual(specsOfLabels(container({ 'com.example': '80' })), [])
  assert.throws(() => specsOfLabels(container({ 'adit.http': 'no port' })))
  assert.throws(() => specsOfLabels(container({ 'adit.htp': '80' })), /did you mean adit\.http\?/)
  assert.throws(
    () => specsOfLabels(container({ 'adit.url': 'https://a.test' })),
    /adit\.url also needs one of adit\.http, adit\.tcp, adit\.tls/,
  )
})

test('an engine that is not there is named together with the next step', async () => {
  const missing = `unix://${join(createTempDir(), 'none.sock')}`
  await assert.rejects(
    dockerCommand({ 'docker-host': missing }, {}),
    /cannot be reached: there is no such socket\.[\s\S]*--docker-host/,
  )
  await assert.rejects(
    dockerCommand({}, { DOCKER_HOST: 'ssh://host' }),
    /is not the address of a container engine/,
  )
})
