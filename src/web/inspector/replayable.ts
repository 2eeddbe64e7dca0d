import type { CaptureView } from './api.ts'

/** Why a request cannot be replayed as it is, in a sentence; undefined when it can. */
export function replayBlockedReason({ replayable, request }: CaptureView): string | undefined {
  if (replayable) return undefined
  if (request.truncated)
    return 'Only the beginning of this request was kept, so it can be replayed only with changes.'
  if (request.redacted)
    return 'Values of this request were left out when it was captured, so it can be replayed only with changes.'
  return 'This request has not come to its end yet.'
}
