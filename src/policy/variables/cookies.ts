import type { Meter } from '../../cel/index.ts'
import {
  BOOL,
  DURATION,
  Duration,
  listOf,
  type MapKey,
  mapOf,
  STRING,
  Struct,
  TIMESTAMP,
  Timestamp,
  type Type,
  type Value,
} from '../../cel/index.ts'
import type { MessageSource } from '../activation.ts'
import { split } from './message.ts'
import { plain } from './shape.ts'

interface CookieSource {
  readonly name: string
  readonly value: string
}

const requestCookie = plain('cookie', { name: STRING, value: STRING })

const responseCookie = plain('cookie', {
  ...{ name: STRING, value: STRING, domain: STRING, path: STRING, same_site: STRING },
  ...{ secure: BOOL, http_only: BOOL, expires: TIMESTAMP, max_age: DURATION },
  unparsed_attributes: mapOf(STRING, STRING),
})

export const requestCookies: Type = mapOf(STRING, listOf(requestCookie))
export const responseCookies: Type = mapOf(STRING, listOf(responseCookie))

/** The cookies that a client sends by name, in order. */
export function readCookies(message: MessageSource, meter: Meter): CookieMap {
  const cookies = message
    .header('cookie')
    .flatMap((line) => split(line, ';', meter))
    .flatMap((part) => splitPair(part) ?? [])
  return byName(cookies, requestCookie)
}

/** The cookies that a response sets by name, the longest path first. */
export function readSetCookies(message: MessageSource, meter: Meter): CookieMap {
  const cookies = message
    .header('set-cookie')
    .flatMap((line) => parseSetCookie(split(line, ';', meter)) ?? [])
    .sort((one, other) => (other.path?.length ?? 0) - (one.path?.length ?? 0))
  return byName(cookies, responseCookie)
}

/** The attributes of a cookie that have a type. */
interface CookieAttributes {
  readonly domain?: string
  readonly path?: string
  readonly same_site?: string
  readonly secure?: boolean
  readonly http_only?: boolean
  readonly expires?: Timestamp
  readonly max_age?: Duration
}

interface ResponseCookieSource extends CookieSource, CookieAttributes {
  readonly unparsed_attributes: ReadonlyMap<MapKey, Value>
}

function parseSetCookie([pair = '', ...attributes]: readonly string[]): ResponseCookieSource | undefined {
  const cookie = splitPair(pair)
  if (cookie === undefined) return undefined
  const known: CookieAttributes = { secure: false, http_only: false }
  const others = new Map<MapKey, Value>()
  for (const attribute of attributes) {
    const { name, value } = splitPair(attribute) ?? { name: attribute.trim(), value: '' }
    const read = ATTRIBUTES[name.toLowerCase()]
    if (read === undefined) others.set(name, value)
    else Object.assign(known, read(value))
  }
  return { ...cookie, ...known, unparsed_attributes: others }
}

const ATTRIBUTES: Readonly<Record<string, (value: string) => CookieAttributes>> = {
  domain: (domain) => ({ domain }),
  path: (path) => ({ path }),
  samesite: (same_site) => ({ same_site }),
  secure: () => ({ secure: true }),
  httponly: () => ({ http_only: true }),
  expires: (text) => {
    const millis = Date.parse(text)
    return Number.isNaN(millis) ? {} : { expires: Timestamp.fromMillis(millis) }
  },
  'max-age': (text) =>
    /^-?\d{1,9}$/.test(text) ? { max_age: new Duration(BigInt(text) * 1_000_000_000n) } : {},
}

function splitPair(text: string): CookieSource | undefined {
  const equals = text.indexOf('=')
  if (equals === -1) return undefined
  return { name: text.slice(0, equals).trim(), value: text.slice(equals + 1).trim() }
}

type CookieMap = ReadonlyMap<MapKey, readonly Value[]>

function byName(cookies: readonly CookieSource[], type: Type): CookieMap {
  const { shape } = type as Type & { kind: 'object' }
  const map = new Map<MapKey, Value[]>()
  for (const cookie of cookies) {
    const struct = new Struct(shape, cookie)
    const same = map.get(cookie.name)
    if (same === undefined) map.set(cookie.name, [struct])
    else same.push(struct)
  }
  return map
}
