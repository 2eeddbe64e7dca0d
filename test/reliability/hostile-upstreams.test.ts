import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type HostileResponse, hostileResponses } from '../../src/edge/testing/hostile-responses.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, readText, startHarness } from '../support/harness.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { residentMiB } from '../support/process-memory.ts'
import { openRawClient } from '../support/raw-client.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** The memory growth allowed for an agent, whatever its upstream sends; each flood sends more within a second. */
const MAX_GROWTH_MIB = 64
const HTTP1_CLIENTS = 4
const HEALTHY_HOST = 'well.adit.localhost'

/** Tunnel options that change how the agent processes traffic. */
const tunnels = {
  inspected: 'inspect: true',
  uninspected: 'inspect: false',
  rewritten: 'inspect: true, host_header: app.test',
} as const
const HTTP2 = 'upgraded'
const hostOf = (name: string) => `${name}.adit.localhost`

/** A captured exchange in the local API. */
interface Captured {
  readonly request: { readonly uri: string }
  readonly response: { readonly status_code: number } | null
}

/** Starts a server and an agent as processes; all tunnels but one share an upstream with a configurable response. */
async function startHostile(t: TestContext) {
  const harness = await startHarness(t)
  const upstream = { answer: (() => {}) as HostileResponse['respond'], connections: 0 }
  const port = await startTcp(t, (socket) => {
    upstream.connections++
    socket.once('close', () => upstream.connections--)
    socket.once('data', () => upstream.answer(socket))
    socket.on('data', () => {})
    socket.on('end', () => socket.end())
  })
  const healthyPort = await startHttp(t, (_request, response) => response.end('well'))
  const file = join(createTempDir(), 'adit.yml')
  const lines = [
    ...Object.entries(tunnels).map(
      ([name, options]) =>
        `  ${name}: {proto: http, schemes: [http], hostname: ${hostOf(name)}, addr: ${port}, ${options}}`,
    ),
    `  well: {proto: http, schemes: [http], hostname: ${HEALTHY_HOST}, addr: ${healthyPort}}`,
  ]
  const endpoint = `{name: ${HTTP2}, url: 'http://${hostOf(HTTP2)}', upstream: {url: ${port}, protocol: http2}}`
  await writeFile(file, `version: 3\nendpoints:\n  - ${endpoint}\ntunnels:\n${lines.join('\n')}\n`, {
    mode: 0o600,
  })
  const agent = harness.startAgent(['start', '--all', `--config=${file}`], {}, '127.0.0.1:0')
  await agent.until(({ stdout }) => stdout.split('Forwarding').length === Object.keys(tunnels).length + 3)
  const api = createClient(/http:\/\/127\.0\.0\.1:\d+/.exec(agent.stdout)?.[0] ?? '', undefined)
  // Another node learns of the tunnels a moment later, in the order of the file.
  await eventually(async () => (await readText(await harness.get(HEALTHY_HOST))) === 'well')
  return { harness, upstream, agent, api, pid: agent.child.pid! }
}

async function assertHealthyTunnel(harness: Harness): Promise<void> {
  assert.equal(await readText(await harness.get(HEALTHY_HOST)), 'well')
}

/** Sends requests that must end with 502 or a reset, each on its own connection, while another tunnel keeps working. */
async function sendRequests(t: TestContext, harness: Harness, name: string): Promise<void> {
  // Requests over HTTP/2 share a connection, and the hostile responses refer to its first stream only.
  const clients = Array.from({ length: name === HTTP2 ? 1 : HTTP1_CLIENTS }, () =>
    openRawClient(t, harness.httpPort).write(
      `POST / HTTP/1.1\r\nHost: ${hostOf(name)}:${harness.httpPort}\r\nContent-Length: 0\r\n\r\n`,
    ),
  )
  await assertHealthyTunnel(harness)
  for (const client of clients) {
    await client.until(({ closed, text }) => closed || text.includes('ERR_ADIT_'), 'an end')
    assert.ok(client.closed || /(^|\r\n\r\n)HTTP\/1\.1 502 /.test(client.text), client.text.slice(0, 300))
    client.socket.destroy()
  }
}

