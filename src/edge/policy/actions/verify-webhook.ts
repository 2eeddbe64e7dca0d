import type { Activation, Template } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { edgeError } from '../../errors.ts'
import {
  createWebhookVerifier,
  rejectWebhook,
  type WebhookVerdict,
} from '../../modules/webhook-verification.ts'
import type { EdgeResponse } from '../../response/response.ts'
import type { RequestExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

export const verifyWebhook: Implementation<'verify-webhook'> = {
  on_http_request({ provider, secret, enforce }, context) {
    const fixed =
      secret.literal === undefined
        ? undefined
        : createWebhookVerifier({ provider, secret: secret.literal }, context)

    const decide = (
      execution: RequestExecution,
      { fault, response }: WebhookVerdict,
    ): EdgeResponse | undefined => {
      const error = fault === undefined ? undefined : edgeError('webhook_denied', fault)
      execution.results.verify_webhook = { verified: fault === undefined, ...errorResult(error) }
      if (fault === undefined ? response === undefined : !enforce) return undefined
      execution.guardAnswered = true
      return fault === undefined ? response : rejectWebhook(provider, execution.exchange, fault)
    }

    return (execution) => {
      const verify =
        fixed ?? createWebhookVerifier({ provider, secret: evaluate(secret, execution) }, context)
      const verdict = verify(execution.exchange)
      return verdict instanceof Promise
        ? verdict.then((settled) => decide(execution, settled))
        : decide(execution, verdict)
    }
  },
}

/** Anybody can sign with an empty secret. */
function evaluate(template: Template, activation: Activation): string {
  const secret = template.evaluate(activation)
  if (secret === '') throw new PolicyFailure('the secret of verify-webhook is empty')
  return secret
}
