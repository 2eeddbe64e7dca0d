import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A TCP relay between an agent and the server that a test can cut or freeze. */
export interface Relay {
  port: number
  /** Stops forwarding in both directions without closing anything, like a dead link. */
  freeze(): void
  /** Closes every connection. */
  cut(): void
}

export async function startRelay(t: TestContext, target: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  let frozen = false
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (!frozen) to.write(chunk)
      })
      from.on('end', () => {
        if (!frozen) to.end()
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        if (!frozen) to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    cut()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      frozen = true
    },
    cut,
  }
}
