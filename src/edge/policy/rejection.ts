import { CostExceeded, EvaluationError } from '../../policy/index.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { ResponseTooLarge } from '../held-response.ts'
import type { PolicyContext } from './context.ts'
import { PolicyFailure } from './failure.ts'

/** What a request that a policy failed for is rejected with; any other error stays what it is. */
export function toRejection(error: unknown, { log, endpoint, accountId }: PolicyContext): unknown {
  if (error instanceof EdgeError) return error
  const expected =
    error instanceof PolicyFailure ||
    error instanceof ResponseTooLarge ||
    error instanceof EvaluationError ||
    error instanceof CostExceeded
  if (!expected) return error
  log.info({ endpoint: endpoint.id, accountId, reason: error.message }, 'traffic policy failed')
  return edgeError('policy_failed')
}
