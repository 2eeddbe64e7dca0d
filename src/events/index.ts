/**
 * Events: turns changes of resources, sessions and traffic into events and delivers them to the destinations of each
 * account. Uses `base`, `resources` and `store` (the durable queue). Begin with `events.ts` (the part), then `outbox.ts`
 * (changes become queued events), `dispatcher.ts` and `delivery-worker.ts` (delivery with retries) and `traffic.ts` with
 * `traffic-workers.ts` (traffic events, in memory). `targets/` has one file for each kind of sink, `aws/` the adapter for
 * its SDK, `testing/` the test harness.
 */
export { readEndpoints } from './endpoints.ts'
export {
  createEvents,
  type DestinationStatus,
  type EmittedEvent,
  type EventLimits,
  type Events,
  type EventsOptions,
  TestEventFailed,
} from './events.ts'
export { FilterError } from './filter-tokens.ts'
export type { SessionDetails, SessionLifecycleEvent, TunnelDetails } from './session-events.ts'
export { checkFilter } from './subscriptions.ts'
export type { CloudIdentity, TargetEndpoints } from './targets/target.ts'
export type { FinishedConnection, FinishedRequest } from './traffic.ts'
