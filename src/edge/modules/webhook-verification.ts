import { type Settings, WebhookVerification } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { holdBody } from '../held-body.ts'
import { defineModule } from '../module.ts'
import { type Answer, answerRefusal } from '../response.ts'
import { Broken, type World } from './context.ts'
import { webhookChallenges } from './webhook-challenges.ts'
import { WebhookMessage } from './webhook-message.ts'
import { uncheckedProviders, webhookSchemes } from './webhook-schemes.ts'

/** The largest body that is kept back to be checked; webhooks are far smaller. */
const MAX_BODY = 1024 * 1024

/** Services that sign with a key whose other half is public. */
const WITHOUT_SECRET = new Set(['sns'])

/** Services that ask for another status than 403 when a webhook is turned away. */
const STATUS: Readonly<Record<string, number>> = { xero: 401 }

/** Admits only webhooks signed by the service they claim to come from. */
export const webhookVerification = defineModule(WebhookVerification, {
  phase: 'request',
  build({ provider, secret }: Settings<typeof WebhookVerification>, world: World) {
    const name = provider.toLowerCase()
    const unchecked = Object.hasOwn(uncheckedProviders, name) ? uncheckedProviders[name] : undefined
    if (unchecked !== undefined) throw new Broken(`webhooks of ${name} cannot be checked here: ${unchecked}`)
    const scheme = Object.hasOwn(webhookSchemes, name) ? webhookSchemes[name] : undefined
    if (scheme === undefined) throw new Broken(`${name} is not a known provider of webhooks`)
    // Also when it is there but could not be unsealed.
    if (typeof secret !== 'string' || (secret === '' && !WITHOUT_SECRET.has(name)))
      throw new Broken('its secret is missing')
    const check = scheme(secret, world)
    const challenge = Object.hasOwn(webhookChallenges, name) ? webhookChallenges[name] : undefined

    const judge = (
      exchange: Exchange,
      body: Buffer | undefined,
    ): Answer | undefined | Promise<Answer | undefined> => {
      // The visitor left; nobody waits for what is decided.
      if (body === undefined) return undefined
      const message = new WebhookMessage(exchange, body)
      if (challenge?.signed === false) {
        const answer = challenge.answer(message, secret)
        if (answer !== undefined) return answer
      }
      const fault = check(message, world.clock.now())
      return fault instanceof Promise
        ? fault.then((found) => decide(exchange, message, found))
        : decide(exchange, message, fault)
    }

    const decide = (
      exchange: Exchange,
      message: WebhookMessage,
      fault: string | undefined,
    ): Answer | undefined => {
      exchange.note('webhook_verification.decision', fault === undefined ? 'allow' : 'block')
      if (fault !== undefined) return turnAway(exchange, fault)
      return challenge?.signed ? challenge.answer(message, secret) : undefined
    }

    const turnAway = (exchange: Exchange, fault: string): Answer => {
      const refused = refusal('webhook_denied', fault)
      const status = STATUS[name]
      if (status === undefined) throw refused
      return { ...answerRefusal(refused, exchange.fields.get('accept') ?? ''), status }
    }

    return (exchange) => {
      const body = holdBody(exchange, MAX_BODY)
      return body instanceof Promise ? body.then((whole) => judge(exchange, whole)) : judge(exchange, body)
    }
  },
})
