import { createHash, createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import {
  type ApiReply,
  type ApiRequest,
  type ApiStandIn,
  expect,
  RecordStore,
  readQuoted,
  type StandInOptions,
  startApiStandIn,
} from './stand-in.ts'

const KEY_ID = 'AKIDEXAMPLE'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const NAMESPACE = 'xmlns="https://route53.amazonaws.com/doc/2013-04-01/"'

/** Route 53's API of 2013-04-01, as its reference documents it, with the signature checked independently of the SDK. */
export async function startRoute53(t: TestContext, options: StandInOptions): Promise<ApiStandIn> {
  const store = new RecordStore(options)
  const idOf = (zone: string) => `Z${store.zones.indexOf(zone)}EXAMPLE`

  function serve(request: ApiRequest): ApiReply {
    const { method, path, query } = request
    if (!isSigned(request))
      return fail(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.')
    if (method === 'GET' && path === '/2013-04-01/hostedzonesbyname') {
      expect(query.dnsname?.endsWith('.') && query.maxitems !== undefined, JSON.stringify(query))
      // Zones from this name on; a private zone with the same name is not public DNS.
      const zones = store.zones
        .filter((zone) => `${zone}.` >= query.dnsname!)
        .flatMap((zone) => [
          renderZone(`${idOf(zone)}PRIVATE`, zone, true),
          renderZone(idOf(zone), zone, false),
        ])
      return reply(
        `<ListHostedZonesByNameResponse ${NAMESPACE}><HostedZones>${zones.join('')}</HostedZones><IsTruncated>false</IsTruncated></ListHostedZonesByNameResponse>`,
      )
    }
    const [, zoneId] = /^\/2013-04-01\/hostedzone\/([A-Z0-9]+)\/rrset$/.exec(path) ?? []
    const zone = store.zones.find((each) => idOf(each) === zoneId)
    expect(zone !== undefined, 'no such path or zone')
    return method === 'GET' ? list(zone, query) : change(request, zone)
  }

  function list(zone: string, query: ApiRequest['query']): ApiReply {
    expect(query.type === 'TXT' && query.maxitems === '1', JSON.stringify(query))
    const names = [...new Set(store.all().map(({ name }) => `${name}.`))].sort()
    const next = names.find((name) => name >= query.name! && name.endsWith(`${zone}.`))
    const records = next === undefined ? [] : store.recordsOf(next.slice(0, -1))
    const values = records.map(({ value }) => `<ResourceRecord><Value>"${value}"</Value></ResourceRecord>`)
    const set = `<ResourceRecordSet><Name>${next}</Name><Type>TXT</Type><TTL>${records[0]?.ttl}</TTL><ResourceRecords>${values.join('')}</ResourceRecords></ResourceRecordSet>`
    return reply(
      `<ListResourceRecordSetsResponse ${NAMESPACE}><ResourceRecordSets>${next === undefined ? '' : set}</ResourceRecordSets><IsTruncated>false</IsTruncated></ListResourceRecordSetsResponse>`,
    )
  }

  function change({ method, headers, body }: ApiRequest, zone: string): ApiReply {
    expect(method === 'POST' && headers['content-type'] === 'application/xml', 'not an XML document')
    const match =
      /^<\?xml version="1\.0" encoding="UTF-8"\?><ChangeResourceRecordSetsRequest xmlns="https:\/\/route53\.amazonaws\.com\/doc\/2013-04-01\/"><ChangeBatch><Changes><Change><Action>(UPSERT|DELETE)<\/Action><ResourceRecordSet><Name>([^<]+)\.<\/Name><Type>TXT<\/Type><TTL>(\d+)<\/TTL><ResourceRecords>((?:<ResourceRecord><Value>[^<]+<\/Value><\/ResourceRecord>)+)<\/ResourceRecords><\/ResourceRecordSet><\/Change><\/Changes><\/ChangeBatch><\/ChangeResourceRecordSetsRequest>$/.exec(
        body,
      )
    expect(match !== null, body)
    const [, action, name = '', ttl, records = ''] = match
    const values = [...records.matchAll(/<Value>([^<]+)<\/Value>/g)].map(([, value]) => readQuoted(value!))
    const existing = store.recordsOf(name)
    const isSame = existing.length === values.length && existing.every(({ value }) => values.includes(value))
    if (action === 'DELETE' && !isSame)
      return invalidBatch('it was not found or does not match the current values')
    store.remove((record) => record.name === name)
    if (action === 'UPSERT') for (const value of values) store.add(zone, name, value, Number(ttl))
    return reply(
      `<ChangeResourceRecordSetsResponse ${NAMESPACE}><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status></ChangeInfo></ChangeResourceRecordSetsResponse>`,
    )
  }

  const { url, base } = await startApiStandIn(t, store, serve)
  const variables = {
    AWS_ACCESS_KEY_ID: KEY_ID,
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_ENDPOINT_URL_ROUTE_53: url,
  }
  return Object.assign(base, {
    variables,
    invalidVariables: { ...variables, AWS_SECRET_ACCESS_KEY: 'other' },
    invalidMessage:
      /Route 53 answered GET \/2013-04-01\/hostedzonesbyname with 403: The request signature we calculated does not match\. \(SignatureDoesNotMatch\)\./,
  })
}

function renderZone(id: string, zone: string, isPrivate: boolean): string {
  return `<HostedZone><Id>/hostedzone/${id}</Id><Name>${zone}.</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`
}

function reply(xml: string): ApiReply {
  return { status: 200, body: `<?xml version="1.0"?>\n${xml}` }
}

export function fail(status: number, code: string, message: string): ApiReply {
  return {
    status,
    body: `<?xml version="1.0"?>\n<ErrorResponse ${NAMESPACE}><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
  }
}

function invalidBatch(message: string): ApiReply {
  return {
    status: 400,
    body: `<?xml version="1.0"?>\n<InvalidChangeBatch ${NAMESPACE}><Messages><Message>${message}</Message></Messages></InvalidChangeBatch>`,
  }
}

/** Computes the signature (AWS Signature Version 4) again from the request. */
function isSigned({ method, path, query, headers, body }: ApiRequest): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/us-east-1\/route53\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    )
  if (match === null) return false
  const [, keyId, day = '', names = '', signature] = match
  const date = headers['x-amz-date'] ?? ''
  expect(names.split(';').includes('host') && date.startsWith(day), 'host and date have to be signed')
  const canonicalQuery = Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&')
  const canonicalHeaders = names.split(';').map((name) => `${name}:${headers[name]?.trim()}\n`)
  const canonical = [method, path, canonicalQuery, canonicalHeaders.join(''), names, sha256(body)].join('\n')
  const scope = `${day}/us-east-1/route53/aws4_request`
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = [day, 'us-east-1', 'route53', 'aws4_request'].reduce(
    (secret: string | Buffer, part) => hmac(secret, part),
    `AWS4${SECRET}`,
  )
  return keyId === KEY_ID && hmac(key, text).toString('hex') === signature
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
