import { createHmac } from 'node:crypto'
import { retryAfter } from './retry-after.ts'
import { attempt, delivered, failed, type Outcome, type Parcel, type TargetMaker } from './target.ts'

const AT_ONCE = 16

/** An HTTP endpoint of the user's own, one request an event, signed as Standard Webhooks 1.0 says. */
export const webhook: TargetMaker<'webhook'> = ({ url, secret }, context) => {
  const { outbound, clock } = context
  const key = signingKey(secret)

  async function send({ id, body }: Parcel, signal: AbortSignal): Promise<Outcome> {
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
        signal: attempt(signal, context),
      })
      if (status >= 200 && status < 300) return delivered
      return {
        delivered: false,
        error: `The webhook answered ${status}.`,
        retryAfterMs: retryAfter(headers.get('retry-after'), clock.now()),
        gone: status === 410,
      }
    } catch (error) {
      return failed(error)
    }
  }

  return {
    limits: { maxEvents: 64, maxBytes: 4 * 1024 * 1024, maxEventBytes: 1024 * 1024, lingerMs: 0 },
    async deliver(batch, signal) {
      const outcomes: Outcome[] = new Array(batch.length)
      let next = 0
      const lane = async () => {
        for (let index = next++; index < batch.length; index = next++)
          outcomes[index] = await send(batch[index]!, signal)
      }
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, batch.length) }, lane))
      return outcomes
    },
  }
}

/** Standard Webhooks writes keys as `whsec_` and base64; any other text is taken as the key itself. */
function signingKey(secret: string): Buffer {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
}
