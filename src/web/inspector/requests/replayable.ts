import type { CaptureView } from '../../../agent/local-api/page-data.ts'

/** Why a request cannot be replayed unchanged; undefined if it can. */
export function replayBlockedReason({ replayable, request }: CaptureView): string | undefined {
  if (replayable) return undefined
  if (request.truncated)
    return 'Only the beginning of this request was captured, so it can be replayed only with changes.'
  if (request.redacted)
    return 'Header values of this request were redacted, so it can be replayed only with changes.'
  return 'This request is not complete yet.'
}
