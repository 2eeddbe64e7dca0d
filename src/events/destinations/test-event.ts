import type { Clock } from '../../base/values/clock.ts'
import type { KsuidGenerator } from '../../base/values/id.ts'
import { type DurableStore, type EventQueue, NoSuchRow } from '../../store/index.ts'
import { serializeEvent, uriOf } from '../event.ts'
import { toFailure } from '../target.ts'
import { DESTINATIONS, type Destination, Destinations, type SharedTargetContext } from './destinations.ts'

export interface TestEventContext {
  readonly store: DurableStore
  readonly queue: EventQueue
  readonly ids: KsuidGenerator
  readonly clock: Clock
  readonly apiUrl: () => string
  readonly targetContext: SharedTargetContext
}

/** The destination did not accept a test event; the message is the reason. */
export class TestEventFailed extends Error {
  override name = 'TestEventFailed'
}

/** Sends a test event immediately, bypassing the queue, and counts the outcome. */
export async function sendTestEvent(
  { store, queue, ids, clock, apiUrl, targetContext }: TestEventContext,
  accountId: string,
  destinationId: string,
): Promise<{ event_id: string }> {
  const row = await store.get(DESTINATIONS, accountId, destinationId)
  if (row === undefined) throw new NoSuchRow(DESTINATIONS, destinationId)
  const event = serializeEvent(ids, {
    type: 'test_event.v0',
    accountId,
    time: clock.now(),
    sequence: 1,
    object: {
      destination: { id: destinationId, uri: uriOf(apiUrl(), destinationId) },
      message: 'This event was sent to try the destination out.',
    },
    principal: null,
  })
  const outcome = await attempt(new Destinations(targetContext).set(row), event)
  await queue.addCounts({
    destination: destinationId,
    account: accountId,
    now: clock.now(),
    delivered: outcome.delivered ? 1 : 0,
    failed: outcome.delivered ? 0 : 1,
    overflowed: 0,
    error: outcome.delivered ? undefined : outcome.error,
    goneRevision: outcome.delivered ? null : undefined,
  })
  if (!outcome.delivered) throw new TestEventFailed(outcome.error)
  return { event_id: event.id }
}

async function attempt(
  destination: Destination,
  event: { id: string; type: string; time: number; body: string },
) {
  try {
    const outcomes = await destination.target().deliver([event], new AbortController().signal)
    return outcomes[0]!
  } catch (error) {
    return toFailure(error)
  }
}
