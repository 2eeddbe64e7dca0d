import { HoldingListener } from '../../base/io/sockets/holding-listener.ts'
import { type Listen, Listeners } from '../../base/io/sockets/listeners.ts'
import { requireFreePort } from '../../base/io/sockets/require-free-port.ts'
import type { ListenerAddress } from '../settings/setting-values.ts'
import type { ServerSettings } from '../settings/settings.ts'
import { countWorkers } from './worker-flags.ts'

/** The port of agents, open from the beginning of a start to the end of a stop. With workers, those have it in between. */
export interface AgentPort {
  readonly listener: HoldingListener
  /** Where it listens; its port is never 0. */
  readonly address: ListenerAddress
}

/** The listeners of a process, with the one that is open before the others. */
export interface ProcessListeners {
  readonly listeners: Listeners
  readonly agentPort: AgentPort | undefined
}

/**
 * Opens the port of agents before anything else is ready: agents whose connections are rejected wait longer and longer
 * before they try again, and those of the SDKs cannot be told otherwise. Undefined where the process has no such port.
 */
export async function openAgentPort(
  settings: ServerSettings,
  { isWorker, listen }: { isWorker: boolean; listen: Listen },
): Promise<AgentPort | undefined> {
  const { agentAddr, roles } = settings
  if (agentAddr === undefined || !roles.has('gateway')) return undefined
  const hasWorkers = !isWorker && countWorkers(settings) > 0
  if (hasWorkers) await requireFreePort(agentAddr)
  const listener = new HoldingListener({ isShared: isSharedSource(settings) })
  const { port } = await listener.listen({ ...agentAddr, reusePort: isWorker || hasWorkers }, listen)
  return { listener, address: { host: agentAddr.host, port } }
}

/**
 * The same before the code of the server is loaded: on a busy machine that alone takes longer than the 2.5 s after which
 * the SDKs try for the third time, and their fourth attempt is two minutes later. Undefined where the port cannot be
 * opened: the start reports why, after what it checks first.
 */
export async function openAgentPortEarly(settings: ServerSettings): Promise<ProcessListeners | undefined> {
  const listeners = new Listeners()
  try {
    return {
      listeners,
      agentPort: await openAgentPort(settings, { isWorker: false, listen: listeners.listen }),
    }
  } catch {
    return undefined
  }
}

/** Tells addresses that many clients share. A proxy is no single source either. */
export function isSharedSource({
  sharedSources,
  trustedProxies,
}: Pick<ServerSettings, 'sharedSources' | 'trustedProxies'>): (ip: string) => boolean {
  return (ip) => sharedSources(ip) || trustedProxies?.(ip) === true
}
