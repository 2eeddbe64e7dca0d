import { HoldingListener } from '../base/io/holding-listener.ts'
import type { Listen } from '../base/io/listeners.ts'
import { requireFreePort } from '../base/io/require-free-port.ts'
import type { ListenerAddress } from './setting-values.ts'
import type { ServerSettings } from './settings.ts'

/** The port of agents, open from the beginning of a start to the end of a stop. With workers, those have it in between. */
export interface AgentPort {
  readonly listener: HoldingListener
  /** Where it listens; its port is never 0. */
  readonly address: ListenerAddress
}

/**
 * Opens the port of agents before anything else is ready: agents whose connections are rejected wait longer and longer
 * before they try again, and those of the SDKs cannot be told otherwise. Undefined where the process has no such port.
 */
export async function openAgentPort(
  { agentAddr, roles }: Pick<ServerSettings, 'agentAddr' | 'roles'>,
  {
    isWorker,
    hasWorkers,
    isShared,
    listen,
  }: { isWorker: boolean; hasWorkers: boolean; isShared: (ip: string) => boolean; listen: Listen },
): Promise<AgentPort | undefined> {
  if (agentAddr === undefined || !roles.has('gateway')) return undefined
  if (hasWorkers) await requireFreePort(agentAddr)
  const listener = new HoldingListener({ isShared })
  const { port } = await listener.listen({ ...agentAddr, reusePort: isWorker || hasWorkers }, listen)
  return { listener, address: { host: agentAddr.host, port } }
}
