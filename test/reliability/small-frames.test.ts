import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { MuxSession, StreamType, typeBytes } from '../../src/protocol/index.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { residentMiB } from '../support/process-memory.ts'

/** The memory growth allowed for a server; a list of chunks takes between 110 and 230 MiB. */
const MAX_GROWTH_MIB = 80
const HOST = 'hook.adit.localhost'
const KIB = 1024

test('a server withstands single bytes', async (t) => {
  const harness = await startHarness(t)

  await t.test('single-byte frames of an authenticated agent do not exhaust server memory', async (t) => {
    const session = await openAgentSession(t, harness)
    await authenticate(session, harness.credentials.authtoken)

    const growthMiB = await measureGrowth(harness, () => floodStreams(session, 16, 128 * KIB))

    t.diagnostic(`${growthMiB.toFixed(1)} MiB more for 2 MiB`)
    assert.ok(growthMiB <= MAX_GROWTH_MIB, `the server grew by ${growthMiB} MiB`)
  })

  await t.test(
    'single-byte frames of an unauthenticated client on the agent port do not exhaust server memory',
    async (t) => {
      const session = await openAgentSession(t, harness)

      const growthMiB = await measureGrowth(harness, () => floodStreams(session, 8, 240 * KIB))

      t.diagnostic(`${growthMiB.toFixed(1)} MiB more for 2 MiB`)
      assert.ok(growthMiB <= MAX_GROWTH_MIB, `the server grew by ${growthMiB} MiB`)
    },
  )

  await t.test('single-byte DATA frames of a buffered body do not exhaust server memory', async (t) => {
    const port = await startHttp(t, (_request, response) => response.end())
    const verification = ['--verify-webhook=github', '--verify-webhook-secret=secret']
    const agent = harness.startAgent(['http', String(port), `--url=https://${HOST}`, ...verification])
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    const socket = await secureSocket(t, harness.credentials.https_url, HOST, harness, ['h2'])
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), http2Frame(4, 0, 0)]))

    const growthMiB = await measureGrowth(harness, async () => {
      for (let id = 1; id < 20 * 2; id += 2) {
        await writeAndDrain(socket, http2Frame(1, 4, id, postHead(HOST, '/')))
        const byte = http2Frame(0, 0, id, Buffer.from('x'))
        await writeAndDrain(socket, Buffer.concat(new Array<Buffer>(64_000).fill(byte)))
      }
    })

    t.diagnostic(`${growthMiB.toFixed(1)} MiB more for 1.2 MiB`)
    assert.ok(growthMiB <= MAX_GROWTH_MIB, `the server grew by ${growthMiB} MiB`)
  })

  await t.test('single-byte chunks to the API do not exhaust server memory', async (t) => {
    const { host, port } = addressOf(harness.credentials.api_url)
    const chunks = Buffer.from('1\r\nx\r\n'.repeat(16 * KIB))

    const growthMiB = await measureGrowth(harness, async () => {
      for (let count = 0; count < 4; count++) {
        const socket = connect(port, host)
        socket.on('error', () => {}).resume()
        t.after(() => socket.destroy())
        const key = harness.credentials.api_key
        socket.write(
          `POST /api_keys HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer ${key}\r\nService-Version: 2\r\n` +
            'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        )
        for (let index = 0; index < 24; index++) await writeAndDrain(socket, chunks)
      }
    })

    t.diagnostic(`${growthMiB.toFixed(1)} MiB more for 1.5 MiB`)
    assert.ok(growthMiB <= MAX_GROWTH_MIB, `the server grew by ${growthMiB} MiB`)
  })
})

/** Returns the memory growth of the server after it has read all of the generated load. */
async function measureGrowth(harness: Harness, generateLoad: () => Promise<void>): Promise<number> {
  const pid = harness.server.child.pid!
  const beforeMiB = await residentMiB(pid)
  await generateLoad()
  await waitUntilIdle(pid)
  return (await residentMiB(pid)) - beforeMiB
}

/** Opens streams and sends an unfinished message on each in frames of one byte. */
async function floodStreams(session: MuxSession, streams: number, bytes: number): Promise<void> {
  const byte = Buffer.from('x')
  for (let count = 0; count < streams; count++) {
    const stream = session.open(Buffer.concat([typeBytes(StreamType.Bind), Buffer.from('{"x":"')]))
    for (let remaining = bytes; remaining > 0 && !stream.closed; remaining--) {
      if (!stream.write(byte)) await waitForDrain(stream)
    }
  }
}

function waitForDrain(stream: ReturnType<MuxSession['open']>): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => resolve()
    stream.sink = {
      onData: (chunk) => stream.consumed(chunk.length),
      onEnd: finish,
      onDrain: finish,
      onClose: finish,
    }
  })
}

async function openAgentSession(t: TestContext, harness: Harness): Promise<MuxSession> {
  const socket = await secureSocket(t, `https://${harness.credentials.agent_addr}`, 'localhost', harness)
  return new MuxSession(socket, { role: 'client', onStream: (stream) => stream.reset(), onClose() {} })
}

async function authenticate(session: MuxSession, Authtoken: string): Promise<void> {
  const message = { Version: ['3'], ClientId: '', Extra: { Authtoken, Version: '0.1.0' } }
  const stream = session.open(
    Buffer.concat([typeBytes(StreamType.Auth), Buffer.from(JSON.stringify(message))]),
  )
  const response = await new Promise<string>((resolve) => {
    stream.sink = { onData: (chunk) => resolve(chunk.toString()), onEnd() {}, onDrain() {}, onClose() {} }
  })
  assert.match(response, /"Error":""/)
}

async function secureSocket(
  t: TestContext,
  url: string,
  servername: string,
  harness: Harness,
  ALPNProtocols: string[] = [],
): Promise<TLSSocket> {
  const ca = await readFile(harness.credentials.ca_file)
  const socket = connectTls({ ...addressOf(url), servername, ca, ALPNProtocols })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.resume()
  return socket
}

function addressOf(url: string): { host: string; port: number } {
  return { host: '127.0.0.1', port: Number(new URL(url).port) }
}

async function writeAndDrain(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.write(bytes)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const finish = () => {
    socket.off('drain', finish).off('close', finish)
    resolve()
  }
  socket.on('drain', finish).on('close', finish)
  await promise
}

/** RFC 9113 section 4.1. */
function http2Frame(type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

/** Encodes the header block of a POST: two fields of the static table and two literals (RFC 7541). */
function postHead(authority: string, path: string): Buffer {
  const literal = (index: number, value: string) => Buffer.from([index, value.length, ...Buffer.from(value)])
  return Buffer.concat([Buffer.from([0x83, 0x87]), literal(0x01, authority), literal(0x04, path)])
}

/** Waits until a process has read almost nothing for half a second. */
async function waitUntilIdle(pid: number): Promise<void> {
  const countReadBytes = async () =>
    Number(/rchar: (\d+)/.exec(await readFile(`/proc/${pid}/io`, 'utf8'))![1])
  let lastBytes = await countReadBytes()
  let idleSince = performance.now()
  const isIdle = async () => {
    const bytes = await countReadBytes()
    if (bytes - lastBytes > 16 * KIB) {
      lastBytes = bytes
      idleSince = performance.now()
    }
    return performance.now() - idleSince > 500
  }
  await eventually(isIdle, 'the server has read everything')
}
