import { PoolFailure, WorkerPool, type WorkerPoolOptions } from '../../../base/threads/worker-pool.ts'
import { edgeError } from '../../errors.ts'
import type { SamlCheck, SamlCheckResults } from './saml-checks.ts'

const POOL_OPTIONS: WorkerPoolOptions = {
  module: new URL('./saml-worker.ts', import.meta.url),
  maxThreads: 3,
  maxQueued: 64,
  jobTimeoutMs: 5000,
  resourceLimits: { maxOldGenerationSizeMb: 128 },
}

/** Worker threads that parse foreign XML off the event loop. */
export interface SamlWorkers {
  /**
   * Rejects with a reason, or with an `EdgeError` when no worker is free or the check times out. Owners take
   * turns.
   */
  check<C extends SamlCheck>(owner: string, check: C): Promise<SamlCheckResults[C['kind']]>
  close(): Promise<void>
}

export function createSamlWorkers(options: Partial<WorkerPoolOptions> = {}): SamlWorkers {
  const pool = new WorkerPool<SamlCheck, unknown>({ ...POOL_OPTIONS, ...options })
  return {
    check: <C extends SamlCheck>(owner: string, check: C) =>
      pool.run(owner, check).catch((error: unknown) => {
        throw error instanceof PoolFailure ? edgeError('login_busy') : error
      }) as Promise<SamlCheckResults[C['kind']]>,
    close: () => pool.close(),
  }
}
