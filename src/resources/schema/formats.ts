import { domainToASCII, domainToUnicode } from 'node:url'
import { Type } from 'typebox'
import { HostBitsError, parseCidr } from '../../base/values/cidr.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { parseDomain, parseDomainPort } from '../../base/values/domain.ts'
import { parseAclRule } from './acl.ts'
import {
  choice,
  described,
  documentedAs,
  emptyAsUnset,
  InvalidValue,
  list,
  nullable,
  object,
  parsed,
  plain,
  text,
} from './value.ts'

/** The regions of the API documents; `--region` sets the one of this server. */
export const REGIONS = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const
export const region = emptyAsUnset(choice(REGIONS, 'us'))

export const cidr = parsed(
  64,
  (value) => parseCidr(value).text,
  (error) => (error instanceof HostBitsError ? 'cidr_not_lowest' : 'cidr_invalid'),
)

/** A DNS name that can be registered: not an IP address, and with valid punycode labels. */
function parseOwnableDomain(text: string): string {
  const name = parseDomain(text)
  // RFC 3696 section 2: no top-level domain is numeric, which distinguishes names from addresses.
  if (/(^|\.)[0-9]+$/.test(name)) throw new Error(`"${text}" is an address, not a domain name.`)
  const invalidLabel = name.split('.').find((label) => label.startsWith('xn--') && !isPunycode(label))
  if (invalidLabel !== undefined)
    throw new Error(`"${text}": the label ${invalidLabel} is not valid punycode.`)
  return name
}

/** Whether the label decodes, and encodes back to the same label. */
function isPunycode(label: string): boolean {
  const characters = domainToUnicode(label)
  return characters !== label && domainToASCII(characters) === label
}

export const domain = parsed(255, parseOwnableDomain)

/** A list of unique `host:port` values. */
export const hostports = described(
  nullable(
    list(
      parsed(300, (value) => {
        const { host, port } = parseDomainPort(value)
        return `${host}:${port}`
      }),
      {
        maxItems: 100,
        rule: (items) =>
          new Set(items).size === items.length ? undefined : 'names the same hostport twice.',
      },
    ),
  ),
  'The addresses that the edge serves, each a host and a port: app.example.com:443.',
  ['app.example.com:443'],
)

export const acl = described(
  list(
    parsed(600, (value) => parseAclRule(value).text),
    { maxItems: 100 },
  ),
  'The addresses that may be bound, such as bind:app.example.com, bind:*.example.com or bind:app=shop. Without rules, any address may be bound.',
  ['bind:app.example.com'],
)

const RFC3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?)([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const FIRST_YEAR = Date.parse('0000-01-01T00:00:00Z')
const AFTER_LAST_YEAR = Date.UTC(10_000, 0)

/** Parses an RFC 3339 time with an offset and a valid day to milliseconds; NaN for anything else. */
function parseRfc3339(text: string): number {
  const [, date = '', time = '', offset = ''] = RFC3339.exec(text) ?? []
  // Date would silently turn the 31st of a short month into a day of the next month.
  if (date === '' || new Date(`${date}T00:00:00Z`).toISOString().slice(0, 10) !== date) return Number.NaN
  const milliseconds = Date.parse(`${date}T${time}${offset.toUpperCase()}`)
  // An offset can move times of the first and last year beyond four digits.
  return milliseconds >= FIRST_YEAR && milliseconds < AFTER_LAST_YEAR ? milliseconds : Number.NaN
}

/** An RFC 3339 time, stored in UTC with whole seconds. */
export const rfc3339 = documentedAs(
  plain<string>(Type.String({ maxLength: 64 }), '', (value, path) => {
    const milliseconds = parseRfc3339(value)
    if (Number.isNaN(milliseconds))
      throw new InvalidValue(
        path,
        `${path}: "${value}" is not a time in RFC 3339 format, such as 2030-01-31T12:00:00Z.`,
      )
    return formatTimestamp(milliseconds)
  }),
  { pattern: RFC3339.source },
)

function httpUrlError(value: string): string | undefined {
  const url = URL.parse(value)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return `"${value}" is not an http or https address.`
  // Responses, logs and events show addresses. The message must not repeat the password either.
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password: addresses are shown to everyone who may read them.'
  return undefined
}

/** An http or https URL. */
export const httpUrl = (maxBytes: number) =>
  documentedAs(text(maxBytes, httpUrlError), { pattern: /^\s*[Hh][Tt]{2}[Pp][Ss]?:/.source })

/** An http or https URL, or empty text for none. */
export const httpUrlOrNone = (maxBytes: number) =>
  documentedAs(
    text(maxBytes, (value) => (value === '' ? undefined : httpUrlError(value))),
    { pattern: /^$|^\s*[Hh][Tt]{2}[Pp][Ss]?:/.source },
  )

/** How certificates of a domain are managed; shared by reserved domains and agent ingresses. */
export const certificatePolicy = described(
  nullable(
    object({
      authority: described(
        choice(['letsencrypt'], 'letsencrypt'),
        'The certificate authority to request certificates from.',
      ),
      private_key_type: described(choice(['rsa', 'ecdsa'], 'rsa'), 'The key type of issued certificates.'),
    }),
  ),
  'How certificates are issued and renewed automatically. Leave it unset to use certificates of your own.',
)

const time = text(64)

/** The status of certificate management; the state follows from the null fields, the error code and the times. */
export const certificateStatus = described(
  nullable(
    object({
      renews_at: described(nullable(time), 'When the certificate is renewed next.'),
      provisioning_job: described(
        nullable(
          object({
            error_code: described(
              nullable(choice(['DNS_ERROR', 'INTERNAL_ERROR'], 'INTERNAL_ERROR')),
              'DNS_ERROR if a DNS record has to be corrected, INTERNAL_ERROR for a temporary error.',
            ),
            msg: described(text(4096), 'The current status or error.'),
            started_at: described(time, 'When the request started.'),
            retries_at: described(nullable(time), 'When the next attempt starts.'),
          }),
        ),
        'The certificate request in progress; null when there is none.',
      ),
    }),
  ),
  'The state of automatic certificate management; null when it is off.',
)

/** A header field name (RFC 9110 section 5.1). */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Validates a header field name and returns it in lower case. */
export function headerName(name: string, path: string): string {
  if (!HEADER_NAME.test(name)) throw new InvalidValue(path, `${path}: "${name}" is not a header name.`)
  return name.toLowerCase()
}

/** RFC 9110 section 5.5: tab is the only control character allowed in a header value. */
export const headerValue = text(4096, (value) =>
  /[\x00-\x08\x0a-\x1f\x7f]/.test(value)
    ? 'must not hold control characters, which a header value cannot carry.'
    : undefined,
)

/** Patterns of PEM text (RFC 7468): what is between the lines, no pattern can tell. */
export const CERTIFICATE = '-----BEGIN CERTIFICATE-----[\\s\\S]+-----END CERTIFICATE-----'
export const PRIVATE_KEY = '-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[\\s\\S]+-----END ([A-Z]+ )?PRIVATE KEY-----'
