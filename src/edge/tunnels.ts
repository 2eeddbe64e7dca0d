export type { ClientInfo, EndpointOptions, PublicPorts, Tunnel, TunnelLookup } from '../sessions/index.ts'
export { TunnelBusy } from '../sessions/index.ts'
