import { CostExceeded, EvaluationError } from '../../policy/index.ts'
import { EdgeError, edgeError } from '../errors.ts'
import type { PolicyContext } from './context.ts'

/** An action cannot do what its configuration asks for with this request. Its owner finds the message in the log. */
export class PolicyFailure extends Error {
  override name = 'PolicyFailure'
}

/** What a request that a policy failed for is rejected with; any other error stays what it is. */
export function toRejection(error: unknown, { log, endpoint, accountId }: PolicyContext): unknown {
  if (error instanceof EdgeError) return error
  const expected =
    error instanceof PolicyFailure || error instanceof EvaluationError || error instanceof CostExceeded
  if (!expected) return error
  log.info({ endpoint: endpoint.id, accountId, reason: error.message }, 'traffic policy failed')
  return edgeError('policy_failed')
}
