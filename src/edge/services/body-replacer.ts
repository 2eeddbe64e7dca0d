import { PoolFailure, WorkerPool } from '../../base/threads/worker-pool.ts'
import { PolicyFailure } from '../contracts/policy-failure.ts'
import { edgeError } from '../errors.ts'
import type { ReplacementJob, ReplacementResult } from './replacement-job.ts'

/** Worker threads that replace text in bodies: a pattern of one tenant must not hold up the requests of the others. */
export interface BodyReplacer {
  /** Rejects with a `PolicyFailure`, or an `EdgeError` when no thread is free. Owners take turns. */
  replace(owner: string, job: ReplacementJob): Promise<ReplacementResult>
  close(): Promise<void>
}

export function createBodyReplacer(): BodyReplacer {
  const pool = new WorkerPool<ReplacementJob, ReplacementResult>({
    module: new URL('./replacement-worker.ts', import.meta.url),
    maxThreads: 3,
    maxQueued: 256,
    jobTimeoutMs: 5000,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  return {
    replace: (owner, job) =>
      pool.run(owner, job).catch((error: unknown) => {
        if (!(error instanceof PoolFailure)) throw new PolicyFailure((error as Error).message)
        throw error.code === 'busy' ? edgeError('too_many_bodies') : new PolicyFailure(error.message)
      }),
    close: () => pool.close(),
  }
}
