import { formatTimestamp } from '../../base/values/clock.ts'
import type { SinkState } from '../../store/index.ts'

/** The delivery status of a destination, as the API returns it. */
export interface DestinationStatus {
  readonly last_success_at: string | null
  readonly last_error_at: string | null
  readonly last_error: string | null
  /** Events waiting for delivery. */
  readonly backlog: number
  /** Dead letters, which can be replayed. */
  readonly dead: number
  /** Events dropped because the queue was full. */
  readonly dropped: number
  /** True once the receiver has answered 410 Gone. */
  readonly disabled: boolean
}

/** The status of a destination at this revision, which never had an event when its state is undefined. */
export function describeStatus(
  state: SinkState | undefined,
  revision: number | undefined,
  bufferedEvents: number,
): DestinationStatus {
  return {
    last_success_at: formatOptional(state?.lastSuccessAt),
    last_error_at: formatOptional(state?.lastErrorAt),
    last_error: state?.lastError ?? null,
    backlog: (state?.queued ?? 0) + bufferedEvents,
    dead: state?.dead ?? 0,
    dropped: state?.overflowed ?? 0,
    disabled: state?.goneRevision !== undefined && state.goneRevision === revision,
  }
}

function formatOptional(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : formatTimestamp(milliseconds)
}
