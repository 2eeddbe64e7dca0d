export type { EndpointOptions, PublicPorts, Tunnel, TunnelLookup, Visitor } from '../sessions/tunnel.ts'
export { TunnelBusy } from '../sessions/tunnel.ts'
