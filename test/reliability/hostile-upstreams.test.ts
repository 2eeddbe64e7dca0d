import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startService } from '../../src/agent/forward/testing.ts'
import { type HostileAnswer, hostileAnswers } from '../../src/edge/testing/hostile-answers.ts'
import { rawClient } from '../../src/edge/testing/raw-client.ts'
import { createClient, tempDir } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { residentMiB } from '../support/process-memory.ts'
import { startLocal, startWorld, textOf, type World } from './harness.ts'

/** What an agent may grow by, whatever its upstream sends; each flood sends more than that within a second. */
const MAX_GROWTH_MIB = 64
const HTTP1_CLIENTS = 4
const WELL = 'well.adit.localhost'
const DEADLINE_MS = 20_000

/** How the agent treats what passes through a tunnel. */
const tunnels = {
  inspected: 'inspect: true',
  uninspected: 'inspect: false',
  rewritten: 'inspect: true, host_header: app.test',
} as const
const HTTP2 = 'upgraded'
const hostOf = (name: string) => `${name}.adit.localhost`

/** A captured exchange, as the local API shows it. */
interface Captured {
  readonly request: { readonly uri: string }
  readonly response: { readonly status_code: number } | null
}

/** A server and an agent as processes, and an upstream of all of its tunnels but one that answers as it is told. */
async function startHostile(t: TestContext) {
  const world = await startWorld(t)
  const upstream = { answer: (() => {}) as HostileAnswer['answer'], connections: 0 }
  const port = await startService(t, (socket) => {
    upstream.connections++
    socket.once('close', () => upstream.connections--)
    socket.once('data', () => upstream.answer(socket))
    socket.on('data', () => {})
    socket.on('end', () => socket.end())
  })
  const well = await startLocal(t, (_request, response) => response.end('well'))
  const file = join(await tempDir(t), 'adit.yml')
  const lines = [
    ...Object.entries(tunnels).map(
      ([name, options]) =>
        `  ${name}: {proto: http, schemes: [http], hostname: ${hostOf(name)}, addr: ${port}, ${options}}`,
    ),
    `  well: {proto: http, schemes: [http], hostname: ${WELL}, addr: ${well}}`,
  ]
  const endpoint = `{name: ${HTTP2}, url: 'http://${hostOf(HTTP2)}', upstream: {url: ${port}, protocol: http2}}`
  await writeFile(file, `version: 3\nendpoints:\n  - ${endpoint}\ntunnels:\n${lines.join('\n')}\n`, {
    mode: 0o600,
  })
  const agent = world.startAgent(['start', '--all', `--config=${file}`], {}, '127.0.0.1:0')
  await agent.until(({ stdout }) => stdout.split('Forwarding').length === Object.keys(tunnels).length + 3)
  const api = createClient(/http:\/\/127\.0\.0\.1:\d+/.exec(agent.stdout)?.[0] ?? '', undefined)
  await wellAnswers(world)
  return { world, upstream, agent, api, pid: agent.child.pid! }
}

async function wellAnswers(world: World): Promise<void> {
  assert.equal(await textOf(await world.ask(WELL)), 'well')
}

/** Requests that end with 502 or a reset, each on a connection of its own, while another tunnel goes on. */
async function ask(t: TestContext, world: World, name: string): Promise<void> {
  // Requests over HTTP/2 share a connection, of which the answers name the first stream alone.
  const clients = Array.from({ length: name === HTTP2 ? 1 : HTTP1_CLIENTS }, () =>
    rawClient(t, world.httpPort).write(
      `POST / HTTP/1.1\r\nHost: ${hostOf(name)}:${world.httpPort}\r\nContent-Length: 0\r\n\r\n`,
    ),
  )
  await wellAnswers(world)
  for (const client of clients) {
    await client.until(({ closed, text }) => closed || text.includes('ERR_ADIT_'), 'an end')
    assert.ok(client.closed || /(^|\r\n\r\n)HTTP\/1\.1 502 /.test(client.text), client.text.slice(0, 300))
    client.socket.destroy()
  }
}

