import { canonicalAddress } from '../values/cidr.ts'
import { trimOws } from './optional-white-space.ts'

/** The fields that can name the client of a request. */
export const CLIENT_FIELDS = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const
export type ClientField = (typeof CLIENT_FIELDS)[number]

/** Proxies whose forwarding fields are believed. */
export interface TrustedProxies {
  isTrusted(ip: string): boolean
  /**
   * The one field that names the client. Only one: a proxy that sets one of them usually passes the others on as the
   * client wrote them (decision 169).
   */
  readonly field: ClientField
}

/** The forwarding fields of a request by lower-case name; a repeated field is one list, in order. */
export type ForwardingFields = Readonly<Partial<Record<ClientField | 'x-forwarded-proto', string>>>

/** The client of a request, as the proxies before it say. */
export interface ForwardedClient {
  readonly address: string
  /** 0 when it is not named. */
  readonly port: number
  readonly scheme: 'http' | 'https' | undefined
}

/** One hop: an address with its port, and the scheme that it used. */
type Hop = ForwardedClient

const SCHEMES: Readonly<Record<string, 'http' | 'https'>> = {
  http: 'http',
  https: 'https',
  // Traefik names the scheme of WebSockets.
  ws: 'http',
  wss: 'https',
}

/**
 * Finds the client of a request that a trusted proxy sent: the right-most address that is no trusted proxy, or the
 * left-most if all are. Undefined when a field cannot be read: the request is then rejected, because the address of the
 * proxy in place of the client's could pass an IP policy. Without the field, the proxy itself is the client.
 */
export function findClient(
  peer: string,
  fields: ForwardingFields,
  proxies: TrustedProxies,
): ForwardedClient | undefined {
  const list = fields[proxies.field]
  const proto = proxies.field === 'forwarded' ? undefined : fields['x-forwarded-proto']
  const scheme = proto === undefined ? undefined : readScheme(lastItem(proto))
  if (proto !== undefined && scheme === undefined) return undefined
  if (list === undefined) return { address: peer, port: 0, scheme }
  const client = proxies.field === 'x-real-ip' ? readHop(list) : findInChain(list, proxies)
  return client && { ...client, scheme: scheme ?? client.scheme }
}

function findInChain(list: string, { field, isTrusted }: TrustedProxies): Hop | undefined {
  const readItem = field === 'forwarded' ? readForwardedElement : readHop
  for (let end = list.length; ; ) {
    const comma = list.lastIndexOf(',', end - 1)
    const hop = readItem(trimOws(list.slice(comma + 1, end)))
    if (hop === undefined || comma <= 0 || !isTrusted(hop.address)) return hop
    end = comma
  }
}

function lastItem(list: string): string {
  return trimOws(list.slice(list.lastIndexOf(',') + 1))
}

function readScheme(text: string): 'http' | 'https' | undefined {
  return Object.hasOwn(SCHEMES, text.toLowerCase()) ? SCHEMES[text.toLowerCase()] : undefined
}

const BRACKETED = /^\[([0-9a-fA-F:.]{2,45})\](?::([0-9]{1,5}))?$/
const IPV4_WITH_PORT = /^([0-9.]{7,15}):([0-9]{1,5})$/

/** Reads an address with or without a port: `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`. */
function readHop(text: string): Hop | undefined {
  const [, ip = text, digits = '0'] = IPV4_WITH_PORT.exec(text) ?? BRACKETED.exec(text) ?? []
  const address = canonicalAddress(ip)
  const port = Number(digits)
  return address === undefined || port > 65_535 ? undefined : { address, port, scheme: undefined }
}

/** Reads one element of RFC 7239, such as `for="[2001:db8::1]:80";proto=https`. It has to name an address. */
function readForwardedElement(text: string): Hop | undefined {
  const pairs = new Map(text.split(';').map(readPair))
  const hop = readHop(pairs.get('for') ?? '')
  const proto = pairs.get('proto')
  const scheme = proto === undefined ? undefined : readScheme(proto)
  return proto !== undefined && scheme === undefined ? undefined : hop && { ...hop, scheme }
}

function readPair(text: string): [name: string, value: string] {
  const equals = text.indexOf('=')
  const value = trimOws(text.slice(equals + 1))
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"')
  return [trimOws(text.slice(0, equals)).toLowerCase(), isQuoted ? value.slice(1, -1) : value]
}
