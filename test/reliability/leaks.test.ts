import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { listen } from '../support/local-server.ts'

const NAME = 'leaky.adit.localhost'
const CLIENTS_PER_STAGE = 20
/** Normal fluctuation in the number of open descriptors. */
const DESCRIPTOR_SLACK = 5

/** Opens a client connection and brings it to a stage, at which the test then closes it. */
type Stage = (harness: Harness) => Promise<Socket>

const openPlain =
  (text: string, until?: 'data'): Stage =>
  async ({ httpPort }) => {
    const socket = connect(httpPort, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(text.replace('HOST', `${NAME}:${httpPort}`))
    if (until !== undefined) await once(socket, until)
    return socket
  }

const openTls =
  (text: string, until?: 'data'): Stage =>
  async ({ credentials }) => {
    const port = Number(new URL(credentials.https_url).port)
    const ca = readFileSync(credentials.ca_file)
    const socket = connectTls({ port, host: '127.0.0.1', servername: NAME, ca })
    await once(socket, 'secureConnect')
    socket.write(text.replace('HOST', `${NAME}:${port}`))
    if (until !== undefined) await once(socket, until)
    return socket
  }

const openHttp2 =
  (path: string): Stage =>
  async ({ credentials }) => {
    const ca = readFileSync(credentials.ca_file)
    const { port } = new URL(credentials.https_url)
    const socket = connectTls({
      ...{ port: Number(port), host: '127.0.0.1', servername: NAME, ca },
      ALPNProtocols: ['h2'],
    })
    const session = connectHttp2(`https://${NAME}:${port}`, { createConnection: () => socket })
    session.on('error', () => {})
    const stream = session.request({ ':path': path })
    stream.on('error', () => {})
    await once(session, 'remoteSettings')
    return socket
  }

const WEBSOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
].join('\r\n')

const stages: Record<string, Stage> = {
  'after connecting': openPlain(''),
  'during a request head': openPlain('GET / HTTP/1.1\r\nHos'),
  'while waiting for a response': openPlain('GET /never HTTP/1.1\r\nHost: HOST\r\n\r\n'),
  'during a request body': openPlain('POST /never HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100\r\n\r\nhalf'),
  'during a response': openPlain('GET /begun HTTP/1.1\r\nHost: HOST\r\n\r\n', 'data'),
  'between two requests': openPlain('GET / HTTP/1.1\r\nHost: HOST\r\n\r\n', 'data'),
  'before a WebSocket is accepted': openPlain(`GET /later HTTP/1.1\r\nHost: HOST\r\n${WEBSOCKET}\r\n\r\n`),
  'during a WebSocket': openPlain(`GET /agreed HTTP/1.1\r\nHost: HOST\r\n${WEBSOCKET}\r\n\r\n`, 'data'),
  'during a ClientHello': async ({ credentials }) => {
    const socket = connect(Number(new URL(credentials.https_url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0]))
    return socket
  },
  'after the handshake': openTls(''),
  'while waiting for a response over TLS': openTls('GET /never HTTP/1.1\r\nHost: HOST\r\n\r\n'),
  'during a response over TLS': openTls('GET /begun HTTP/1.1\r\nHost: HOST\r\n\r\n', 'data'),
  'while waiting on HTTP/2': openHttp2('/never'),
  'during a response on HTTP/2': openHttp2('/begun'),
}

/** The ways a client closes its connection. */
const closers: Record<string, (client: Socket) => void> = {
  quietly: (client) => client.end(),
  abruptly: (client) => (client instanceof TLSSocket ? client.destroy() : client.resetAndDestroy()),
}

/** Starts a service that answers some requests, stalls others, and accepts WebSockets immediately or late. */
async function startService(t: TestContext): Promise<number> {
  const server = createServer((request, response) => {
    // Keep-alive connections to the service would look like a leak.
    if (request.url === '/') response.setHeader('Connection', 'close').end('here')
    if (request.url === '/begun') response.write('first half')
  })
  server.on('upgrade', (request, socket) => {
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    const key = request.headers['sec-websocket-key']
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    const switchingResponse = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
    setTimeout(() => socket.write(switchingResponse), request.url === '/later' ? 200 : 0)
  })
  return listen(t, server)
}

test('clients that disconnect at any stage leak no descriptor in the server or the agent', async (t) => {
  const harness = await startHarness(t)
  const port = await startService(t)
  const agent = harness.startAgent(['http', String(port), `--url=${NAME}`, '--scheme=http', '--scheme=https'])
  await agent.until(({ stdout }) => stdout.split('Forwarding').length > 2)
  const countDescriptors = () =>
    [harness.server, agent].map(({ child }) => readdirSync(`/proc/${child.pid}/fd`).length)
  const baseline = countDescriptors()

  for (const [manner, close] of Object.entries(closers)) {
    for (const [title, stage] of Object.entries(stages)) {
      const clients = await Promise.all(Array.from({ length: CLIENTS_PER_STAGE }, () => stage(harness)))
      for (const client of clients) {
        client.on('error', () => {})
        close(client)
      }
      const isReleased = async () =>
        countDescriptors().every((count, index) => count <= baseline[index]! + DESCRIPTOR_SLACK)
      await eventually(
        isReleased,
        `descriptors are released after clients leave ${manner} ${title}`,
        30_000,
      ).catch((error) => {
        assert.fail(`${error.message}; descriptors were ${baseline} and are ${countDescriptors()}`)
      })
    }
  }
})
