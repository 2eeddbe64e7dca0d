/**
 * Connections of agents and SSH clients come in; tunnels come out. `Registry` owns which tunnel is bound at which public
 * address, the two gateways accept and authenticate connections, and `Binder` turns bind requests into tunnels.
 * May use base, protocol, resources, auth and naming. Begin with `tunnel.ts` (what the edge sees), then `registry.ts`,
 * `bind.ts` (with `bind-request.ts`, which needs no server), `agent-connection.ts` and `live-agent-session.ts`. `ssh/` holds the SSH gateway, which ends in the same registry; `testing/` the
 * harness of this folder's tests.
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
} from './tunnel.ts'
