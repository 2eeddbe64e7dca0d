import { errorMessage } from '../../base/text/error-message.ts'
import { isWithin, parseDomain } from '../../base/values/domain.ts'
import {
  type EndpointUrl,
  isInternalName,
  isKubernetesProto,
  parseInternalUrl,
  parseKubernetesUrl,
} from '../../base/values/endpoint-url.ts'
import { parseHostPort } from '../../base/values/hostport.ts'
import { type BindOpts, protocolError } from '../../protocol/index.ts'
import type { TunnelProto } from '../tunnel.ts'
import { type PublicAddress, publicPort } from './public-address.ts'

const PROTOS = new Set<string>(['http', 'https', 'tcp', 'tls'])

/** Validates the protocol of a bind. */
export function parseProto(text: string): TunnelProto {
  if (!PROTOS.has(text)) throw protocolError('protocol_unknown', text)
  return text as TunnelProto
}

/** Stands for the domain of a server that is not known. */
const EXAMPLE_DOMAIN = 'example.com'

/** The normalized host name an agent requests; undefined for any. Without `address` the server is not known yet. */
export function requestedName(
  proto: 'http' | 'https' | 'tls',
  opts: BindOpts,
  address: PublicAddress | undefined,
): string | undefined {
  const fromUrl = opts.URL ? parseUrlHost(proto, opts.URL) : ''
  if (fromUrl) return parseName(fromUrl, proto, address)
  const requested = opts.Domain || opts.Hostname
  if (requested) return parseName(requested, proto, address)
  if (opts.Subdomain) return normalizeName(`${opts.Subdomain}.${address?.domain ?? EXAMPLE_DOMAIN}`)
  return undefined
}

const BINDINGS = ['', 'public', 'internal', 'kubernetes']

/**
 * The address an agent requests inside its account or in Kubernetes clusters; undefined for a public one. A name below
 * `.internal` is internal, unless the platform's own domain is there.
 */
export function requestedNonPublic(
  proto: TunnelProto,
  bindings: readonly string[],
  opts: BindOpts,
  domain: string,
): (EndpointUrl & { readonly binding: 'internal' | 'kubernetes' }) | undefined {
  const unsupported = bindings.find((binding) => !BINDINGS.includes(binding))
  if (unsupported !== undefined || bindings.length > 1)
    throw protocolError(
      'options_invalid',
      `a tunnel has one binding, public, internal or kubernetes, not "${bindings.join(', ').slice(0, 40)}".`,
    )
  const host =
    (opts.URL ? parseUrlHost(proto, opts.URL) : '') || opts.Domain || opts.Hostname || opts.Addr || ''
  if (bindings[0] === 'kubernetes') return requestedService(proto, host)
  const name = host.toLowerCase().replace(/:\d+$/, '')
  const isInternal = bindings[0] === 'internal' || (isInternalName(name) && !isWithin(name, domain))
  if (!isInternal) return undefined
  if (bindings[0] === 'public')
    throw protocolError('options_invalid', `${name} is an internal name; use the binding internal for it.`)
  if (host === '')
    throw protocolError('options_invalid', 'an internal endpoint needs a URL, such as https://app.internal.')
  try {
    return { ...parseInternalUrl(`${proto}://${host}`), binding: 'internal' }
  } catch (error) {
    throw protocolError('options_invalid', errorMessage(error))
  }
}

/** The service in Kubernetes clusters that an agent requests. */
function requestedService(proto: TunnelProto, host: string) {
  if (!isKubernetesProto(proto)) throw protocolError('kubernetes_proto', proto)
  if (host === '')
    throw protocolError('options_invalid', 'the binding kubernetes needs a URL, such as http://app.default.')
  try {
    return { ...parseKubernetesUrl(`${proto}://${host}`), binding: 'kubernetes' as const }
  } catch (error) {
    throw protocolError('options_invalid', errorMessage(error))
  }
}

/** The TCP address an agent requests; undefined for any. */
export function requestedAddress(opts: BindOpts): { host: string; port: number } | undefined {
  const requested = (opts.URL ? parseUrlHost('tcp', opts.URL) : '') || opts.Addr
  if (!requested) return undefined
  const parsed = parseHostPort(requested)
  if (parsed?.port === undefined)
    throw protocolError('options_invalid', `"${requested.slice(0, 80)}" is not of the form host:port.`)
  return { host: parsed.host, port: parsed.port }
}

function parseUrlHost(proto: TunnelProto, url: string): string {
  const match = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/?#@\s]*)\/?$/i.exec(url)
  if (match === null)
    throw protocolError('options_invalid', `"${url.slice(0, 80)}" is not a public URL of a tunnel.`)
  const [, scheme = proto, host = ''] = match
  if (scheme.toLowerCase() !== proto) {
    throw protocolError(
      'options_invalid',
      `the URL begins with ${scheme}:// although the protocol is ${proto}.`,
    )
  }
  return host
}

/** Accepts a port only if the protocol is served on it: named tunnels share the public listeners. */
function parseName(
  text: string,
  proto: 'http' | 'https' | 'tls',
  address: PublicAddress | undefined,
): string {
  const match = /^(.*):(\d+)$/.exec(text)
  if (match === null) return normalizeName(text)
  if (address === undefined) return normalizeName(match[1]!)
  const port = Number(match[2])
  const servedPort = publicPort(proto, address)
  if (port !== (proto === 'http' ? 80 : 443) && port !== servedPort) {
    throw protocolError(
      'options_invalid',
      `this server serves ${proto} on port ${servedPort}; leave :${port} out of the URL.`,
    )
  }
  return normalizeName(match[1]!)
}

function normalizeName(text: string): string {
  try {
    return parseDomain(text)
  } catch {
    throw protocolError('name_malformed', `"${text.slice(0, 80)}"`)
  }
}
