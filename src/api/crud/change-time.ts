import { formatTimestamp } from '../../base/values/clock.ts'
import type { WriteContext } from '../call.ts'

/** The time of a creation or change; undefined for an update that changes nothing. */
export function changeTime({ existing, body, clock }: WriteContext): string | undefined {
  const changesNothing = existing !== undefined && Object.values(body).every((value) => value === null)
  return changesNothing ? undefined : formatTimestamp(clock.now())
}
