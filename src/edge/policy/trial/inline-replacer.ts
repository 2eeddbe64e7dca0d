import { PolicyFailure } from '../../contracts/policy-failure.ts'
import type { BodyReplacer } from '../../services/body-replacer.ts'
import { runReplacementJob } from '../../services/replacement-job.ts'

/** Replaces text in bodies in this thread, for a command line that has nothing else to do. */
export function createInlineReplacer(): BodyReplacer {
  return {
    async replace(_owner, job) {
      try {
        return runReplacementJob(job)
      } catch (error) {
        throw new PolicyFailure((error as Error).message)
      }
    },
    async close() {},
  }
}
