import { refusal } from '../errors.ts'
import type { ReplayGuard } from './replay-guard.ts'
import type { Ending } from './revocations.ts'

/** What all nodes have to agree on, and remember over a restart. It rejects while that is not possible. */
export interface LoginLedger {
  /** True for the first to use this anywhere; `until` says how long a second use would be dangerous, in wall-clock milliseconds. */
  use(id: string, until: number): Promise<boolean>
  /** Resolves once every node will hear of it. */
  end(ending: Ending): Promise<void>
}

/** Uses something up for all nodes. What this node knows to be used does not bother the others. */
export async function consumeOnce(
  { replayGuard, store, now }: { replayGuard: ReplayGuard; store: LoginLedger; now: number },
  id: string,
  ttlMs: number,
): Promise<boolean> {
  if (!replayGuard.consume(id, ttlMs)) return false
  try {
    return await store.use(id, now + ttlMs)
  } catch {
    throw refusal('login_unavailable')
  }
}
