import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import {
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { listen, startHttp, startTcp } from '../../../test/support/local-server.ts'
import { createRandom } from '../../../test/support/random.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { startHttp2Tap } from '../testing/http2-tap.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const
type Protocol = (typeof PROTOCOLS)[number]

/** Random bytes; every body is a slice of them. */
const pool = randomBytes(4 * 1024 * 1024 + 300)

/** How one transfer goes. The service dies in the middle of the response, or the client in the middle of the upload. */
interface Transfer {
  readonly offset: number
  readonly up: number
  readonly down: number
  readonly sized: boolean
  readonly dies: 'service' | 'client' | undefined
}

/** What a client saw; undefined when the message was broken off. */
interface Outcome {
  readonly sum: string
  readonly body: string
}

/** Responds with a slice of the pool in either framing, after the complete request body was hashed. */
function respond(transfer: Transfer, sum: string, response: ServerResponse | Http2ServerResponse): void {
  const { offset, down, sized, dies } = transfer
  response.setHeader('x-sum', sum)
  if (sized) response.setHeader('content-length', down)
  const body: Writable = response
  if (dies === undefined) body.end(pool.subarray(offset, offset + down))
  else {
    const socket = 'stream' in response ? response.stream.session?.socket : response.socket
    body.write(pool.subarray(offset, offset + Math.floor(down / 2)), () => socket?.destroy())
  }
}

/** Starts a service; `ended` gets each upload that seemed complete to it. */
function startService(
  t: TestContext,
  protocol: Protocol,
  ended: (transfer: Transfer) => void,
): Promise<number> {
  const listener = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ) => {
    const transfer: Transfer = JSON.parse(decodeURIComponent(request.url!.slice(1)))
    const hash = createHash('sha256')
    const upload: Readable = request
    upload.on('data', (chunk) => hash.update(chunk))
    for (const stream of [upload, response]) stream.on('error', () => {})
    upload.on('end', () => {
      // Node also emits it for a stream that was reset, and knows the code when it closes.
      if ('stream' in request) request.stream.once('close', () => request.stream.rstCode || ended(transfer))
      else ended(transfer)
      respond(transfer, hash.digest('hex'), response)
    })
  }
  return listen(t, protocol === 'HTTP/2' ? createHttp2Server(listener) : createHttpServer(listener))
}

const pathOf = (transfer: Transfer) => `/${encodeURIComponent(JSON.stringify(transfer))}`

/** The upload, without its second half when the client dies. */
function uploadOf({ offset, up, dies }: Transfer): Buffer {
  return pool.subarray(offset, offset + (dies === 'client' ? Math.floor(up / 2) : up))
}

const clients = {
  async 'HTTP/1.1'(_t: TestContext, port: number, transfer: Transfer): Promise<Outcome | undefined> {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: pathOf(transfer),
      headers: { Host: HOST, ...(transfer.sized && { 'Content-Length': transfer.up }) },
      agent: false,
    })
    request.on('error', () => {})
    if (transfer.dies === 'client') request.write(uploadOf(transfer), () => request.destroy())
    else request.end(uploadOf(transfer))
    try {
      const [response] = await once(request, 'response')
      const body = Buffer.concat(await response.toArray())
      return { sum: response.headers['x-sum'], body: sha(body) }
    } catch {
      return undefined
    }
  },
  async 'HTTP/2'(t: TestContext, port: number, transfer: Transfer): Promise<Outcome | undefined> {
    const tap = await startHttp2Tap(t, port)
    const session = connectHttp2(`http://127.0.0.1:${tap.port}`)
    session.on('error', () => {})
    const stream = session.request(
      {
        ':authority': HOST,
        ':method': 'POST',
        ':path': pathOf(transfer),
        ...(transfer.sized && { 'content-length': transfer.up }),
      },
      // A stream that waits for trailers is reset without an end.
      { waitForTrailers: transfer.dies === 'client' },
    )
    stream.on('error', () => {})
    let sum = ''
    stream.on('response', (headers) => {
      sum = String(headers['x-sum'])
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    if (transfer.dies === 'client')
      stream.write(uploadOf(transfer), () => stream.close(constants.NGHTTP2_CANCEL))
    else stream.end(uploadOf(transfer))
    await new Promise((resolve) => stream.once('close', resolve))
    session.destroy()
    // By the frames alone: a client need not count bytes.
    const complete = tap
      .fromServer()
      .flat()
      .some((frame) => frame.endsWith('END_STREAM'))
    return complete ? { sum, body: sha(Buffer.concat(chunks)) } : undefined
  },
}

for (const client of PROTOCOLS)
  for (const service of PROTOCOLS)
    test(`60 random transfers from ${client} to ${service} complete in both directions, and a peer that dies is noticed`, async (t) => {
      const { seed, below: random } = createRandom()
      t.diagnostic(`SEED=${seed}`)
      const ended: Transfer[] = []
      const forwardsProto = service === 'HTTP/2' ? 'http2' : 'http1'
      const upstream = await startService(t, service, (transfer) => ended.push(transfer))
      const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream, { forwardsProto }))
      const { port } = await startEdge(t, tunnels)

      const transfer = async (n: number) => {
        const small = random(3) === 0
        const size = () => random(small ? 2000 : 2 * 1024 * 1024)
        const dies = n % 10 === 0 ? 'service' : n % 10 === 5 ? 'client' : undefined
        // An empty body is complete however its sender ends.
        const least = dies === undefined ? 0 : 2
        const plan: Transfer = {
          offset: random(300),
          up: least + size(),
          down: least + size(),
          sized: random(2) === 0,
          dies,
        }
        const outcome = await clients[client](t, port, plan)

        const label = JSON.stringify(plan)
        if (dies !== undefined) assert.equal(outcome, undefined, `looks complete: ${label}`)
        else {
          const body = sha(pool.subarray(plan.offset, plan.offset + plan.down))
          assert.deepEqual(outcome, { sum: sha(uploadOf(plan)), body }, label)
        }
      }
      // One that dies is alone, since it may end the connection that the others share.
      for (let n = 0; n < 60; n += 5) {
        await transfer(n)
        await Promise.all([1, 2, 3, 4].map((m) => transfer(n + m)))
      }
      assert.deepEqual(
        ended.filter(({ dies }) => dies === 'client'),
        [],
      )
    })

