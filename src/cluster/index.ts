/**
 * Nodes that share one database show each other their tunnels: each node keeps a TLS link to every peer, registers the
 * peer's sessions and tunnels in its own registry, and opens streams through the link. Begin with `cluster.ts`
 * (membership), then `link.ts`; `registry-publisher.ts` is the serving end of a link, `remote-registry.ts` the consuming
 * end, `wire.ts` what they exchange.
 */
export { Cluster, type ListedNode } from './cluster.ts'
export { NODE_NAME } from './link.ts'
export type { PeerTopic } from './wire.ts'
