/**
 * Connections of agents and SSH clients come in; tunnels come out. `tunnel.ts` is what the edge sees. `registry/` owns
 * which tunnel is bound at which public address, `gateway/` accepts and authenticates agents, `session/` is one of them
 * with its legs and streams, `bind/` turns bind requests into tunnels, and `ssh/` is the gateway of SSH clients, which
 * ends in the same registry. Begin with `tunnel.ts`, then `session/states.ts`, `registry/registry.ts`, `bind/bind.ts` and
 * `gateway/live-agent-session.ts`.
 */
export { ConnectionLost, DIAL_FAILURE_FIELD, type DialFailure, dialFailures } from '../protocol/index.ts'
export { Binder } from './bind/bind.ts'
export { followCloudEndpoints } from './bind/cloud-endpoints.ts'
export type { PublicAddress } from './bind/public-address.ts'
export { createAgentGateway } from './gateway/agent-gateway.ts'
export { createOnlineResources } from './registry/online-resources.ts'
export { Registry } from './registry/registry.ts'
export { TunnelDirectory } from './registry/tunnel-directory.ts'
export { selectorView } from './registry/views.ts'
export { Legs, type LegView } from './session/legs.ts'
export type { LiveEvent } from './session/live-event.ts'
export type { Command, CommandOutcome, LiveSession, ProbeOutcome } from './session/live-session.ts'
export { LiveTunnel, type TunnelSpec } from './session/live-tunnel.ts'
export { createResumeTokens } from './session/resume.ts'
export { keepsNames, type SessionState } from './session/states.ts'
export { RequestLog, type RequestLogUpdate } from './ssh/request-log.ts'
export { createSshGateway } from './ssh/ssh-gateway.ts'
export {
  createHostIdentity,
  generateHostKeys,
  type HostIdentity,
  publicHostKeys,
} from './ssh/transport/host-key.ts'
export {
  type ClientInfo,
  type EndpointOptions,
  type InternalAddress,
  NoUpstream,
  type PublicPorts,
  type Tunnel,
  type TunnelAddress,
  TunnelBusy,
  type TunnelLookup,
  type TunnelPool,
} from './tunnel.ts'
