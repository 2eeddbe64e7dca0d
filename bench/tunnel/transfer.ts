import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpTarget, Measurement } from './load.ts'
import { findFreePort } from './processes.ts'
import type { BenchUpstream } from './upstream.ts'

export type Direction = 'down' | 'up'
type Protocol = 'HTTP/1.1' | 'HTTP/2'

/** The upstream of long transfers over HTTP. */
export interface BulkUpstream {
  readonly ports: Required<Pick<BenchUpstream, 'http' | 'http2'>>
  /** Body bytes that it has received so far. */
  received(): Promise<number>
  stop(): void
}

export async function startBulkUpstream(): Promise<BulkUpstream> {
  const [http, http2] = [await findFreePort(), await findFreePort()]
  const child = fork(join(import.meta.dirname, 'bulk-upstream.ts'), [String(http), String(http2)], {
    silent: true,
  })
  await once(child.stdout!, 'data')
  return {
    ports: { http, http2 },
    async received() {
      child.send('count')
      return (await once(child, 'message'))[0] as number
    },
    stop: () => child.kill(),
  }
}

const CHUNK = Buffer.alloc(256 * 1024, 'x')
const WINDOW_BYTES = 64 * 1024 * 1024
/** Windows need a few round trips to grow, and tunnels live longer than that. */
export const RAMP_UP_SECONDS = 1

const MAX_FIRST_BYTE_MS = 10_000

/** Measures HTTP bodies: the bytes that arrive at their receiver in the given time, after a ramp-up. */
export async function measureTransfer(
  target: HttpTarget,
  protocol: Protocol,
  direction: Direction,
  streams: number,
  upstream: BulkUpstream,
  { seconds, rampUpSeconds = RAMP_UP_SECONDS }: { seconds: number; rampUpSeconds?: number },
): Promise<Measurement> {
  const open = protocol === 'HTTP/1.1' ? openHttp : openHttp2
  let downloaded = 0
  const transfer = await open(target, direction, streams, (bytes) => {
    downloaded += bytes
  })
  try {
    const count = () => (direction === 'down' ? downloaded : upstream.received())
    await waitForGrowth(count)
    await sleep(rampUpSeconds * 1000)
    const [before, start] = [await count(), performance.now()]
    await sleep(seconds * 1000)
    const received = (await count()) - before
    const elapsed = (performance.now() - start) / 1000
    if (transfer.failure !== undefined) throw new Error(transfer.failure)
    return { rate: received / 1e6 / elapsed, count: received }
  } finally {
    transfer.close()
  }
}

/** Waits for the first bytes, which queue behind those of stalled readers. */
async function waitForGrowth(count: () => number | Promise<number>): Promise<void> {
  const deadline = performance.now() + MAX_FIRST_BYTE_MS
  const before = await count()
  while ((await count()) === before) {
    if (performance.now() > deadline) throw new Error(`no byte within ${MAX_FIRST_BYTE_MS} ms`)
    await sleep(20)
  }
}

interface Transfer {
  readonly failure?: string
  close(): void
}

async function openHttp(
  { port, host }: HttpTarget,
  direction: Direction,
  streams: number,
  onBytes: (bytes: number) => void,
): Promise<Transfer> {
  const transfer: { failure?: string; close(): void } = {
    close: () => {
      for (const request of requests) request.destroy()
    },
  }
  const requests = Array.from({ length: streams }, () =>
    requestHttp({
      port,
      host: '127.0.0.1',
      agent: false,
      path: direction === 'down' ? '/down' : '/up',
      method: direction === 'down' ? 'GET' : 'POST',
      headers: { host },
    })
      .on('error', (error) => {
        transfer.failure ??= error.message
      })
      .on('response', (response) => {
        if (response.statusCode !== 200) transfer.failure ??= `status ${response.statusCode}`
        countBytes(response, onBytes)
      }),
  )
  for (const request of requests) direction === 'up' ? sendForever(request) : request.end()
  return transfer
}

async function openHttp2(
  { port, host }: HttpTarget,
  direction: Direction,
  streams: number,
  onBytes: (bytes: number) => void,
): Promise<Transfer> {
  const session = connectHttp2(`https://${host}`, {
    host: '127.0.0.1',
    port,
    servername: host.split(':')[0]!,
    rejectUnauthorized: false,
    settings: { initialWindowSize: WINDOW_BYTES, maxFrameSize: CHUNK.length },
  })
  const transfer: { failure?: string; close(): void } = { close: () => session.destroy() }
  const fail = (error: Error) => {
    transfer.failure ??= error.message
  }
  session.on('error', fail)
  await once(session, 'connect')
  session.setLocalWindowSize(WINDOW_BYTES)
  for (let count = 0; count < streams; count++) {
    const stream = session.request(
      {
        [constants.HTTP2_HEADER_METHOD]: direction === 'down' ? 'GET' : 'POST',
        [constants.HTTP2_HEADER_PATH]: direction === 'down' ? '/down' : '/up',
      },
      { endStream: direction === 'down' },
    )
    stream.on('error', fail)
    stream.on('response', ({ ':status': status }) => {
      if (status !== 200) transfer.failure ??= `status ${status}`
    })
    countBytes(stream, onBytes)
    if (direction === 'up') sendForever(stream)
  }
  return transfer
}

function countBytes(body: Readable | Duplex, onBytes: (bytes: number) => void): void {
  body.on('error', () => {}) // Its request reports it.
  body.on('data', (chunk: Buffer) => onBytes(chunk.length))
}

function sendForever(body: Writable): void {
  const send = (): void => {
    while (!body.destroyed && body.write(CHUNK));
  }
  body.on('drain', send)
  send()
}

/** Opens downloads whose client reads nothing; returns the function that closes them. */
export async function openStalledDownloads({ port, host }: HttpTarget, count: number): Promise<() => void> {
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.pause().on('error', () => {})
      socket.write(`GET /down HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return socket
    }),
  )
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}
