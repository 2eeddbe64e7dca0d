import type { Http2Stream } from 'node:http2'
import { addAbortSignal } from 'node:stream'

const CANCELLED = AbortSignal.abort()

/**
 * Resets a stream (RST_STREAM): `failed` for a message that cannot be completed, `cancelled` for one that is no longer needed. Not
 * `close(code)`, which ends the stream before it resets it, so that a part of a message looks like the whole (P18). Node chooses
 * the code by the error of a destroyed stream: CANCEL for that of an abort signal, otherwise INTERNAL_ERROR.
 */
export function resetStream(stream: Http2Stream, reason: 'failed' | 'cancelled'): void {
  if (reason === 'cancelled') addAbortSignal(CANCELLED, stream)
  else stream.destroy(new Error('The message cannot be completed.'))
}
