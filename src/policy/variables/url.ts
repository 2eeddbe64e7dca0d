import type { MapKey, MapValue, Meter, Value } from '../../cel/index.ts'
import { chargeLength, INT, listOf, mapOf, objectOf, STRING, type Type } from '../../cel/index.ts'
import { field } from './shape.ts'

/** A URL, read from its parts. `port` is -1 when it is not written. */
export interface UrlSource {
  readonly scheme: string
  readonly userPassword: string
  readonly host: string
  readonly port: number
  /** Decoded. */
  readonly path: string
  readonly rawPath: string
  readonly query: string
  readonly queryParams: MapValue
}

export const stringLists = mapOf(STRING, listOf(STRING))

const authorityOf = ({ host, port }: UrlSource) => (port === -1 ? host : `${host}:${port}`)

const uriOf = ({ rawPath, query }: UrlSource) => (query === '' ? rawPath : `${rawPath}?${query}`)

export function urlText(url: UrlSource): string {
  const user = url.userPassword === '' ? '' : `${url.userPassword}@`
  return `${url.scheme}://${user}${authorityOf(url)}${uriOf(url)}`
}

/** The query of the target of a request, without its question mark. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark + 1)
}

/** Decoding an escape takes longer than copying it, and reading parameters too. */
const ESCAPE_COST = 16
const DECODE_COST = 4

/** Decodes percent signs. One that begins no escape stays as it is, and hides none of the others. */
export function decodePercent(text: string, meter: Meter): string {
  if (!text.includes('%')) return text
  chargeLength(meter, text.length * ESCAPE_COST)
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString(),
  )
}

/** Reading a parameter takes about this many steps. */
const PARAMETER_COST = 10

/** The parameters of a query by name, in order. */
export function parseQuery(query: string, meter: Meter): MapValue {
  const parameters = new Map<MapKey, Value[]>()
  chargeLength(meter, query.length * DECODE_COST)
  for (const [name, value] of new URLSearchParams(query)) {
    meter.charge(PARAMETER_COST)
    const values = parameters.get(name)
    if (values === undefined) parameters.set(name, [value])
    else values.push(value)
  }
  return parameters
}

/** A URL: a text with its parts as fields. */
export const url: Type = objectOf({
  name: 'url',
  text: urlText,
  fields: {
    scheme: field(STRING, ({ scheme }: UrlSource) => scheme),
    authority: field(STRING, authorityOf),
    host: field(STRING, ({ host }: UrlSource) => host),
    port: field(INT, ({ port }: UrlSource) => (port === -1 ? undefined : port)),
    path: field(STRING, ({ path }: UrlSource) => path),
    raw_path: field(STRING, ({ rawPath }: UrlSource) => rawPath),
    query: field(STRING, ({ query }: UrlSource) => query),
    query_params: field(stringLists, ({ queryParams }: UrlSource) => queryParams),
    uri: field(STRING, uriOf),
    raw: field(STRING, urlText),
    user_password: field(STRING, ({ userPassword }: UrlSource) => userPassword),
  },
})
