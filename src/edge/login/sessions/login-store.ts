import type { Clock } from '../../../base/values/clock.ts'
import type { SessionActivity, StartedSession } from '../../../resources/index.ts'
import { edgeError } from '../../errors.ts'
import type { ReplayGuard } from './replay-guard.ts'
import type { Revocation, Revocations } from './revocations.ts'

/** Login state shared by all nodes and durable across restarts. Rejects while the store is unavailable. */
export interface LoginStore {
  /**
   * True for the first use of this id on any node; `until` (wall-clock milliseconds) is when a replay becomes harmless.
   */
  consume(id: string, expiresAt: number): Promise<boolean>
  /** Resolves once every node will receive it. */
  revoke(ending: Revocation): Promise<void>
  /** Lists a session for its account. Returns at once; written later, and lost if the process crashes before. */
  recordSession(session: StartedSession): void
  /** Lists that a session is in use. Returns at once, like `recordSession`. */
  recordActivity(activity: SessionActivity): void
}

/** Consumes an id on all nodes. Ids this node has already seen cause no write. */
export async function consumeOnce(
  { replayGuard, store, clock }: { replayGuard: ReplayGuard; store: LoginStore; clock: Clock },
  id: string,
  ttlMs: number,
): Promise<boolean> {
  if (!replayGuard.consume(id, ttlMs)) return false
  try {
    return await store.consume(id, clock.now() + ttlMs)
  } catch {
    throw edgeError('login_unavailable')
  }
}

/** Revokes sessions on all nodes. Fails with a retryable error when that is not certain. */
export async function revokeEverywhere(
  { store, revocations, clock }: { store: LoginStore; revocations: Revocations; clock: Clock },
  revocation: Revocation,
): Promise<void> {
  try {
    await store.revoke(revocation)
  } catch {
    throw edgeError('login_unavailable')
  }
  revocations.add(revocation, clock.now())
}
