import { connect, createServer, type Socket } from 'node:net'

/**
 * Relays TCP connections and holds each chunk for a fixed time in each direction, like a long link without loss:
 * `node delay-relay.ts <listening port> <target port> <one-way ms>`.
 */
const [listening, target, delayMs] = process.argv.slice(2).map(Number) as [number, number, number]

/** What is on its way in one direction; more than any link here carries in its round trip. */
const MAX_IN_FLIGHT_BYTES = 128 * 1024 * 1024

createServer({ allowHalfOpen: true }, (client) => {
  const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
  delayed(client, server)
  delayed(server, client)
}).listen(listening, '127.0.0.1', () => console.log('relaying'))

function delayed(from: Socket, to: Socket): void {
  const chunks: { due: number; bytes: Buffer | null }[] = []
  let inFlight = 0
  let scheduled = false
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
    if (inFlight < MAX_IN_FLIGHT_BYTES && from.isPaused()) from.resume()
    if (chunks.length > 0) schedule(Math.max(0, chunks[0]!.due - now))
  }
  const schedule = (ms: number): void => {
    if (scheduled) return
    scheduled = true
    setTimeout(deliver, ms)
  }
  const hold = (bytes: Buffer | null): void => {
    chunks.push({ due: performance.now() + delayMs, bytes })
    schedule(delayMs)
  }
  from.setNoDelay(true)
  from.on('data', (chunk: Buffer) => {
    inFlight += chunk.length
    hold(chunk)
    if (inFlight >= MAX_IN_FLIGHT_BYTES) from.pause()
  })
  from.on('end', () => hold(null))
  from.on('error', () => to.destroy())
  from.on('close', () => from.errored && to.destroy())
}
