import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral ports, which an outgoing connection could take between the check and the use. */
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

/** The first of `count` consecutive free ports, for a server with a port range. */
export async function findFreePorts(count: number): Promise<number> {
  for (;;) {
    const first = MIN_PORT + Math.floor(Math.random() * (MAX_PORT - MIN_PORT))
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
}

/** One process for each server, which starts fastest; `TEST_WORKERS=2` runs the traffic in that many workers. */
export const WORKER_FLAGS: readonly string[] = ['--workers', process.env.TEST_WORKERS ?? '1']

/** The flags of a server whose listeners take any free port. */
export const ANY_PORTS = [
  ...['api', 'http', 'https', 'agent', 'ssh', 'dns'].flatMap((name) => [`--${name}-addr`, '127.0.0.1:0']),
  ...WORKER_FLAGS,
]