const answersFor = (http2: boolean) =>
  Object.entries(hostileAnswers).filter(([, answer]) => (answer.http2 === true) === http2)

for (const name of [...Object.keys(tunnels), HTTP2]) {
  test(`no answer of an upstream ends or fills an agent, or holds up its other tunnels: ${name}`, async (t) => {
    const { world, upstream, agent, pid } = await startHostile(t)
    const before = await residentMiB(pid)

    for (const [what, { answer }] of answersFor(name === HTTP2)) {
      upstream.answer = answer
      await ask(t, world, name)
      await eventually(() => upstream.connections === 0, `connections are discarded: ${what}`, DEADLINE_MS)
    }

    const grown = (await residentMiB(pid)) - before
    t.diagnostic(`${grown.toFixed(1)} MiB more`)
    assert.ok(grown <= MAX_GROWTH_MIB, `the agent grew by ${grown} MiB`)
    assert.equal(agent.child.exitCode, null)
    await wellAnswers(world)
  })
}

for (const name of Object.keys(tunnels)) {
  test(`bytes after the end of an answer are nobody's answer: ${name}`, async (t) => {
    const { world, upstream, api } = await startHostile(t)
    const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    upstream.answer = (socket) => void socket.write(answer('ok') + answer('poison').repeat(1000))
    const client = rawClient(t, world.httpPort)

    for (let count = 1; count <= 3; count++) {
      client.write(`GET /${count} HTTP/1.1\r\nHost: ${hostOf(name)}:${world.httpPort}\r\n\r\n`)
      await client.until(({ text }) => text.split('\r\n\r\nok').length > count, 'an answer')
    }
    await eventually(() => upstream.connections === 0, 'connections are discarded', DEADLINE_MS)

    assert.doesNotMatch(client.text, /poison/)
    const { requests } = (await api('GET', `/api/requests/http?tunnel_name=${name}`)).body
    const captured = requests.map(
      ({ request, response }: Captured) => `${request.uri} ${response?.status_code}`,
    )
    assert.deepEqual(captured, name === 'uninspected' ? [] : ['/3 200', '/2 200', '/1 200'])
  })
}

test('a replay of a request ends, whatever the upstream answers', async (t) => {
  const { world, upstream, api, pid } = await startHostile(t)
  upstream.answer = (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')
  await textOf(await world.ask(hostOf('inspected')))
  const { requests } = (await api('GET', '/api/requests/http?tunnel_name=inspected')).body
  const { id } = requests[0]
  const before = await residentMiB(pid)

  for (const [what, { answer }] of answersFor(false)) {
    for (const tunnel_name of Object.keys(tunnels)) {
      let asked = false
      upstream.answer = (socket) => {
        asked = true
        answer(socket)
      }
      const { status } = await api('POST', '/api/requests/http', { body: { id, tunnel_name } })
      assert.equal(status, 204)
      await eventually(() => asked, 'the upstream is asked', DEADLINE_MS)
      await eventually(
        () => upstream.connections === 0,
        `the replay ends: ${tunnel_name}, ${what}`,
        DEADLINE_MS,
      )
    }
  }

  const grown = (await residentMiB(pid)) - before
  t.diagnostic(`${grown.toFixed(1)} MiB more`)
  assert.ok(grown <= MAX_GROWTH_MIB, `the agent grew by ${grown} MiB`)
  assert.equal((await api('GET', '/api/requests/http')).status, 200)
  await wellAnswers(world)
})

test('a tunnel whose upstream speaks HTTP/2 is sent no replay of an HTTP/1 request', async (t) => {
  const { world, upstream, api } = await startHostile(t)
  upstream.answer = (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')
  await textOf(await world.ask(hostOf('inspected')))
  const { requests } = (await api('GET', '/api/requests/http?tunnel_name=inspected')).body

  const { status, body } = await api('POST', '/api/requests/http', {
    body: { id: requests[0].id, tunnel_name: HTTP2 },
  })

  assert.equal(status, 400, JSON.stringify(body))
  assert.match(JSON.stringify(body), /HTTP\/2/)
})
