import { errorMessage } from '../../../base/text/error-message.ts'
import { callApi, type ProviderCall } from './api-call.ts'
import {
  CHALLENGE_TTL,
  DnsProviderError,
  defineProvider,
  findClosestZone,
  type ProviderZone,
  quote,
} from './provider.ts'

const API = '/2013-04-01'
const NAMESPACE = 'https://route53.amazonaws.com/doc/2013-04-01/'
// Route 53 is a global service; its requests are signed for this region.
const REGION = 'us-east-1'
const TRANSIENT_CODES = ['Throttling', 'ThrottlingException', 'PriorRequestNotComplete']

/** A TXT record set; `values` are as the XML has them, so that those of others are written back unchanged. */
interface RecordSet {
  readonly ttl: string
  readonly values: readonly string[]
}

/**
 * Amazon Route 53. Without an access key, credentials come from where the AWS SDK looks for them: profiles and the role of
 * the machine. They need ListHostedZonesByName, ListResourceRecordSets and ChangeResourceRecordSets.
 */
export const route53 = defineProvider({
  title: 'Route 53',
  variables: {
    accessKeyId: { names: ['AWS_ACCESS_KEY_ID'], optional: true },
    secretAccessKey: { names: ['AWS_SECRET_ACCESS_KEY'], optional: true },
    sessionToken: { names: ['AWS_SESSION_TOKEN'], optional: true },
    hostedZoneId: { names: ['AWS_HOSTED_ZONE_ID'], optional: true },
    endpoint: { names: ['AWS_ENDPOINT_URL_ROUTE_53'], fallback: 'https://route53.amazonaws.com' },
  },
  open(settings, context) {
    const base = settings.endpoint.replace(/\/+$/, '')
    const sign = createSigner(settings)
    const dialect = {
      title: 'Route 53',
      reason: (body: string) => {
        const [message] = readElements(body, 'Message')
        return message && `${decodeText(message)} (${readElements(body, 'Code')[0] ?? 'InvalidChangeBatch'})`
      },
      isTransient: (_status: number, body: string) =>
        TRANSIENT_CODES.includes(readElements(body, 'Code')[0] ?? ''),
    }

    async function call(
      method: ProviderCall['method'],
      path: string,
      query: Readonly<Record<string, string>>,
      body?: string,
    ): Promise<string> {
      const url = new URL(`${base}${API}${path}`)
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      const headers: Record<string, string> = {
        host: url.host,
        ...(body === undefined ? {} : { 'content-type': 'application/xml' }),
      }
      const request: ProviderCall = { method, url, headers, ...(body === undefined ? {} : { body }) }
      return (await callApi(dialect, request, context, sign)).text
    }

    async function read(zone: ProviderZone, name: string): Promise<RecordSet | undefined> {
      const query = { name: `${name}.`, type: 'TXT', maxitems: '1' }
      const xml = await call('GET', `/hostedzone/${zone.id}/rrset`, query)
      // The list starts at the requested name; if that has no record, the first entry is that of a later name.
      const [set] = readElements(xml, 'ResourceRecordSet')
      const isRequested =
        set !== undefined &&
        readElements(set, 'Name')[0] === `${name}.` &&
        readElements(set, 'Type')[0] === 'TXT'
      if (!isRequested) return undefined
      return { ttl: readElements(set, 'TTL')[0] ?? String(CHALLENGE_TTL), values: readElements(set, 'Value') }
    }

    async function change(
      zone: ProviderZone,
      name: string,
      action: 'UPSERT' | 'DELETE',
      { ttl, values }: RecordSet,
    ): Promise<void> {
      const records = values.map((value) => `<ResourceRecord><Value>${value}</Value></ResourceRecord>`)
      const set = `<Name>${name}.</Name><Type>TXT</Type><TTL>${ttl}</TTL><ResourceRecords>${records.join('')}</ResourceRecords>`
      const batch = `<Changes><Change><Action>${action}</Action><ResourceRecordSet>${set}</ResourceRecordSet></Change></Changes>`
      await call(
        'POST',
        `/hostedzone/${zone.id}/rrset`,
        {},
        `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="${NAMESPACE}"><ChangeBatch>${batch}</ChangeBatch></ChangeResourceRecordSetsRequest>`,
      )
    }

    return {
      async findZone(name) {
        const { hostedZoneId } = settings
        if (hostedZoneId !== undefined) return { id: hostedZoneId, name }
        return findClosestZone(name, async (candidate) => {
          const xml = await call('GET', '/hostedzonesbyname', { dnsname: `${candidate}.`, maxitems: '10' })
          const zone = readElements(xml, 'HostedZone').find(
            (each) =>
              readElements(each, 'Name')[0] === `${candidate}.` &&
              readElements(each, 'PrivateZone')[0] !== 'true',
          )
          const id = zone && readElements(zone, 'Id')[0]
          return id === undefined ? undefined : { id: id.replace('/hostedzone/', ''), name: candidate }
        })
      },
      async addTxt(zone, name, values) {
        const existing = await read(zone, name)
        const missing = values.map(quote).filter((value) => !includesText(existing, value))
        if (missing.length === 0) return
        const ttl = existing?.ttl ?? String(CHALLENGE_TTL)
        await change(zone, name, 'UPSERT', { ttl, values: [...(existing?.values ?? []), ...missing] })
      },
      async removeTxt(zone, name, values) {
        const existing = await read(zone, name)
        if (existing === undefined) return
        const quoted = values.map(quote)
        const others = existing.values.filter((value) => !quoted.includes(decodeText(value)))
        if (others.length === existing.values.length) return
        if (others.length === 0) await change(zone, name, 'DELETE', existing)
        else await change(zone, name, 'UPSERT', { ...existing, values: others })
      },
    }
  },
})

/**
 * The signer and the credential chain of the AWS SDK, taken from its client for STS, which is a dependency already: a
 * client for Route 53 would be another one, for three calls.
 */
function createSigner(settings: {
  accessKeyId: string | undefined
  secretAccessKey: string | undefined
  sessionToken: string | undefined
}) {
  const { accessKeyId, secretAccessKey, sessionToken } = settings
  const credentials =
    accessKeyId !== undefined && secretAccessKey !== undefined
      ? { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
      : undefined

  return async ({ method, url, headers, body }: ProviderCall): Promise<Readonly<Record<string, string>>> => {
    const { STSClient } = await import('@aws-sdk/client-sts')
    const client = new STSClient({ region: REGION, ...(credentials === undefined ? {} : { credentials }) })
    const scheme = { name: 'sigv4', signingName: 'route53', signingRegion: REGION, properties: {} }
    const signer = await client.config.signer(scheme)
    const signed = await signer
      .sign({
        method,
        headers: { ...headers },
        body,
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
      })
      .catch((error) => {
        throw new DnsProviderError(`There are no AWS credentials for Route 53: ${errorMessage(error)}`, {
          cause: error,
        })
      })
      .finally(() => client.destroy())
    return signed.headers
  }
}

/** The contents of all elements with this name, as the XML has them. */
function readElements(xml: string, name: string): string[] {
  const open = `<${name}>`
  return xml
    .split(open)
    .slice(1)
    .flatMap((rest) => {
      const end = rest.indexOf(`</${name}>`)
      return end < 0 ? [] : [rest.slice(0, end)]
    })
}

function decodeText(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

function includesText(set: RecordSet | undefined, value: string): boolean {
  return set?.values.some((each) => decodeText(each) === value) ?? false
}
