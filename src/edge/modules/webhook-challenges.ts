import { createHmac } from 'node:crypto'
import type { Answer } from '../response.ts'
import type { WebhookMessage } from './webhook-message.ts'

/** What a service asks of an address before, or while, it sends webhooks there: answered here, not by the upstream. */
export interface WebhookChallenge {
  /** Asked with a signature that fits: looked at after the check. Otherwise it is looked at before. */
  readonly signed: boolean
  respond(message: WebhookMessage, secret: string): Answer | undefined
}

/** What may be echoed or signed: nothing that a browser could take for a page, and no event that anybody would send. */
const CHALLENGE_PATTERN = /^[\w.~+/=-]{1,512}$/

/** Whether text could be a challenge, which some services ask everybody to sign with the key of their webhooks. */
export function isChallenge(text: string): boolean {
  return CHALLENGE_PATTERN.test(text)
}

function textResponse(body: string): Answer | undefined {
  if (!isChallenge(body)) return undefined
  return createResponse(200, body, 'text/plain; charset=utf-8')
}

function jsonResponse(body: unknown): Answer {
  return createResponse(200, JSON.stringify(body), 'application/json')
}

function createResponse(status: number, body: string, type: string): Answer {
  return {
    status,
    fields: `Content-Type: ${type}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n`,
    body: Buffer.from(body),
  }
}

/** Meta: a subscription is confirmed by repeating a number. Whoever asks learns nothing but what was sent. */
const hubChallenge: WebhookChallenge = {
  signed: false,
  respond(message) {
    const challenge = message.query('hub.challenge')
    if (message.method !== 'GET' || message.query('hub.mode') !== 'subscribe' || challenge === undefined)
      return undefined
    return textResponse(challenge)
  },
}

/** Some look whether anybody is there at all before they accept an address. */
const reachabilityCheck: WebhookChallenge = {
  signed: false,
  respond: ({ method }) =>
    method === 'HEAD' ? createResponse(200, '', 'text/plain; charset=utf-8') : undefined,
}

/** The challenges of services that have one, by the provider's name in the API. */
export const webhookChallenges: Readonly<Record<string, WebhookChallenge>> = {
  facebook_graph_api: hubChallenge,
  facebook_messenger: hubChallenge,
  instagram: hubChallenge,
  whatsapp: hubChallenge,
  intercom: reachabilityCheck,
  mailchimp: reachabilityCheck,
  dropbox: {
    signed: false,
    respond(message) {
      const challenge = message.method === 'GET' ? message.query('challenge') : undefined
      return challenge === undefined ? undefined : textResponse(challenge)
    },
  },
  twitter: {
    signed: false,
    respond(message, secret) {
      const token = message.method === 'GET' ? message.query('crc_token') : undefined
      // The answer is the signature that a webhook with this body would have: `twitter` takes no such webhook.
      if (token === undefined || !isChallenge(token)) return undefined
      return jsonResponse({
        response_token: `sha256=${createHmac('sha256', secret).update(token).digest('base64')}`,
      })
    },
  },
  slack: {
    signed: true,
    respond(message) {
      const { type, challenge } = (message.json() ?? {}) as Record<string, unknown>
      return type === 'url_verification' && typeof challenge === 'string'
        ? textResponse(challenge)
        : undefined
    },
  },
  zoom: {
    signed: true,
    respond(message, secret) {
      const { event, payload } = (message.json() ?? {}) as {
        event?: unknown
        payload?: { plainToken?: unknown }
      }
      const plainToken = payload?.plainToken
      if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined
      return jsonResponse({
        plainToken,
        encryptedToken: createHmac('sha256', secret).update(plainToken).digest('hex'),
      })
    },
  },
}
