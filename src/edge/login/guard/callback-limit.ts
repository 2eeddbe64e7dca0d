import { createAttemptLimit } from '../../../base/limits/attempt-limit.ts'
import { clientKey } from '../../../base/values/client-key.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { edgeError } from '../../errors.ts'

/** Handles one message to the login host, unless its client has sent too many invalid ones. */
export type CallbackLimit = <T>(remoteAddress: string, work: () => Promise<T>) => Promise<T>

/**
 * Limits the invalid messages per client that the login host verifies. Valid ones do not count, so an office behind one
 * address can sign in at nine o'clock.
 */
export function createCallbackLimit({
  perMinute,
  clock,
}: {
  perMinute: number
  clock: Clock
}): CallbackLimit {
  if (perMinute === 0) return (_remoteAddress, work) => work()
  const attempts = createAttemptLimit({ burst: perMinute, perMinute, clock })
  return async (remoteAddress, work) => {
    const key = clientKey(remoteAddress)
    const retryAfter = attempts.take(key)
    if (retryAfter > 0) throw edgeError('too_many_logins').withRetryAfter(retryAfter)
    const result = await work()
    attempts.refund(key)
    return result
  }
}
