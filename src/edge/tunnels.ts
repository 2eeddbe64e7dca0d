export type { EndpointOptions, PublicPorts, Tunnel, TunnelLookup, Visitor } from '../sessions/index.ts'
export { TunnelBusy } from '../sessions/index.ts'
