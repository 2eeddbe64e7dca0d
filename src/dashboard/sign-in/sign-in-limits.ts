import type { FastifyReply } from 'fastify'
import { problem } from '../../api/index.ts'
import { type AttemptLimit, createAttemptLimit } from '../../base/limits/attempt-limit.ts'
import type { Clock } from '../../base/values/clock.ts'
import { PasswordQueueFull } from './passwords.ts'

// Enough for typing mistakes, too few for guessing.
const USER_LIMIT = { burst: 10, perMinute: 1 }
const CLIENT_LIMIT = { burst: 30, perMinute: 6 }
// Guessing must not fill the audit log.
const AUDIT_LIMIT = { burst: 20, perMinute: 5 }
const BUSY_RETRY_SECONDS = 5

/** Limits on failed attempts. */
export interface SignInLimits {
  readonly users: AttemptLimit
  readonly clients: AttemptLimit
  readonly audits: AttemptLimit
}

/** The limits of one process. */
export function createSignInLimits(clock: Clock): SignInLimits {
  return {
    users: createAttemptLimit({ ...USER_LIMIT, clock }),
    clients: createAttemptLimit({ ...CLIENT_LIMIT, clock }),
    audits: createAttemptLimit({ ...AUDIT_LIMIT, clock }),
  }
}

/** The key for attempts on a user, whether or not the user exists. */
export function userKey(email: string): string {
  return email.toLowerCase()
}

/** Rejects the request if the limiter requires a wait. */
export function rejectIfLimited(reply: FastifyReply, seconds: number): void {
  if (seconds === 0) return
  reply.header('retry-after', String(seconds))
  throw problem('too_many_requests', seconds)
}

/** Turns a full password queue into a 429 response with Retry-After. */
export function rejectIfBusy<T>(reply: FastifyReply, work: Promise<T>, onBusy = () => {}): Promise<T> {
  return work.catch((error) => {
    if (!(error instanceof PasswordQueueFull)) throw error
    onBusy()
    reply.header('retry-after', String(BUSY_RETRY_SECONDS))
    throw problem('too_many_requests', BUSY_RETRY_SECONDS)
  })
}
