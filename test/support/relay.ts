import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A TCP relay between agent and server that can blackhole its connections without closing them. */
export interface Relay {
  readonly port: number
  /** The port new connections are forwarded to. */
  target: number
  /** Stops forwarding on existing and new connections, and closes none of them. */
  freeze(): void
  /** Forwards new connections again; existing ones stay dead, as behind a NAT router that dropped its state. */
  thaw(): void
  /** Resets all existing connections; new ones are forwarded. */
  cut(): void
  /** Resets the oldest connection. */
  cutOldest(): void
}

/** Starts the relay; it closes with the test. `onData` sees what it forwards. */
export async function startRelay(
  t: TestContext,
  target: number,
  onData?: (chunk: Buffer, from: 'client' | 'server', client: Socket) => void,
): Promise<Relay> {
  const sockets = new Set<Socket>()
  const deadSockets = new WeakSet<Socket>()
  let frozen = false
  const server = createServer({ noDelay: true }, (client) => {
    if (frozen) deadSockets.add(client)
    const upstream = connect({ port: relay.target, host: '127.0.0.1', noDelay: true })
    for (const [source, destination, from] of [
      [client, upstream, 'client'],
      [upstream, client, 'server'],
    ] as const) {
      sockets.add(source)
      if (frozen) deadSockets.add(source)
      source.on('data', (chunk: Buffer) => {
        if (deadSockets.has(source)) return
        onData?.(chunk, from, client)
        destination.write(chunk)
      })
      source.on('error', () => {})
      source.on('close', () => {
        sockets.delete(source)
        if (!deadSockets.has(source)) destination.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const relay: Relay = {
    port: (server.address() as AddressInfo).port,
    target,
    freeze() {
      frozen = true
      for (const socket of sockets) deadSockets.add(socket)
    },
    thaw() {
      frozen = false
    },
    cutOldest() {
      const [oldest] = sockets
      oldest?.resetAndDestroy()
    },
    cut() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
  return relay
}
