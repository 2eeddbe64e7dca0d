import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { openRawClient, type RawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { frame, headersFrame } from '../testing/http2-frame.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.alloc(0)),
])
const FRAMES = 400_000
/** What the flood and its client add to the memory of this process. */
const MAX_GROWTH_MIB = 64
const EMPTY = Buffer.alloc(0)
/** A PING after the flood, and its answer. */
const LAST = frame(6, 0, 0, Buffer.from('the last'))
const ANSWER = frame(6, 1, 0, Buffer.from('the last'))

const integer = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** An upload that is under way on stream 1. */
const END_HEADERS = 4
const upload = headersFrame(
  [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', HOST],
    [':path', '/upload'],
  ],
  1,
  END_HEADERS,
)
/** Header blocks that never end: HEADERS without END_HEADERS. */
const unfinished = frame(1, 0, 3, EMPTY)

interface Flood {
  /** What the connection sends before. */
  readonly opening?: Buffer
  readonly repeated: Buffer
}

const floods: Readonly<Record<string, Flood>> = {
  'settings that are never read': { repeated: frame(4, 0, 0, EMPTY) },
  'changed settings': {
    repeated: Buffer.concat(
      [1, 65_535].map((size) => frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), integer(size)]))),
    ),
  },
  pings: { repeated: frame(6, 0, 0, Buffer.alloc(8)) },
  'acknowledgements of pings': { repeated: frame(6, 1, 0, Buffer.alloc(8)) },
  'acknowledgements of settings': { repeated: frame(4, 1, 0, EMPTY) },
  'empty data frames': { opening: upload, repeated: frame(0, 0, 1, EMPTY) },
  'padding without data': { opening: upload, repeated: frame(0, 8, 1, Buffer.from([3, 0, 0, 0])) },
  'empty CONTINUATION frames': { opening: unfinished, repeated: frame(9, 0, 3, EMPTY) },
  'CONTINUATION frames of one field': {
    opening: unfinished,
    repeated: frame(9, 0, 3, headersFrame([['x-a', 'a'.repeat(100)]]).subarray(9)),
  },
  'window updates of the connection': { repeated: frame(8, 0, 0, integer(1)) },
  'window updates of a stream': { opening: upload, repeated: frame(8, 0, 1, integer(1)) },
  priorities: { repeated: frame(2, 0, 5, Buffer.concat([integer(3), Buffer.from([7])])) },
  'priority updates': { repeated: frame(16, 0, 0, Buffer.concat([integer(3), Buffer.from('u=1')])) },
  'unknown frames': { repeated: frame(0xbb, 0, 0, Buffer.alloc(8)) },
  'resets of a closed stream': {
    opening: Buffer.concat([upload, frame(3, 0, 1, integer(8))]),
    repeated: frame(3, 0, 1, integer(8)),
  },
  'data of a closed stream': {
    opening: Buffer.concat([upload, frame(3, 0, 1, integer(8))]),
    repeated: frame(0, 0, 1, Buffer.alloc(1)),
  },
  'heads of a closed stream': {
    opening: Buffer.concat([upload, frame(3, 0, 1, integer(8))]),
    repeated: headersFrame([[':path', '/']], 1),
  },
}

/** Writes the flood and reads nothing meanwhile; then reads until the edge has answered what followed, or closed the connection. */
async function sendFlood(client: RawClient, { opening = EMPTY, repeated }: Flood): Promise<void> {
  const { socket } = client
  socket.pause()
  await once(socket, 'connect')
  client.write(PREFACE).write(opening)
  const batch = Buffer.alloc(1000 * repeated.length, repeated)
  for (let sent = 0; sent < FRAMES && !client.closed; sent += 1000)
    if (!socket.write(batch)) await eventually(() => !socket.writableNeedDrain || client.closed)
  client.write(LAST)
  socket.resume()
  await client.until(({ closed, ended, received }) => closed || ended || received.includes(ANSWER))
}

for (const [name, flood] of Object.entries(floods))
  test(`a flood of ${name} affects no other connection (P23)`, async (t) => {
    const upstream = await startHttp(t, (request, response) => {
      request.resume()
      if (request.url === '/') response.end('served')
    })
    const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
    const bystander = connectHttp2(`http://${HOST}:${port}`, { host: '127.0.0.1' })
    t.after(() => bystander.destroy())
    const requestBody = async () => (await sendHttp2(bystander, { ':path': '/' })).body.toString()
    assert.equal(await requestBody(), 'served')
    const residentBefore = process.memoryUsage.rss()

    const client = openRawClient(t, port)
    let flooding = true
    const flooded = sendFlood(client, flood).finally(() => {
      flooding = false
    })
    while (flooding) assert.equal(await requestBody(), 'served')
    await flooded

    assert.equal(await requestBody(), 'served')
    const grownMib = (process.memoryUsage.rss() - residentBefore) / 1024 ** 2
    t.diagnostic(`${client.closed || client.ended ? 'closed' : 'received'}, ${Math.round(grownMib)} MiB more`)
    assert.ok(grownMib < MAX_GROWTH_MIB, `the process has grown by ${grownMib} MiB`)
  })
