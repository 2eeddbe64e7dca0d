import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { parseRetryAfter } from '../retry-after.ts'
import {
  attemptSignal,
  DeliveryFailed,
  delivered,
  type OutboundEvent,
  type TargetFactory,
} from '../target.ts'

const DEFAULT_SITE = 'datadoghq.com'
// The intake accepts 1,000 entries and 5 MB per request; the rest is for the envelope of each entry.
const MAX_EVENTS = 1000
const MAX_BYTES = 3 * 1024 * 1024
// Entries written before yielding to the event loop: traffic comes first.
const SLICE_SIZE = 32
const STATUS_REASONS: Readonly<Record<number, string>> = {
  400: 'the request was rejected as malformed',
  401: 'the API key is not accepted',
  403: 'the API key is not accepted',
  413: 'the batch is too large',
  429: 'too many requests',
}

/** The log intake of the monitoring provider (v2 of its HTTP API). */
export const monitoring: TargetFactory<'monitoring'> = ({ api_key, ddtags, service, ddsite }, context) => {
  const { outbound, clock, endpoints } = context
  const site = ddsite === '' ? DEFAULT_SITE : ddsite
  const url = `${endpoints.monitoring ?? `https://http-intake.logs.${site}`}/api/v2/logs`
  const labels = JSON.stringify({
    ddsource: 'adit',
    ...(ddtags === '' ? {} : { ddtags }),
    ...(service === '' ? {} : { service }),
  })
  // The constant text of an entry is built once: there may be one entry for each client request.
  const entryPrefix = `${labels.slice(0, -1)},"message":`
  return {
    limits: { maxEvents: MAX_EVENTS, maxBytes: MAX_BYTES, maxEventBytes: 900_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const { status, headers } = await outbound.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'dd-api-key': api_key, 'user-agent': 'adit-events' },
        body: await renderEntries(batch, entryPrefix),
        signal: attemptSignal(signal, context),
      })
      if (status >= 200 && status < 300) return batch.map(() => delivered)
      const reason = STATUS_REASONS[status]
      throw new DeliveryFailed(
        `The log intake answered ${status}${reason === undefined ? '' : `: ${reason}`}.`,
        { retryAfterMs: parseRetryAfter(headers.get('retry-after'), clock.now()) },
      )
    },
  }
}

/** Renders a JSON array with one entry per event. */
async function renderEntries(batch: readonly OutboundEvent[], entryPrefix: string): Promise<Buffer> {
  const entries: string[] = []
  for (const [index, event] of batch.entries()) {
    entries.push(`${entryPrefix}${event.quoted ?? JSON.stringify(event.body)}}`)
    if (index % SLICE_SIZE === SLICE_SIZE - 1) await yieldToEventLoop()
  }
  return Buffer.from(`[${entries.join(',')}]`)
}
