import { type Settings, WebhookVerification } from '../../resources/index.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { holdBody } from '../contracts/held-body.ts'
import { implementModule } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import type { EdgeResponse } from '../response/response.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'
import { webhookChallenges } from './webhook-challenges.ts'
import { WebhookMessage } from './webhook-message.ts'
import { unsupportedProviders, webhookSchemes } from './webhook-schemes.ts'

/** The largest body that is buffered for verification; webhooks are far smaller. */
const MAX_BODY_BYTES = 1024 * 1024

/** Providers that sign with a published key. */
const PROVIDERS_WITHOUT_SECRET = new Set(['sns'])

/** Providers that expect another status than 403 for a rejected webhook. */
const REJECTION_STATUS: Readonly<Record<string, number>> = { xero: 401 }

/** What became of a webhook: why it is rejected, or what answers the challenge of a provider. */
export interface WebhookVerdict {
  readonly fault?: string
  readonly response?: EdgeResponse
}

/** Admits only webhooks signed by the configured provider. */
export const webhookVerification = implementModule(WebhookVerification, {
  phase: 'request',
  build({ provider, secret }: Settings<typeof WebhookVerification>, context: ModuleContext) {
    const verify = createWebhookVerifier({ provider, secret }, context)
    const decide = (exchange: Exchange, { fault, response }: WebhookVerdict) =>
      fault === undefined ? response : rejectWebhook(provider, exchange, fault)

    return (exchange) => {
      const verdict = verify(exchange)
      return verdict instanceof Promise
        ? verdict.then((settled) => decide(exchange, settled))
        : decide(exchange, verdict)
    }
  },
})

/** Compiles the verification of a provider's webhooks. Throws `ModuleConfigError` when there is none. */
export function createWebhookVerifier(
  { provider, secret }: { readonly provider: string; readonly secret: string | null },
  context: ModuleContext,
): (exchange: Exchange) => WebhookVerdict | Promise<WebhookVerdict> {
  const name = provider.toLowerCase()
  const unsupportedReason = Object.hasOwn(unsupportedProviders, name) ? unsupportedProviders[name] : undefined
  if (unsupportedReason !== undefined)
    throw new ModuleConfigError(`webhooks of ${name} cannot be checked here: ${unsupportedReason}`)
  const scheme = Object.hasOwn(webhookSchemes, name) ? webhookSchemes[name] : undefined
  if (scheme === undefined) throw new ModuleConfigError(`${name} is not a known provider of webhooks`)
  // Null when the stored secret could not be decrypted.
  if (typeof secret !== 'string' || (secret === '' && !PROVIDERS_WITHOUT_SECRET.has(name)))
    throw new ModuleConfigError('its secret is missing')
  const check = scheme(secret, context.services)
  const challenge = Object.hasOwn(webhookChallenges, name) ? webhookChallenges[name] : undefined

  const verify = (exchange: Exchange, body: Buffer | undefined): WebhookVerdict | Promise<WebhookVerdict> => {
    // The client disconnected; the decision no longer matters.
    if (body === undefined) return {}
    const message = new WebhookMessage(exchange, body)
    if (challenge?.signed === false) {
      const response = challenge.respond(message, secret)
      if (response !== undefined) return { response }
    }
    const fault = check(message, context.clock.now())
    return fault instanceof Promise
      ? fault.then((asyncFault) => decide(exchange, message, asyncFault))
      : decide(exchange, message, fault)
  }

  const decide = (exchange: Exchange, message: WebhookMessage, fault: string | undefined): WebhookVerdict => {
    exchange.annotate('webhook_verification.decision', fault === undefined ? 'allow' : 'block')
    if (fault !== undefined) return { fault }
    const response = challenge?.signed ? challenge.respond(message, secret) : undefined
    return response === undefined ? {} : { response }
  }

  return (exchange) => {
    const body = holdBody(exchange, MAX_BODY_BYTES)
    return body instanceof Promise
      ? body.then((completeBody) => verify(exchange, completeBody))
      : verify(exchange, body)
  }
}

/** Rejects a webhook with the status that its provider expects. */
export function rejectWebhook(provider: string, exchange: Exchange, fault: string): EdgeResponse {
  const error = edgeError('webhook_denied', fault)
  const status = REJECTION_STATUS[provider.toLowerCase()]
  if (status === undefined) throw error
  return { ...exchange.renderError(error), status }
}
