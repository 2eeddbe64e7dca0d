/**
 * Events: turns changes of resources, sessions and traffic into events and delivers them to the destinations of each
 * account. Uses `base`, `resources`, `policy` (filters) and `store` (the durable queue). Begin with `events.ts` (the part), then `outbox.ts`
 * (changes become queued events), `dispatcher.ts` and `delivery-worker.ts` (delivery with retries) and `traffic.ts` with
 * `traffic-workers.ts` (traffic events, in memory). `targets/` has one file for each kind of sink, `aws/` the adapter for
 * its SDK, `testing/` the test harness.
 */

export type { DestinationStatus } from './destinations/destination-status.ts'
export { checkFilter } from './destinations/subscriptions.ts'
export { TestEventFailed } from './destinations/test-event.ts'
export { readEndpoints } from './endpoints.ts'
export { createEvents, type Events } from './events.ts'
export { FilterError } from './filter.ts'
