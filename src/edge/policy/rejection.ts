import { CostExceeded, EvaluationError } from '../../cel/index.ts'
import { UndecidedRule } from '../../policy/index.ts'
import { ResponseTooLarge } from '../contracts/held-response.ts'
import { PolicyFailure } from '../contracts/policy-failure.ts'
import { EdgeError, edgeError } from '../errors.ts'
import type { Execution } from './execution.ts'

/** What traffic that a policy failed for is rejected with; any other error stays what it is. */
export function toRejection(error: unknown, execution: Execution): unknown {
  if (error instanceof EdgeError || !isPolicyFailure(error)) return error
  const { log, endpoint, accountId } = execution.context
  const { message: reason } = error
  log.info({ endpoint: endpoint.id, accountId, reason }, 'traffic policy failed')
  execution.log({ policy_failure: reason })
  return error instanceof UndecidedRule
    ? edgeError('rule_undecided', error.guard, withoutValues(error.reason))
    : edgeError('policy_failed')
}

/** Whether a policy could not be applied, which is no bug of ours. */
export const isPolicyFailure = (error: unknown): error is Error =>
  error instanceof PolicyFailure ||
  error instanceof UndecidedRule ||
  error instanceof ResponseTooLarge ||
  error instanceof EvaluationError ||
  error instanceof CostExceeded

/** Visitors see which value was wrong, but not the value: it may be a secret. */
const withoutValues = (reason: string) => reason.replace(/^"(?:[^"\\]|\\.)*"/, 'a text')
