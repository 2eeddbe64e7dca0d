import { retryAfter } from './retry-after.ts'
import { attempt, DeliveryFailed, delivered, type TargetMaker } from './target.ts'

const DEFAULT_SITE = 'datadoghq.com'
// The intake takes 1,000 entries and 5 MB at a time; the rest of the room is for what each entry is wrapped in.
const MAX_EVENTS = 1000
const MAX_BYTES = 3 * 1024 * 1024
const REASONS: Readonly<Record<number, string>> = {
  400: 'the request was refused as malformed',
  401: 'the API key is not accepted',
  403: 'the API key is not accepted',
  413: 'the batch is too large',
  429: 'too many requests',
}

/** The log intake of the monitoring provider (v2 of its HTTP interface). */
export const monitoring: TargetMaker<'monitoring'> = ({ api_key, ddtags, service, ddsite }, context) => {
  const { outbound, clock, endpoints } = context
  const site = ddsite === '' ? DEFAULT_SITE : ddsite
  const url = `${endpoints.monitoring ?? `https://http-intake.logs.${site}`}/api/v2/logs`
  const labels = JSON.stringify({
    ddsource: 'adit',
    ...(ddtags === '' ? {} : { ddtags }),
    ...(service === '' ? {} : { service }),
  })
  // All that is the same in every entry is text made once: there may be one for each request of a visitor.
  const opening = `${labels.slice(0, -1)},"message":`
  return {
    limits: { maxEvents: MAX_EVENTS, maxBytes: MAX_BYTES, maxEventBytes: 900_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const { status, headers } = await outbound.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'dd-api-key': api_key, 'user-agent': 'adit-events' },
        body: `[${batch.map(({ body }) => `${opening}${JSON.stringify(body)}}`).join(',')}]`,
        signal: attempt(signal, context),
      })
      if (status >= 200 && status < 300) return batch.map(() => delivered)
      const reason = REASONS[status]
      throw new DeliveryFailed(
        `The log intake answered ${status}${reason === undefined ? '' : `: ${reason}`}.`,
        { retryAfterMs: retryAfter(headers.get('retry-after'), clock.now()) },
      )
    },
  }
}
