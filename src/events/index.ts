/**
 * Events: turns changes of resources, sessions and traffic into events and delivers them to the destinations of each
 * account. Begin with `events.ts` (the part), then `queue/outbox.ts` (changes become queued events),
 * `queue/dispatcher.ts` and `queue/delivery-worker.ts` (delivery with retries), and `traffic/traffic.ts` with
 * `queue/traffic-workers.ts` (traffic events, in memory). `destinations/` compiles subscriptions and their destinations,
 * `targets/` has one file for each kind of sink, `aws/` the adapter for its SDK.
 */

export type { DestinationStatus } from './destinations/destination-status.ts'
export { checkFilter } from './destinations/subscriptions.ts'
export { TestEventFailed } from './destinations/test-event.ts'
export { readEndpoints } from './endpoints.ts'
export { createEvents, type Events } from './events.ts'
export { FilterError } from './filter.ts'
