import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to outgoing connections, which would take one away between the look and the use. */
const MIN_PORT = 10_000
const MAX_PORT = 19_000

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** The first of so many ports in a row that nobody listens on, for a server that is given a range. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = MIN_PORT + Math.floor(Math.random() * (MAX_PORT - MIN_PORT))
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
}