test('an upload arrives complete at an HTTP/2 upstream, which reads it long after the edge has', async (t) => {
  const body = randomBytes(8 * 1024 * 1024)
  const server = createHttp2Server((request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => {
      hash.update(chunk)
      request.pause()
      setImmediate(() => request.resume())
    })
    request.on('end', () => response.end(hash.digest('hex')))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const tunnel = createLocalTunnel((server.address() as AddressInfo).port, { forwardsProto: 'http2' })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    headers: { Host: HOST },
    agent: false,
  })
  request.end(body)
  const [response] = await once(request, 'response')

  assert.equal(Buffer.concat(await response.toArray()).toString(), sha(body))
})

test('an upload that is pipelined behind a slow response is read ahead, and arrives complete', async (t) => {
  const body = randomBytes(1024 * 1024)
  const upstream = await startHttp(t, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('end', () => {
      if (request.method === 'POST') response.end(hash.digest('hex'))
      else setTimeout(() => response.end('first'), 50)
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  // Several, since the first read of one may end inside a block, which is never detached.
  for (let round = 0; round < 5; round++) {
    const client = openRawClient(t, port)
    client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    client.write(
      Buffer.concat([
        Buffer.from(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${body.length}\r\n\r\n`),
        body,
      ]),
    )
    await client.untilText(sha(body))
  }
})

test('200 clients that never read cost a bounded amount of memory, and another client is served', async (t) => {
  const block = Buffer.alloc(64 * 1024, 'x')
  let sent = 0
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', (head: Buffer) => {
      if (head.includes('/quick')) {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        return
      }
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n')
      const pump = () => {
        while (socket.writable) {
          sent += block.length
          if (!socket.write(block)) return
        }
      }
      socket.on('drain', pump)
      pump()
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const rssBefore = process.memoryUsage.rss()

  const stalled: Socket[] = []
  t.after(() => {
    for (const socket of stalled) socket.destroy()
  })
  for (let n = 0; n < 200; n++) {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.pause()
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    stalled.push(socket)
  }
  // The kernel's buffers take megabytes for each of them; only the memory of the process counts.
  await eventually(() => sent > 200 * 2 * 1024 * 1024, 'every client has stalled or will', 30_000)
  const growth = (process.memoryUsage.rss() - rssBefore) / 1024 / 1024
  const quick = await fetchText(port, '/quick')

  assert.equal(quick, 'ok')
  assert.ok(growth < 64, `${growth.toFixed(0)} MiB`)
})

function fetchText(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, headers: { Host: HOST }, agent: false })
    request.on('error', reject)
    request.on('response', async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve(text)
    })
    request.end()
  })
}
