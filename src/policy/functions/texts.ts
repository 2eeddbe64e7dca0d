import { randomInt } from 'node:crypto'
import { parseAddress, parseCidr } from '../../base/cidr.ts'
import { isJson } from '../../base/is-json.ts'
import { chargeLength } from '../cel/compare.ts'
import { fromJson } from '../cel/from-json.ts'
import type { CallContext, Overload } from '../cel/overload.ts'
import { overload } from '../cel/signature.ts'
import { STRING, type Type } from '../cel/types.ts'
import {
  Double,
  EvaluationError,
  type Int,
  keysOf,
  type MapValue,
  Struct,
  type Value,
} from '../cel/values.ts'
import { toJson, valueText } from '../value-text.ts'
import { decodePercent, parseQuery, splitTarget, type UrlSource, url } from '../variables/url.ts'

/** Charged before work on a text. */
const charged =
  <R extends Value>(run: (text: string) => R) =>
  (context: CallContext, text: string): R => {
    chargeLength(context, text.length)
    return run(text)
  }

/** Parsing takes longer than copying. */
const PARSE_COST = 4

const parsed =
  <R extends Value>(run: (text: string) => R) =>
  (context: CallContext, text: string): R => {
    context.charge(PARSE_COST)
    chargeLength(context, text.length * PARSE_COST)
    return run(text)
  }

function decodeJson(text: string): Value {
  try {
    return fromJson(JSON.parse(text)) ?? null
  } catch {
    throw new EvaluationError('the text is not JSON')
  }
}

function encodeJson(context: CallContext, value: Value): string {
  const text = JSON.stringify(toJson(value))
  chargeLength(context, text.length * PARSE_COST)
  return text
}

function encodeQuery(context: CallContext, map: MapValue): string {
  const parameters = new URLSearchParams()
  for (const key of keysOf(map).toSorted()) {
    const value = map.get(key as string)!
    context.charge(PARSE_COST)
    for (const one of Array.isArray(value) ? (value as Value[]) : [value])
      parameters.append(valueText(key), valueText(one))
  }
  return parameters.toString()
}

function decodeBase64(text: string): string {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new EvaluationError('the text is not base64')
  return Buffer.from(text, 'base64').toString()
}

function parseUrl(text: string): Value {
  if (!URL.canParse(text)) throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a URL`)
  const { protocol, username, password, hostname, port, pathname, search } = new URL(text)
  const source: UrlSource = {
    scheme: protocol.slice(0, -1),
    userPassword: password === '' ? username : `${username}:${password}`,
    host: hostname,
    port: port === '' ? -1 : Number(port),
    ...splitTarget(`${pathname}${search}`),
  }
  return new Struct((url as Type & { kind: 'object' }).shape, source)
}

function unescapeUrl(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  const decoded = decodePercent(spaced)
  if (/%(?![0-9A-Fa-f]{2})/.test(spaced)) throw new EvaluationError('the text is not escaped for a URL')
  return decoded
}

const escapeUrl = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')

const QUERY = /^[^\s=&]+=[^\s&]*(?:&[^\s=&]+=[^\s&]*)*$/

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].map(parseCidr)

const isPrivateIp = (text: string) => PRIVATE.some((range) => contains(range, text))

function contains(range: ReturnType<typeof parseCidr>, address: string): boolean {
  const parsedAddress = parseAddress(address)
  if (parsedAddress === undefined || parsedAddress.family !== range.family) return false
  const hostBits = BigInt((range.family === 4 ? 32 : 128) - range.bits)
  return parsedAddress.value >> hostBits === range.base >> hostBits
}

/** An invalid range contains nothing. */
function inCidr(address: string, cidr: string): boolean {
  try {
    return contains(parseCidr(cidr), address)
  } catch {
    return false
  }
}

const CIDR_COST = 10

function inCidrs(context: CallContext, address: string, cidrs: readonly string[]): boolean {
  context.charge(CIDR_COST * cidrs.length)
  return cidrs.some((cidr) => inCidr(address, cidr))
}

function randomBetween(first: Int, last: Int): number {
  const [low, high] = [Number(first), Number(last)]
  if (!(low <= high) || high - low >= 2 ** 48 - 1)
    throw new EvaluationError('rand.int needs a range whose first number is not above its last')
  return low === high ? low : randomInt(low, high + 1)
}

const split = (text: string) => {
  const words = text.trim()
  return words === '' ? [] : words.split(/\s+/)
}

/** A function whose result is a URL, which signatures cannot express. */
const returnsUrl = (name: string, receiver: boolean): Overload => ({
  name,
  receiver,
  parameters: [STRING],
  result: url,
  call: parsed(parseUrl),
})

/** Functions on texts, lists, maps and addresses, in every phase. */
export const textFunctions: readonly Overload[] = [
  overload(
    'string.lower() -> string',
    charged((text) => text.toLowerCase()),
  ),
  overload(
    'string.upper() -> string',
    charged((text) => text.toUpperCase()),
  ),
  overload('string.split() -> list(string)', charged(split)),
  overload(
    'string.encodeBase64() -> string',
    charged((text) => Buffer.from(text).toString('base64')),
  ),
  overload('string.decodeBase64() -> string', charged(decodeBase64)),
  ...['string.decodeJson()', 'json.decode(string)'].map((signature) =>
    overload(`${signature} -> dyn`, parsed(decodeJson)),
  ),
  ...['list(A).encodeJson()', 'map(A, B).encodeJson()', 'json.encode(A)'].map((signature) =>
    overload(`${signature} -> string`, encodeJson),
  ),
  ...['string.decodeQueryString()', 'queryString.decode(string)'].map((signature) =>
    overload(`${signature} -> map(string, list(string))`, parsed(parseQuery)),
  ),
  ...['map(string, A).encodeQueryString()', 'queryString.encode(map(string, A))'].map((signature) =>
    overload(`${signature} -> string`, encodeQuery),
  ),
  ...['string.escapeUrl()', 'url.escape(string)'].map((signature) =>
    overload(`${signature} -> string`, charged(escapeUrl)),
  ),
  ...['string.unescapeUrl()', 'url.unescape(string)'].map((signature) =>
    overload(`${signature} -> string`, charged(unescapeUrl)),
  ),
  returnsUrl('parseUrl', true),
  returnsUrl('url.parse', false),
  overload('string.isJson() -> bool', parsed(isJson)),
  overload(
    'string.isQueryString() -> bool',
    parsed((text) => QUERY.test(text)),
  ),
  overload(
    'string.isURL() -> bool',
    parsed((text) => URL.canParse(text)),
  ),
  overload('string.isPrivateIp() -> bool', charged(isPrivateIp)),
  overload('basic_auth.encode(string, string) -> string', (_context, user: string, password: string) => {
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  }),
  overload('rand.double() -> double', () => new Double(Math.random())),
  overload('rand.int() -> int', () => randomBetween(0, 1)),
  overload('rand.int(int, int) -> int', (_context, first: Int, last: Int) => randomBetween(first, last)),
  overload('inCidrRange(string, string) -> bool', (context, address: string, cidr: string) =>
    inCidrs(context, address, [cidr]),
  ),
  overload('inCidrRanges(string, list(string)) -> bool', inCidrs),
]
