import { parseRetryAfter } from '../retry-after.ts'
import {
  attemptSignal,
  DeliveryFailed,
  delivered,
  type OutboundEvent,
  type TargetContext,
  type TargetFactory,
} from '../target.ts'

const LOGIN_URL = 'https://login.microsoftonline.com'
const API_VERSION = '2023-01-01'
// The API accepts 1 MB per request.
const MAX_BYTES = 900_000
/** A token is renewed this long before it expires. */
const TOKEN_MARGIN_MS = 5 * 60_000
const STATUS_REASONS: Readonly<Record<number, string>> = {
  400: 'the stream of the data collection rule does not accept the events',
  401: 'the token is not accepted',
  403: 'the application may not write to the data collection rule',
  404: 'there is no such data collection rule or stream',
  413: 'the batch is too large',
  429: 'too many requests',
}

/** The Logs Ingestion API of Azure Monitor, authenticated with the client credentials of an Entra application. */
export const azureLogsIngestion: TargetFactory<'azure_logs_ingestion'> = (settings, context) => {
  const { tenant_id, logs_ingestion_uri, data_collection_rule_id, data_collection_stream_name } = settings
  const { outbound, clock, endpoints } = context
  const base = logs_ingestion_uri.replace(/\/$/, '')
  const rule = encodeURIComponent(data_collection_rule_id)
  const stream = encodeURIComponent(data_collection_stream_name)
  const url = `${base}/dataCollectionRules/${rule}/streams/${stream}?api-version=${API_VERSION}`
  const tokenUrl = `${endpoints.azure_login ?? LOGIN_URL}/${encodeURIComponent(tenant_id)}/oauth2/v2.0/token`
  let token: { readonly value: string; readonly expiresAt: number } | undefined

  async function currentToken(signal: AbortSignal): Promise<string> {
    if (token === undefined || token.expiresAt <= clock.now()) token = await requestToken(signal)
    return token.value
  }

  async function requestToken(signal: AbortSignal): Promise<{ value: string; expiresAt: number }> {
    const response = await outbound.fetch(tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'adit-events' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: settings.client_id,
        client_secret: settings.client_secret,
        scope: 'https://monitor.azure.com/.default',
      }).toString(),
      signal: attemptSignal(signal, context),
    })
    if (!response.ok) throw failure('The sign-in of the application', response, context)
    const { access_token, expires_in } = (await response.json().catch(() => ({}))) as {
      access_token?: unknown
      expires_in?: unknown
    }
    if (typeof access_token !== 'string')
      throw new DeliveryFailed('The sign-in of the application gave no token.')
    const lifetimeMs = (Number(expires_in) || 0) * 1000
    return { value: access_token, expiresAt: clock.now() + Math.max(0, lifetimeMs - TOKEN_MARGIN_MS) }
  }

  return {
    limits: { maxEvents: 1000, maxBytes: MAX_BYTES, maxEventBytes: MAX_BYTES, lingerMs: 0 },
    async deliver(batch, signal) {
      const response = await outbound.fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await currentToken(signal)}`,
          'content-type': 'application/json',
          'user-agent': 'adit-events',
        },
        body: `[${batch.map(renderRow).join(',')}]`,
        signal: attemptSignal(signal, context),
      })
      if (response.ok) return batch.map(() => delivered)
      // The secret may have been replaced, or the token revoked.
      if (response.status === 401) token = undefined
      throw failure('The log intake', response, context)
    },
  }
}

/** The event with the time column that every table requires. */
function renderRow({ time, body }: OutboundEvent): string {
  return `{"TimeGenerated":"${new Date(time).toISOString()}",${body.slice(1)}`
}

function failure(who: string, { status, headers }: Response, { clock }: TargetContext): DeliveryFailed {
  const reason = STATUS_REASONS[status]
  return new DeliveryFailed(`${who} answered ${status}${reason === undefined ? '' : `: ${reason}`}.`, {
    retryAfterMs: parseRetryAfter(headers.get('retry-after'), clock.now()),
  })
}
