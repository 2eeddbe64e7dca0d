import { refusal } from '../errors.ts'
import type { Once } from './replay-guard.ts'
import type { Ending } from './revocations.ts'

/** What all nodes have to agree on, and remember over a restart. It rejects while that is not possible. */
export interface LoginLedger {
  /** True for the first to use this anywhere; `until` says how long a second use would be dangerous, in wall-clock milliseconds. */
  use(id: string, until: number): Promise<boolean>
  /** Resolves once every node will hear of it. */
  end(ending: Ending): Promise<void>
}

/** Uses something up for all nodes. What this node knows to be used does not bother the others. */
export async function takeOnce(
  { once, ledger, now }: { once: Once; ledger: LoginLedger; now: number },
  id: string,
  forMs: number,
): Promise<boolean> {
  if (!once.take(id, forMs)) return false
  try {
    return await ledger.use(id, now + forMs)
  } catch {
    throw refusal('login_unavailable')
  }
}
