import { connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { listen } from './local-server.ts'

/** What is on its way in one direction; more than any link here carries in its round trip. */
const MAX_IN_FLIGHT_BYTES = 128 * 1024 * 1024

/** What has arrived and is not read; more than a receiver that keeps up leaves. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024

/** Relays TCP connections and holds each chunk for a fixed time in each direction, like a long link without loss. */
export function createDelayRelay(target: number, oneWayMs: number): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    delay(client, server, oneWayMs)
    delay(server, client, oneWayMs)
  })
}

/** Starts a relay for a test; returns its port. */
export function startDelayRelay(t: TestContext, target: number, oneWayMs: number): Promise<number> {
  return listen(t, createDelayRelay(target, oneWayMs))
}

function delay(from: Socket, to: Socket, oneWayMs: number): void {
  const chunks: { due: number; bytes: Buffer | null }[] = []
  let inFlight = 0
  let scheduled = false
  const isFull = () => inFlight >= MAX_IN_FLIGHT_BYTES || to.writableLength >= MAX_UNREAD_BYTES
  const resume = (): void => {
    if (!isFull() && from.isPaused()) from.resume()
  }
  const deliver = (): void => {
    scheduled = false
    const now = performance.now()
    to.cork()
    while (chunks.length > 0 && chunks[0]!.due <= now) {
      const { bytes } = chunks.shift()!
      if (bytes === null) to.end()
      else {
        inFlight -= bytes.length
        to.write(bytes)
      }
    }
    to.uncork()
    resume()
    if (chunks.length > 0) schedule(Math.max(0, chunks[0]!.due - now))
  }
  const schedule = (ms: number): void => {
    if (scheduled) return
    scheduled = true
    setTimeout(deliver, ms)
  }
  const hold = (bytes: Buffer | null): void => {
    chunks.push({ due: performance.now() + oneWayMs, bytes })
    schedule(oneWayMs)
  }
  from.setNoDelay(true)
  from.on('data', (chunk: Buffer) => {
    inFlight += chunk.length
    hold(chunk)
    if (isFull()) from.pause()
  })
  to.on('drain', resume)
  from.on('end', () => hold(null))
  from.on('error', () => to.destroy())
  from.on('close', () => from.readableEnded || to.destroy())
}
