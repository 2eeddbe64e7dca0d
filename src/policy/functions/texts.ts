import { randomInt } from 'node:crypto'
import { isJson } from '../../base/text/is-json.ts'
import { parseCidr } from '../../base/values/cidr.ts'
import { compileRanges } from '../../base/values/ip-rules.ts'
import type { CallContext, Meter, Overload } from '../../cel/index.ts'
import {
  chargeLength,
  Double,
  EvaluationError,
  fromJson,
  type Int,
  keysOf,
  type MapValue,
  overload,
  STRING,
  Struct,
  type Type,
  type Value,
} from '../../cel/index.ts'
import { toJson, valueText } from '../value-text.ts'
import { decodePercent, parseQuery, type UrlSource, url } from '../variables/url.ts'

/** Charged before work on a text. */
const charged =
  <R extends Value>(run: (text: string, context: CallContext) => R) =>
  (context: CallContext, text: string): R => {
    chargeLength(context, text.length)
    return run(text, context)
  }

/** Parsing takes longer than copying. */
const PARSE_COST = 8

const parsed =
  <R extends Value>(run: (text: string, context: CallContext) => R) =>
  (context: CallContext, text: string): R => {
    context.charge(PARSE_COST)
    chargeLength(context, text.length * PARSE_COST)
    return run(text, context)
  }

function decodeJson(text: string): Value {
  try {
    return fromJson(JSON.parse(text)) ?? null
  } catch {
    throw new EvaluationError('the text is not JSON')
  }
}

function encodeJson(context: CallContext, value: Value): string {
  return JSON.stringify(toJson(value, context))
}

function encodeQuery(context: CallContext, map: MapValue): string {
  const parameters = new URLSearchParams()
  for (const key of keysOf(map).toSorted()) {
    const value = map.get(key as string)!
    context.charge(PARSE_COST)
    for (const one of Array.isArray(value) ? (value as Value[]) : [value]) {
      const [name, text] = [valueText(key, context), valueText(one, context)]
      context.charge(PARSE_COST)
      chargeLength(context, (name.length + text.length) * PARSE_COST)
      parameters.append(name, text)
    }
  }
  return parameters.toString()
}

function decodeBase64(text: string): string {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new EvaluationError('the text is not base64')
  return Buffer.from(text, 'base64').toString()
}

/** A URL that was parsed; what an expression reads of it beyond its parts is computed once. */
class ParsedUrl implements UrlSource {
  readonly scheme: string
  readonly userPassword: string
  readonly host: string
  readonly port: number
  readonly rawPath: string
  readonly query: string
  readonly #meter: Meter
  #path: string | undefined
  #queryParams: MapValue | undefined

  constructor({ protocol, username, password, hostname, port, pathname, search }: URL, meter: Meter) {
    this.scheme = protocol.slice(0, -1)
    this.userPassword = password === '' ? username : `${username}:${password}`
    this.host = hostname
    this.port = port === '' ? -1 : Number(port)
    this.rawPath = pathname
    this.query = search.slice(1)
    this.#meter = meter
  }

  get path(): string {
    this.#path ??= decodePercent(this.rawPath, this.#meter)
    return this.#path
  }

  get queryParams(): MapValue {
    this.#queryParams ??= parseQuery(this.query, this.#meter)
    return this.#queryParams
  }
}

function parseUrl(text: string, context: CallContext): Value {
  context.charge(URL_COST)
  if (!URL.canParse(text)) throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a URL`)
  return new Struct((url as Type & { kind: 'object' }).shape, new ParsedUrl(new URL(text), context))
}

function unescapeUrl(text: string, context: CallContext): string {
  const spaced = text.replaceAll('+', ' ')
  const decoded = decodePercent(spaced, context)
  if (/%(?![0-9A-Fa-f]{2})/.test(spaced)) throw new EvaluationError('the text is not escaped for a URL')
  return decoded
}

const escapeUrl = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')

const QUERY = /^[^\s=&]+=[^\s&]*(?:&[^\s=&]+=[^\s&]*)*$/

const isPrivateIp = compileRanges(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])

/** An invalid range contains nothing. */
function isCidr(text: unknown): text is string {
  try {
    parseCidr(text as string)
    return true
  } catch {
    return false
  }
}

const CIDR_COST = 10
const RANDOM_COST = 10
const URL_COST = 40

/** `inCidrRange` and `inCidrRanges`. Ranges that are written in the expression are read once. */
function rangeFunction(signature: string, rangesOf: (argument: Value) => readonly Value[]): Overload {
  return overload(
    signature,
    (context, address: string, argument: Value) => {
      const ranges = rangesOf(argument)
      context.charge(CIDR_COST * ranges.length)
      return compileRanges(ranges.filter(isCidr))(address)
    },
    ([, literal]) => {
      if (literal === undefined) return undefined
      const contains = compileRanges(rangesOf(literal).filter(isCidr))
      return (context, address: string) => {
        context.charge(CIDR_COST)
        return contains(address)
      }
    },
  )
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
    overload(
      `${signature} -> string`,
      parsed((text) => escapeUrl(text)),
    ),
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
  overload('basic_auth.encode(string, string) -> string', (context, user: string, password: string) => {
    chargeLength(context, user.length + password.length)
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  }),
  overload('rand.double() -> double', () => new Double(Math.random())),
  overload('rand.int() -> int', (context) => {
    context.charge(RANDOM_COST)
    return randomBetween(0, 1)
  }),
  overload('rand.int(int, int) -> int', (context, first: Int, last: Int) => {
    context.charge(RANDOM_COST)
    return randomBetween(first, last)
  }),
  rangeFunction('inCidrRange(string, string) -> bool', (range) => [range]),
  rangeFunction('inCidrRanges(string, list(string)) -> bool', (ranges) => ranges as readonly Value[]),
]
