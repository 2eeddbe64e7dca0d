import { createHmac } from 'node:crypto'
import type { EdgeResponse } from '../response/response.ts'
import type { WebhookMessage } from './webhook-message.ts'

/** A request by which a provider validates a webhook URL. The edge answers it, not the upstream. */
export interface WebhookChallenge {
  /** Whether the challenge is signed. Signed ones are answered after verification, others before. */
  readonly signed: boolean
  respond(message: WebhookMessage, secret: string): EdgeResponse | undefined
}

/** What may be echoed or signed: nothing a browser would render as a page, and nothing that is a valid event. */
const CHALLENGE_PATTERN = /^[\w.~+/=-]{1,512}$/

/** Whether text could be a challenge. Some providers let anyone have a challenge signed with the webhook key. */
export function isChallenge(text: string): boolean {
  return CHALLENGE_PATTERN.test(text)
}

function textResponse(body: string): EdgeResponse | undefined {
  if (!isChallenge(body)) return undefined
  return createResponse(200, body, 'text/plain; charset=utf-8')
}

function jsonResponse(body: unknown): EdgeResponse {
  return createResponse(200, JSON.stringify(body), 'application/json')
}

function createResponse(status: number, body: string, type: string): EdgeResponse {
  return {
    status,
    fields: `Content-Type: ${type}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n`,
    body: Buffer.from(body),
  }
}

/** Meta confirms a subscription by an echoed number. The response reveals nothing but what was sent. */
const hubChallenge: WebhookChallenge = {
  signed: false,
  respond(message) {
    const challenge = message.query('hub.challenge')
    if (message.method !== 'GET' || message.query('hub.mode') !== 'subscribe' || challenge === undefined)
      return undefined
    return textResponse(challenge)
  },
}

/** Some providers check that a URL is reachable before they accept it. */
const reachabilityCheck: WebhookChallenge = {
  signed: false,
  respond: ({ method }) =>
    method === 'HEAD' ? createResponse(200, '', 'text/plain; charset=utf-8') : undefined,
}

/** The challenges of providers that have one, by the provider's name in the API. */
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
      // The response is the signature of a webhook with this body, so `twitter` rejects such webhooks.
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
