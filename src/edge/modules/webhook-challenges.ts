import { createHmac } from 'node:crypto'
import type { Answer } from '../response.ts'
import type { WebhookMessage } from './webhook-message.ts'

/** What a service asks of an address before, or while, it sends webhooks there: answered here, not by the upstream. */
export interface WebhookChallenge {
  /** Asked with a signature that fits: looked at after the check. Otherwise it is looked at before. */
  readonly signed: boolean
  answer(message: WebhookMessage, secret: string): Answer | undefined
}

/** What may be echoed or signed: nothing that a browser could take for a page, and no event that anybody would send. */
const CHALLENGE = /^[\w.~+/=-]{1,512}$/

/** Whether text could be a challenge, which some services ask everybody to sign with the key of their webhooks. */
export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text)
}

function text(body: string): Answer | undefined {
  if (!isChallenge(body)) return undefined
  return plain(200, body, 'text/plain; charset=utf-8')
}

function json(body: unknown): Answer {
  return plain(200, JSON.stringify(body), 'application/json')
}

function plain(status: number, body: string, type: string): Answer {
  return {
    status,
    fields: `Content-Type: ${type}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n`,
    body: Buffer.from(body),
  }
}

/** Meta: a subscription is confirmed by repeating a number. Whoever asks learns nothing but what was sent. */
const hub: WebhookChallenge = {
  signed: false,
  answer(message) {
    const challenge = message.query('hub.challenge')
    if (message.method !== 'GET' || message.query('hub.mode') !== 'subscribe' || challenge === undefined)
      return undefined
    return text(challenge)
  },
}

/** Some look whether anybody is there at all before they accept an address. */
const knock: WebhookChallenge = {
  signed: false,
  answer: ({ method }) => (method === 'HEAD' ? plain(200, '', 'text/plain; charset=utf-8') : undefined),
}

/** The challenges of services that have one, by the provider's name in the API. */
export const webhookChallenges: Readonly<Record<string, WebhookChallenge>> = {
  facebook_graph_api: hub,
  facebook_messenger: hub,
  instagram: hub,
  whatsapp: hub,
  intercom: knock,
  mailchimp: knock,
  dropbox: {
    signed: false,
    answer(message) {
      const challenge = message.method === 'GET' ? message.query('challenge') : undefined
      return challenge === undefined ? undefined : text(challenge)
    },
  },
  twitter: {
    signed: false,
    answer(message, secret) {
      const asked = message.method === 'GET' ? message.query('crc_token') : undefined
      // The answer is the signature that a webhook with this body would have: `twitter` takes no such webhook.
      if (asked === undefined || !isChallenge(asked)) return undefined
      return json({ response_token: `sha256=${createHmac('sha256', secret).update(asked).digest('base64')}` })
    },
  },
  slack: {
    signed: true,
    answer(message) {
      const { type, challenge } = (message.json() ?? {}) as Record<string, unknown>
      return type === 'url_verification' && typeof challenge === 'string' ? text(challenge) : undefined
    },
  },
  zoom: {
    signed: true,
    answer(message, secret) {
      const { event, payload } = (message.json() ?? {}) as {
        event?: unknown
        payload?: { plainToken?: unknown }
      }
      const plainToken = payload?.plainToken
      if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined
      return json({
        plainToken,
        encryptedToken: createHmac('sha256', secret).update(plainToken).digest('hex'),
      })
    },
  },
}
