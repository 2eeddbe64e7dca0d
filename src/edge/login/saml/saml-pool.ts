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
export class SamlWorkers {
  readonly #pool: WorkerPool<SamlCheck, unknown>

  constructor(options: Partial<WorkerPoolOptions> = {}) {
    this.#pool = new WorkerPool({ ...POOL_OPTIONS, ...options })
  }

  /**
   * Rejects with a reason, or with an `EdgeError` when no worker is free or the check times out. Owners take
   * turns.
   */
  check<C extends SamlCheck>(owner: string, check: C): Promise<SamlCheckResults[C['kind']]> {
    return this.#pool.run(owner, check).catch((error: unknown) => {
      throw error instanceof PoolFailure ? edgeError('login_busy') : error
    }) as Promise<SamlCheckResults[C['kind']]>
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
