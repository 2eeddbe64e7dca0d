import { createHmac } from 'node:crypto'
import { parseRetryAfter } from '../retry-after.ts'
import {
  attemptSignal,
  type DeliveryOutcome,
  delivered,
  type OutboundEvent,
  type TargetFactory,
  toFailure,
} from '../target.ts'

const MAX_CONCURRENT_REQUESTS = 16

/** An HTTP endpoint of the user, one request per event, signed according to Standard Webhooks 1.0. */
export const webhook: TargetFactory<'webhook'> = ({ url, secret }, context) => {
  const { outbound, clock } = context
  const key = signingKey(secret)

  async function send({ id, body }: OutboundEvent, signal: AbortSignal): Promise<DeliveryOutcome> {
    const seconds = Math.floor(clock.now() / 1000)
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
    try {
      const { status, headers } = await outbound.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'adit-events',
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': `v1,${signature}`,
        },
        body,
        signal: attemptSignal(signal, context),
      })
      if (status >= 200 && status < 300) return delivered
      return {
        delivered: false,
        error: `The webhook answered ${status}.`,
        retryAfterMs: parseRetryAfter(headers.get('retry-after'), clock.now()),
        gone: status === 410,
      }
    } catch (error) {
      return toFailure(error)
    }
  }

  return {
    limits: { maxEvents: 64, maxBytes: 4 * 1024 * 1024, maxEventBytes: 1024 * 1024, lingerMs: 0 },
    async deliver(batch, signal) {
      const outcomes: DeliveryOutcome[] = new Array(batch.length)
      let next = 0
      const worker = async () => {
        for (let index = next++; index < batch.length; index = next++)
          outcomes[index] = await send(batch[index]!, signal)
      }
      await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_REQUESTS, batch.length) }, worker))
      return outcomes
    },
  }
}

/** Standard Webhooks encodes keys as `whsec_` and base64; any other text is the key itself. */
function signingKey(secret: string): Buffer {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
}
