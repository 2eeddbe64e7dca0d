import { Type } from 'typebox'
import { parseCidr } from '../base/cidr.ts'
import { timestamp } from '../base/clock.ts'
import { parseDomain, parseDomainPort } from '../base/domain.ts'
import { parseAclRule } from './acl.ts'
import { choice, InvalidValue, list, nullable, object, parsed, plain, text, withDefault } from './value.ts'

/** Regions of the documents; `--region` names the one this server is in. */
export const REGIONS = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const
export const region = choice(REGIONS, 'us')

export const cidr = parsed(64, (value) => parseCidr(value).text)
export const domain = parsed(255, parseDomain)

/** `host:port`, unique in its list. */
export const hostports = nullable(
  list(
    parsed(300, (value) => {
      const { host, port } = parseDomainPort(value)
      return `${host}:${port}`
    }),
    {
      maxItems: 100,
      rule: (items) => (new Set(items).size === items.length ? undefined : 'names the same hostport twice.'),
    },
  ),
)

export const acl = list(
  parsed(600, (value) => parseAclRule(value).text),
  { maxItems: 100 },
)

/** RFC 3339, kept in UTC with whole seconds. */
export const moment = plain<string>(Type.String({ maxLength: 64 }), '', (value, at) => {
  const parsedAt = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(parsedAt))
    throw new InvalidValue(
      at,
      `${at}: "${value}" is not a time in RFC 3339 format, such as 2030-01-31T12:00:00Z.`,
    )
  return timestamp(parsedAt)
})

/** An http or https address. */
export const httpUrl = (maxBytes: number) =>
  text(maxBytes, (value) => {
    if (value === '') return undefined
    const url = URL.parse(value)
    return url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
      ? undefined
      : `"${value}" is not an http or https address.`
  })

/** How certificates of a domain are managed; shared by reserved domains and agent ingresses. */
export const certificatePolicy = object({
  authority: choice(['letsencrypt'], 'letsencrypt'),
  private_key_type: choice(['rsa', 'ecdsa'], 'rsa'),
})

const time = text(64)

/** Where certificate management stands: the state is read from what is null, the error code and the times. */
export const certificateStatus = object({
  renews_at: nullable(time),
  provisioning_job: nullable(
    object({
      error_code: nullable(choice(['DNS_ERROR', 'INTERNAL_ERROR'], 'INTERNAL_ERROR')),
      msg: text(4096),
      started_at: time,
      retries_at: nullable(time),
    }),
  ),
})

/** PEM text with its final newline. */
export const pem = (maxBytes: number) =>
  withDefault(
    parsed(maxBytes, (value) => `${value.trim()}\n`),
    '',
  )
