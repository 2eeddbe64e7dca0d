import { refusal } from '../errors.ts'
import type { ReplayGuard } from './replay-guard.ts'
import type { Ending } from './revocations.ts'

/** Login state shared by all nodes and durable across restarts. Rejects while the store is unavailable. */
export interface LoginLedger {
  /**
   * True for the first use of this id on any node; `until` (wall-clock milliseconds) is when a replay becomes harmless.
   */
  use(id: string, until: number): Promise<boolean>
  /** Resolves once every node will receive it. */
  end(ending: Ending): Promise<void>
}

/** Consumes an id on all nodes. Ids this node has already seen cause no write. */
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
