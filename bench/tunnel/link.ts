import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type Ready, startProgram } from './processes.ts'

/** The network between the agents, with the upstream beside them, and the servers, with the load generator beside them. */
export interface Link {
  /** The address of the server side that servers listen on for agents. */
  readonly listenHost: string
  /** The address at which agents reach it. */
  readonly dialHost: string
  /** Makes a server's port reachable for agents, once it listens. */
  expose(port: number): Promise<void>
  /** Starts a program beside the agents; returns its process group. */
  startRemote(
    command: string,
    args: readonly string[],
    ready: Ready,
    env?: NodeJS.ProcessEnv,
  ): Promise<number>
}

/** Both sides on this machine's loopback interface. */
export const LOOPBACK: Link = {
  listenHost: '127.0.0.1',
  dialHost: '127.0.0.1',
  expose: async () => {},
  startRemote: startProgram,
}

/** The loopback interface with a relay that holds every chunk for a while in each direction. */
export function createDelayedLink(oneWayMs: number): Link {
  const dialHost = '127.0.0.2'
  const script = join(import.meta.dirname, 'delay-relay.ts')
  return {
    ...LOOPBACK,
    dialHost,
    // The same port on another address, because the client of bore cannot be told a port.
    async expose(port) {
      const args = [script, dialHost, port, oneWayMs]
      await startProgram(process.execPath, args.map(String), { prints: /relaying/ })
    },
  }
}

const AGENT_NAMESPACE = 'adit-bench-agents'
export const SERVER_NAMESPACE = 'adit-bench-servers'
/** RFC 2544 reserves 198.18.0.0/15 for benchmarks. */
const [AGENT_ADDRESS, SERVER_ADDRESS] = ['198.18.0.1', '198.18.0.2']

/**
 * Two network namespaces, and between them a link that delays packets and loses some. The process that uses the link runs in
 * `SERVER_NAMESPACE` (`openNamespaces` creates both).
 */
export const LOSSY_LINK: Link = {
  listenHost: SERVER_ADDRESS,
  dialHost: SERVER_ADDRESS,
  expose: async () => {},
  startRemote: (command, args, ready, env) =>
    startProgram('ip', ['netns', 'exec', AGENT_NAMESPACE, command, ...args], ready, env),
}

/** Creates the namespaces and the link between them; returns the function that removes them. */
export async function openNamespaces(oneWayMs: number, lossPercent: number): Promise<() => void> {
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const namespaces = [AGENT_NAMESPACE, SERVER_NAMESPACE]
  const close = () => {
    for (const namespace of namespaces)
      try {
        ip('netns', 'delete', namespace)
      } catch {
        // It does not exist.
      }
  }
  close() // A run that was killed leaves them behind.
  try {
    for (const namespace of namespaces) {
      ip('netns', 'add', namespace)
      ip('-n', namespace, 'link', 'set', 'lo', 'up')
    }
    const ends = [AGENT_NAMESPACE, AGENT_ADDRESS, SERVER_NAMESPACE, SERVER_ADDRESS]
    const script = join(import.meta.dirname, 'lossy-link.py')
    await startProgram('python3', [script, ...ends, String(oneWayMs), String(lossPercent)], {
      prints: /forwarding/,
    })
  } catch (error) {
    close()
    throw error
  }
  return close
}
