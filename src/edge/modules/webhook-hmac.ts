import { createHmac } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { trimOws } from '../../base/http/optional-white-space.ts'
import type { EdgeServices } from '../services/services.ts'
import { ModuleConfigError } from './context.ts'
import { timingSafeEqualText, type WebhookMessage } from './webhook-message.ts'

/** Verifies a webhook: returns what is wrong with it, undefined when it is genuine. `now` is in milliseconds. */
export type WebhookCheck = (
  message: WebhookMessage,
  now: number,
) => string | undefined | Promise<string | undefined>

/** A signature scheme. Creates a check from the owner's secret or from keys the sender publishes. */
export type WebhookScheme = (secret: string, services: Pick<EdgeServices, 'signingKeys'>) => WebhookCheck

/** An HMAC scheme as data. Field names and formats are the provider's own. */
export interface HmacScheme {
  /** The field with the signature. */
  readonly field: string
  /** A second signature with another key, for key rotation: one of the two must match. */
  readonly secondaryField?: string
  readonly hash: 'sha1' | 'sha256' | 'sha512'
  readonly encoding: 'hex' | 'base64'
  /** The prefix of the signature, such as `sha256=`. */
  readonly prefix?: string
  /**
   * Set when the field is a list such as `t=1,v1=…`: the names of the signature and the time in it. `separators` are
   * those between items and after a name; a comma and an equals sign by default.
   */
  readonly list?: {
    readonly signature: string
    readonly time?: string
    readonly separators?: readonly [item: string, name: string]
  }
  /** A separate field with the time. */
  readonly timeField?: string
  readonly timeUnit?: 's' | 'ms' | 'iso'
  /** Maximum age of a webhook, in seconds. */
  readonly tolerance?: number
  /** A separate field with an id that is signed as well. */
  readonly idField?: string
  /** The signed text: `{body}`, `{time}`, `{id}`, `{url}`, `{method}` and literals between them. */
  readonly signed: string
  /** The encoding of the key in the secret. */
  readonly key?: 'text' | 'base64'
  /** Whether the signature covers the body before compression. */
  readonly decompressBody?: boolean
}

const DEFAULT_TOLERANCE_SECONDS = 300
const ISO_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/
const MAX_DECOMPRESSED_BYTES = 4 * 1024 * 1024

/** Creates a scheme from its description. */
export function hmacScheme(scheme: HmacScheme): WebhookScheme {
  const parts = scheme.signed.split(/(\{[a-z]+\})/).filter((part) => part !== '')
  const requiresTime = scheme.timeField !== undefined || scheme.list?.time !== undefined
  return (secret) => {
    const key = decodeKey(secret, scheme)
    return (message, now) => {
      const secondary = scheme.secondaryField === undefined ? undefined : message.field(scheme.secondaryField)
      const field = message.field(scheme.field) ?? secondary
      if (field === undefined) return `it has no ${scheme.field} field`
      const list = scheme.list === undefined ? undefined : parseList(field, scheme.list.separators)
      const signatures =
        list === undefined
          ? [field, secondary ?? ''].map((value) => stripPrefix(value, scheme.prefix ?? ''))
          : list.filter(([name]) => name === scheme.list?.signature).map(([, value]) => value)
      const time =
        scheme.timeField === undefined
          ? list?.find(([name]) => name === scheme.list?.time)?.[1]
          : message.field(scheme.timeField)
      if (requiresTime) {
        if (time === undefined) return 'it does not say when it was sent'
        const sentAt = parseTime(time, scheme.timeUnit ?? 's')
        const tolerance = (scheme.tolerance ?? DEFAULT_TOLERANCE_SECONDS) * 1000
        if (!(Math.abs(now - sentAt) <= tolerance)) return 'it is too old, or from the future'
      }
      const id = scheme.idField === undefined ? '' : message.field(scheme.idField)
      if (id === undefined) return `it has no ${scheme.idField} field`
      const body = scheme.decompressBody ? decompress(message) : message.body
      if (body === undefined) return 'its body cannot be unpacked'
      const { url, method } = message
      const values: Record<string, string | Buffer> = {
        '{body}': body,
        '{time}': time ?? '',
        '{id}': id,
        '{url}': url,
        '{method}': method,
      }
      const digest = createHmac(scheme.hash, key)
      for (const part of parts) digest.update(values[part] ?? part)
      const expected = digest.digest(scheme.encoding)
      const normalize = (text: string) => (scheme.encoding === 'hex' ? text.toLowerCase() : text)
      return signatures.some((signature) => timingSafeEqualText(normalize(signature ?? ''), expected))
        ? undefined
        : 'its signature does not match'
    }
  }
}

/** A shared secret, sent as it is in a field. */
export function tokenScheme(field: string): WebhookScheme {
  return (secret) => (message) => {
    const value = message.field(field)
    if (value === undefined) return `it has no ${field} field`
    return timingSafeEqualText(value, secret) ? undefined : `its ${field} does not match`
  }
}

function decodeKey(secret: string, { key }: HmacScheme): Buffer {
  if (key !== 'base64') return Buffer.from(secret)
  const bytes = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (bytes.length === 0) throw new ModuleConfigError('the secret is not in base64')
  return bytes
}

/** Parses `a=1,b=2`. A value may contain further equals signs. */
function parseList(
  field: string,
  [betweenItems, afterName]: readonly [string, string] = [',', '='],
): [name: string, value: string][] {
  return field.split(betweenItems).map((item) => {
    const end = item.indexOf(afterName)
    return [trimOws(item.slice(0, end)), trimOws(item.slice(end + 1))]
  })
}

function stripPrefix(field: string, prefix: string): string | undefined {
  return field.startsWith(prefix) ? field.slice(prefix.length) : undefined
}

function parseTime(time: string, unit: 's' | 'ms' | 'iso'): number {
  // `Date.parse` accepts many other spellings, some with text around them.
  if (unit === 'iso') return ISO_TIMESTAMP.test(time) ? Date.parse(time) : Number.NaN
  if (!/^\d{1,15}$/.test(time)) return Number.NaN
  return unit === 's' ? Number(time) * 1000 : Number(time)
}

function decompress(message: WebhookMessage): Buffer | undefined {
  if (message.field('content-encoding')?.toLowerCase() !== 'gzip') return message.body
  try {
    return gunzipSync(message.body, { maxOutputLength: MAX_DECOMPRESSED_BYTES })
  } catch {
    return undefined
  }
}