const listAnswers = (http2: boolean) =>
  Object.entries(hostileResponses).filter(([, response]) => (response.http2 === true) === http2)

test('an agent withstands every hostile upstream', async (t) => {
  const { harness, upstream, agent, api, pid } = await startHostile(t)
  const beforeMiB = await residentMiB(pid)
  /** Over all tests so far: what one of them leaves behind counts in the next. */
  const assertBoundedMemory = async (t: TestContext) => {
    const growthMiB = (await residentMiB(pid)) - beforeMiB
    t.diagnostic(`${growthMiB.toFixed(1)} MiB more`)
    assert.ok(growthMiB <= MAX_GROWTH_MIB, `the agent grew by ${growthMiB} MiB`)
  }

  for (const name of [...Object.keys(tunnels), HTTP2]) {
    await t.test(
      `no upstream response crashes an agent, exhausts its memory or blocks its other tunnels: ${name}`,
      async (t) => {
        for (const [title, { respond }] of listAnswers(name === HTTP2)) {
          upstream.answer = respond
          await sendRequests(t, harness, name)
          await eventually(() => upstream.connections === 0, `connections are discarded: ${title}`)
        }

        await assertBoundedMemory(t)
        assert.equal(agent.child.exitCode, null)
        await assertHealthyTunnel(harness)
      },
    )
  }

  for (const name of Object.keys(tunnels)) {
    await t.test(`bytes after the end of a response are discarded: ${name}`, async (t) => {
      const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      upstream.answer = (socket) => void socket.write(answer('ok') + answer('poison').repeat(1000))
      const client = openRawClient(t, harness.httpPort)
      await api('DELETE', '/api/requests/http')

      for (let count = 1; count <= 3; count++) {
        client.write(`GET /${count} HTTP/1.1\r\nHost: ${hostOf(name)}:${harness.httpPort}\r\n\r\n`)
        await client.until(({ text }) => text.split('\r\n\r\nok').length > count, 'an answer')
      }
      await eventually(() => upstream.connections === 0, 'connections are discarded')

      assert.doesNotMatch(client.text, /poison/)
      const { requests } = (await api('GET', `/api/requests/http?tunnel_name=${name}`)).body
      const captured = requests.map(
        ({ request, response }: Captured) => `${request.uri} ${response?.status_code}`,
      )
      assert.deepEqual(captured, name === 'uninspected' ? [] : ['/3 200', '/2 200', '/1 200'])
    })
  }

  await t.test('a replay ends, whatever the upstream responds', async (t) => {
    upstream.answer = (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')
    await readText(await harness.get(hostOf('inspected')))
    const { requests } = (await api('GET', '/api/requests/http?tunnel_name=inspected')).body
    const { id } = requests[0]

    for (const [title, { respond }] of listAnswers(false)) {
      for (const tunnel_name of Object.keys(tunnels)) {
        let contacted = false
        upstream.answer = (socket) => {
          contacted = true
          respond(socket)
        }
        const { status } = await api('POST', '/api/requests/http', { body: { id, tunnel_name } })
        assert.equal(status, 204)
        await eventually(() => contacted, 'the upstream is asked')
        await eventually(() => upstream.connections === 0, `the replay ends: ${tunnel_name}, ${title}`)
      }
    }

    await assertBoundedMemory(t)
    assert.equal((await api('GET', '/api/requests/http')).status, 200)
    await assertHealthyTunnel(harness)
  })

  await t.test('an HTTP/1 request cannot be replayed to a tunnel with an HTTP/2 upstream', async () => {
    upstream.answer = (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n')
    await readText(await harness.get(hostOf('inspected')))
    const { requests } = (await api('GET', '/api/requests/http?tunnel_name=inspected')).body

    const { status, body } = await api('POST', '/api/requests/http', {
      body: { id: requests[0].id, tunnel_name: HTTP2 },
    })

    assert.equal(status, 400, JSON.stringify(body))
    assert.match(JSON.stringify(body), /HTTP\/2/)
  })
})
