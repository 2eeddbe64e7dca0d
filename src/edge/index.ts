export { createEdge, type Edge, type EdgeAddresses, type EdgeConfig, type EdgeDependencies } from './edge.ts'
export {
  createLogins,
  type Ending,
  type LoginLedger,
  type LoginOptions,
  type LoginPart,
  type OauthEndpoints,
} from './login/index.ts'
export type { ConnectionEvent, Observer, RequestEvent } from './observe.ts'
export type { TrafficTotals } from './traffic.ts'
