import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { createRandom } from '../../../test/support/random.ts'
import { startEdge } from '../testing/edge.ts'
import { openRawClient } from '../testing/raw-client.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('300 random transfers complete in both directions, and a dying upstream is always visible', async (t) => {
  const { seed, below: random } = createRandom()
  console.log(`seed ${seed}`)
  const pool = randomBytes(4 * 1024 * 1024 + 300)
  // The response is a slice of the pool in either framing, after the complete request body was hashed.
  const upstream = await startHttp(t, (request, response) => {
    const url = new URL(request.url ?? '/', 'http://upstream')
    const number = (name: string) => Number(url.searchParams.get(name))
    const [offset, size, dies] = [number('offset'), number('size'), number('dies')]
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const headers: Record<string, string | number> = { 'X-Sum': hash.digest('hex') }
      if (url.searchParams.has('sized')) headers['Content-Length'] = size
      response.writeHead(200, headers)
      if (dies > 0) {
        response.write(pool.subarray(offset, offset + Math.floor(size / 2)))
        setTimeout(() => response.socket?.destroy(), 2)
      } else response.end(pool.subarray(offset, offset + size))
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const transfer = (n: number) =>
    new Promise<void>((resolve, reject) => {
      const small = random(3) === 0
      const [offset, dies, sized] = [random(300), n % 10 === 0 ? 1 : 0, random(2)]
      const up = random(small ? 2000 : 4 * 1024 * 1024)
      // An empty body is complete however the upstream ends.
      const down = dies + random(small ? 2000 : 4 * 1024 * 1024)
      const body = pool.subarray(offset, offset + up)
      const request = httpRequest({
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: `/?offset=${offset}&size=${down}&dies=${dies}${sized ? '&sized' : ''}`,
        headers: { Host: HOST, ...(random(2) ? { 'Content-Length': up } : {}) },
        agent: false,
      })
      const check = (complete: boolean, reason: string) => {
        if (complete === (dies === 0)) resolve()
        else reject(new Error(`transfer ${n} (${up} up, ${down} down, dies ${dies}): ${reason}`))
      }
      request.on('error', (error) => check(false, String(error)))
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', (error) => check(false, String(error)))
        response.on('end', () => {
          try {
            assert.equal(response.headers['x-sum'], sha(body), 'the upload')
            if (dies === 0)
              assert.equal(sha(Buffer.concat(chunks)), sha(pool.subarray(offset, offset + down)))
            check(response.complete, 'a clean end')
          } catch (error) {
            reject(error as Error)
          }
        })
      })
      request.end(body)
    })
  for (let n = 0; n < 300; n += 6) await Promise.all([0, 1, 2, 3, 4, 5].map((m) => transfer(n + m)))
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
