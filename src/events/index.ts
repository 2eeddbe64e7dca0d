export { endpointsFrom } from './endpoints.ts'
export {
  createEvents,
  type DestinationStatus,
  type EmittedEvent,
  type EventLimits,
  type Events,
  type EventsOptions,
  TestEventFailed,
} from './events.ts'
export { FilterProblem } from './filter-tokens.ts'
export type { SessionDetails, SessionLifecycleEvent, TunnelDetails } from './session-events.ts'
export { checkFilter } from './subscriptions.ts'
export type { CloudIdentity, TargetEndpoints } from './targets/target.ts'
export type { FinishedConnection, FinishedRequest } from './traffic.ts'
