import {
  findCookieDomainMistake,
  issueText,
  mayHaveCookieDomain,
  type OwnsDomain,
  PolicyError,
  readPolicy,
  reviewPolicy,
} from '../../policy/index.ts'
import { type BindOpts, ProtocolError, protocolError } from '../../protocol/index.ts'
import { allEndpointOptions, type ModuleOptions, splitCredential } from '../../resources/endpoint-options.ts'
import { InvalidValue } from '../../resources/index.ts'
import type { EndpointOptions, TunnelProto } from '../tunnel.ts'

/** Converts bind options to endpoint options. Unsupported options are rejected, never silently dropped. */
export function toEndpointOptions(proto: TunnelProto, opts: BindOpts): EndpointOptions {
  return {
    proxyProto: (opts.ProxyProto ?? 0) as 0 | 1 | 2,
    ...parseTrafficPolicy(proto, opts.TrafficPolicy),
    ...withOldCredential(proto, opts),
    ...(proto === 'https' ? parseMutualTls(opts.MutualTLSCA?.mutual_tls_ca) : {}),
    ...(proto === 'tls' ? parseTlsOptions(opts) : {}),
  }
}

/** Checks a traffic policy; an empty one is none. */
export function parseTrafficPolicy(
  proto: TunnelProto,
  text: string | undefined,
): Pick<EndpointOptions, 'trafficPolicy'> {
  if (text === undefined || text.trim() === '') return {}
  try {
    readPolicy(text, { protocol: proto, kind: 'endpoint' })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw new ProtocolError(`The traffic policy is not valid: ${error.lines.join('\n')}`, error.code)
  }
  return { trafficPolicy: text }
}

/** Warnings that one response names. */
const MAX_WARNINGS = 20

/** What in a valid traffic policy may not do as its author expects. Which facts of addresses the edges have is not known here. */
export function trafficPolicyWarnings(proto: TunnelProto, text: string): string[] {
  const { mistakes, warnings } = reviewPolicy(text, { protocol: proto, kind: 'endpoint' })
  return [...mistakes, ...warnings].slice(0, MAX_WARNINGS).map(issueText)
}

/** Rejects a policy whose cookies another account would get, or that no browser would take. */
export async function requireCookieDomain(
  { trafficPolicy }: EndpointOptions,
  { proto, host }: { readonly proto: TunnelProto; readonly host: string },
  ownsDomain: OwnsDomain,
): Promise<void> {
  if (trafficPolicy === undefined || !mayHaveCookieDomain(trafficPolicy)) return
  const policy = readPolicy(trafficPolicy, { protocol: proto, kind: 'endpoint' })
  const mistake = await findCookieDomainMistake(policy, [host], ownsDomain)
  if (mistake !== undefined)
    throw new ProtocolError(`The traffic policy is not valid: ${mistake.message}`, mistake.code)
}

/** The options that configure modules, as far as the protocol has them. */
function decodeModuleOptions(proto: TunnelProto, opts: BindOpts): ModuleOptions {
  const kind = proto === 'https' ? 'http' : proto
  const decoded: Record<string, unknown> = {}
  for (const { name, field, kinds, decode } of allEndpointOptions) {
    const value = opts[field as keyof BindOpts]
    if (value === undefined || !kinds.includes(kind)) continue
    try {
      decoded[name] = decode(value as never)
    } catch (error) {
      throw error instanceof InvalidValue ? protocolError('options_invalid', error.message) : error
    }
  }
  return decoded
}

/** Adds the credential of `Auth`, the old form of basic authentication, to those of `BasicAuth`. */
function withOldCredential(proto: TunnelProto, opts: BindOpts): ModuleOptions {
  const { Auth, BasicAuth, ...others } = opts
  if (!Auth || (proto !== 'http' && proto !== 'https')) return decodeModuleOptions(proto, opts)
  if (!Auth.includes(':')) throw protocolError('options_invalid', 'Auth must have the form user:password.')
  const options = decodeModuleOptions(proto, BasicAuth?.credentials?.length ? opts : others)
  return { ...options, basicAuth: [...(options.basicAuth ?? []), splitCredential(Auth)] }
}

function parseTlsOptions(opts: BindOpts): Partial<EndpointOptions> {
  const { TLSTermination } = opts
  if (TLSTermination === undefined) {
    if (opts.MutualTLSAtEdge?.mutual_tls_ca) {
      throw protocolError(
        'options_invalid',
        'MutualTLSAtEdge needs TLSTermination, since only then does the edge see TLS.',
      )
    }
    return {}
  }
  const { cert, key } = TLSTermination
  if (Boolean(cert) !== Boolean(key)) {
    throw protocolError('options_invalid', 'TLSTermination needs both cert and key, or neither.')
  }
  return {
    tlsTermination:
      cert && key
        ? { certPem: decodePem('TLSTermination.cert', cert), keyPem: decodePem('TLSTermination.key', key) }
        : {},
    ...parseMutualTls(opts.MutualTLSAtEdge?.mutual_tls_ca),
  }
}

function parseMutualTls(base64: string | undefined): Partial<EndpointOptions> {
  return base64 ? { mutualTls: { caPem: decodePem('the mutual TLS authorities', base64) } } : {}
}

function decodePem(field: string, base64: string): string {
  const text = Buffer.from(base64, 'base64').toString()
  if (!text.includes('-----BEGIN '))
    throw protocolError('options_invalid', `${field} must be base64 of PEM text.`)
  return text
}
