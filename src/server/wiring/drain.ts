import type { Foundation } from './foundation.ts'
import type { TrafficParts } from './traffic.ts'

/** How long agents and clients together may take to finish or to move. */
const DRAIN_MS = 30_000
/** How long agents may take of it to start their next sessions elsewhere. */
const MAX_MOVE_MS = 10_000

/**
 * Drains this process: first its agents move to other nodes, if there are any, then its clients finish. Agents that
 * cannot move, as those of the SDKs, reconnect when the gateway closes.
 */
export async function drain(
  { addresses, clock, hasRole, listeners }: Pick<Foundation, 'addresses' | 'clock' | 'hasRole' | 'listeners'>,
  { agentGateway, cluster, edge }: Pick<TrafficParts, 'agentGateway' | 'cluster' | 'edge'>,
): Promise<void> {
  const startedAt = clock.monotonic()
  await cluster?.leave()
  const others = cluster?.agentAddresses.filter((address) => address !== addresses.agentDial) ?? []
  const canMove = hasRole('gateway') && (listeners.isHandedOver || others.length > 0)
  // A release that has taken over the listeners is at the address that agents know.
  if (canMove) await agentGateway.moveAgents(listeners.isHandedOver ? [] : others, MAX_MOVE_MS)
  const remainingMs = DRAIN_MS - (clock.monotonic() - startedAt)
  await Promise.all([edge.stop(remainingMs), cluster?.drain(remainingMs, canMove)])
}
