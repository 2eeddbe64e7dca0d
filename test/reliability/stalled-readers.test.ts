import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { residentMiB } from '../support/process-memory.ts'

const READERS = 200
const HOST = 'bulk.adit.localhost'
const MIB = 1024 * 1024
const NEIGHBOUR_BYTES = 32 * MIB
/**
 * The bytes offered to each reader: more than kernel buffers hold, so that it stalls, but not so much that
 * all readers together exhaust the kernel's TCP memory, which slows every connection of the machine.
 */
const OFFERED_BYTES = 5 * MIB
/** The limit of P16 for either side. */
const MAX_MIB = 64
/** The default of `inspect_db_size`, which captures may use in addition. */
const INSPECTED_MIB = 50

for (const { name, scheme, chunked, flags, inspected } of [
  {
    name: 'of a known length',
    scheme: 'http',
    chunked: false,
    flags: ['--inspect=false'],
    inspected: 0,
  },
  {
    name: 'in chunks, and inspected',
    scheme: 'http',
    chunked: true,
    flags: [],
    inspected: INSPECTED_MIB,
  },
  {
    name: 'over TLS',
    scheme: 'https',
    chunked: false,
    flags: ['--inspect=false'],
    inspected: 0,
  },
]) {
  test(`200 clients that never read use bounded memory, and a neighbour can still download: bodies ${name}`, async (t) => {
    const harness = await startHarness(t)
    const block = Buffer.alloc(256 * 1024, 'x')
    const port = await startHttp(t, (request, response) => {
      if (!chunked) response.setHeader('Content-Length', 2 ** 40)
      let remaining = request.url === '/neighbour' ? Number.POSITIVE_INFINITY : OFFERED_BYTES
      const offer = () => {
        remaining -= block.length
        if (remaining >= 0) response.write(block, (error) => error ?? offer())
      }
      offer()
    })
    const agent = harness.startAgent(['http', String(port), `--url=${scheme}://${HOST}`, ...flags])
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    const pids = { server: harness.server.child.pid!, agent: agent.child.pid! }
    // Warm up, so that the memory of transfers at full speed is not attributed to the readers.
    for (let round = 0; round < 3; round++)
      await Promise.all(Array.from({ length: 8 }, () => download(harness, scheme)))
    const readers = await Promise.all(
      Array.from({ length: READERS }, () => connectReader(t, harness, scheme)),
    )
    const before = { server: await residentMiB(pids.server), agent: await residentMiB(pids.agent) }

    for (const reader of readers) reader.write(requestHead(harness, '/'))
    // Until the kernel buffers of each reader are full, the readers are not stalled but share the link.
    await waitUntilIdle(pids.agent)
    for (const side of ['server', 'agent'] as const) {
      const growthMiB = (await residentMiB(pids[side])) - before[side]
      t.diagnostic(`${side}: ${before[side].toFixed(0)} MiB, and ${growthMiB.toFixed(1)} MiB more`)
      const limit = MAX_MIB + (side === 'agent' ? inspected : 0)
      assert.ok(growthMiB <= limit, `${side} grew by ${growthMiB} MiB`)
    }
    // A blocked neighbour would never finish.
    await download(harness, scheme)
    assert.ok(readers.every((reader) => !reader.destroyed))
  })
}

test('200 uploads that the local service never reads use bounded memory, and a neighbour can still download', async (t) => {
  const harness = await startHarness(t)
  const block = Buffer.alloc(256 * 1024, 'x')
  const port = await startHttp(t, (request, response) => {
    request.pause()
    if (request.url !== '/neighbour') return
    response.setHeader('Content-Length', 2 ** 40)
    const offer = () => void response.write(block, (error) => error ?? offer())
    offer()
  })
  const agent = harness.startAgent(['http', String(port), `--url=http://${HOST}`, '--inspect=false'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const pids = { server: harness.server.child.pid!, agent: agent.child.pid! }
  for (let round = 0; round < 3; round++)
    await Promise.all(Array.from({ length: 8 }, () => download(harness)))
  const before = { server: await residentMiB(pids.server), agent: await residentMiB(pids.agent) }

  const uploads = await Promise.all(Array.from({ length: READERS }, () => upload(t, harness, block)))
  await waitUntilIdle(pids.agent)
  for (const side of ['server', 'agent'] as const) {
    const growthMiB = (await residentMiB(pids[side])) - before[side]
    t.diagnostic(`${side}: ${before[side].toFixed(0)} MiB, and ${growthMiB.toFixed(1)} MiB more`)
    assert.ok(growthMiB <= MAX_MIB, `${side} grew by ${growthMiB} MiB`)
  }

  await download(harness)
  assert.ok(uploads.every((client) => !client.destroyed))
})

function requestHead(harness: Harness, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${HOST}:${harness.httpPort}\r\n\r\n`
}

function dial(harness: Harness, scheme: string): Socket {
  if (scheme === 'http') return connect(harness.httpPort, '127.0.0.1')
  const port = Number(new URL(harness.credentials.https_url).port)
  return connectTls({ port, host: '127.0.0.1', servername: HOST, rejectUnauthorized: false })
}

/** Connects a client that never reads. */
async function connectReader(t: TestContext, harness: Harness, scheme: string): Promise<Socket> {
  const socket = dial(harness, scheme)
  socket.pause()
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, scheme === 'http' ? 'connect' : 'secureConnect')
  return socket
}

/** Connects a client that uploads as fast as the server accepts, up to `OFFERED_BYTES`. */
async function upload(t: TestContext, harness: Harness, block: Buffer): Promise<Socket> {
  const socket = connect(harness.httpPort, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(`POST / HTTP/1.1\r\nHost: ${HOST}:${harness.httpPort}\r\nContent-Length: ${2 ** 40}\r\n\r\n`)
  let remaining = OFFERED_BYTES
  const offer = () => {
    remaining -= block.length
    if (remaining >= 0) socket.write(block, (error) => error ?? offer())
  }
  offer()
  return socket
}

/** Downloads a fixed number of bytes. */
async function download(harness: Harness, scheme = 'http'): Promise<void> {
  const socket = dial(harness, scheme)
  let remaining = NEIGHBOUR_BYTES
  socket.write(requestHead(harness, '/neighbour'))
  for await (const chunk of socket) {
    remaining -= chunk.length
    if (remaining <= 0) break
  }
  assert.ok(remaining <= 0, 'the download ended early')
}

/** Waits until a process has written almost nothing for half a second. */
async function waitUntilIdle(pid: number): Promise<void> {
  const countWrittenBytes = async () =>
    Number(/wchar: (\d+)/.exec(await readFile(`/proc/${pid}/io`, 'utf8'))![1])
  let lastBytes = await countWrittenBytes()
  let idleSince = performance.now()
  const isIdle = async () => {
    const bytes = await countWrittenBytes()
    if (bytes - lastBytes > 64 * 1024) {
      lastBytes = bytes
      idleSince = performance.now()
    }
    return performance.now() - idleSince > 500
  }
  await eventually(isIdle, 'the readers are stalled', 60_000)
}
