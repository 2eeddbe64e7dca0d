import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { describeFileError } from '../../base/text/file-error.ts'
import { pemBlocks } from '../../base/text/pem-blocks.ts'
import type { BindOpts } from '../../protocol/index.ts'
import { allEndpointOptions } from '../../resources/endpoint-options.ts'
import type { EndpointDefinition, TunnelDefinition } from '../config/definitions.ts'
import {
  type SharedBindOptions,
  toHttpOptions,
  toModuleOptions,
  toTcpOptions,
  toTlsOptions,
} from './bind-options.ts'
import { parsePublicUrl } from './public-url.ts'
import { SpecError } from './spec-error.ts'
import { AddressError, parseUpstream, type UpstreamAddress } from './upstream-address.ts'

/** The request of one Bind message. */
export interface BindSpec {
  proto: 'http' | 'https' | 'tcp' | 'tls'
  opts: BindOpts
}

/**
 * A resolved tunnel definition: what to request from the server and how to forward connections. It is part of
 * `ResumeState`, so field names must not change.
 */
export interface AgentTunnelSpec {
  name: string
  kind: 'http' | 'tcp' | 'tls' | 'labelled'
  upstream: UpstreamAddress
  /** One bind, or two when an http tunnel serves both schemes; none for a labelled tunnel. */
  binds: readonly BindSpec[]
  /** True when the definition names the schemes to serve, or an option that only https has. */
  schemesAsked: boolean
  labels: Readonly<Record<string, string>> | undefined
  metadata: string
  description: string
  bindings: readonly string[]
  poolingEnabled: boolean
  poolingWeight: number
  inspect: boolean
  /** True when the definition requests inspection, rather than getting it by default. */
  inspectAsked: boolean
  forwardsProto: '' | 'http1' | 'http2'
  proxyProto: 0 | 1 | 2
  /** The Host header the upstream sees; undefined preserves the client's. */
  hostHeader: string | undefined
  upstreamTls: { verify: boolean; ca: string | undefined }
  /** Present when the agent terminates TLS. */
  termination: { cert: string; key: string; clientCas: string | undefined } | undefined
  /** The endpoint as it was defined, for the local API. */
  endpoint: { url: string; upstreamUrl: string; protocol: string; trafficPolicy: string }
}

const KINDS = ['http', 'tcp', 'tls'] as const

/** Which kinds support a key; other combinations are rejected rather than ignored. */
const SUPPORTED_KINDS: Readonly<Record<string, readonly AgentTunnelSpec['kind'][]>> = {
  domain: ['http', 'tls'],
  hostname: ['http', 'tls'],
  subdomain: ['http', 'tls'],
  schemes: ['http'],
  ...Object.fromEntries(allEndpointOptions.map(({ key, kinds }) => [key, kinds])),
  host_header: ['http', 'labelled'],
  mutual_tls_cas: ['http', 'tls', 'labelled'],
  crt: ['tls', 'labelled'],
  key: ['tls', 'labelled'],
  terminate_at: ['tls'],
  remote_addr: ['tcp'],
  proxy_proto: ['http', 'tcp', 'tls'],
  url: ['http', 'tcp', 'tls'],
  app_protocol: ['http', 'labelled'],
  traffic_policy: ['http', 'tcp', 'tls'],
  policy: ['http', 'tcp', 'tls'],
}

/** Resolves a tunnel definition; throws `SpecError` for the first problem. */
export function toTunnelSpec(name: string, definition: TunnelDefinition): AgentTunnelSpec {
  const kind = kindOf(definition)
  requireSupported(definition, kind)
  const { addr, labels = [], metadata = '', description = '', bindings = [], inspect = true } = definition
  const { pooling_enabled: poolingEnabled = false, pooling_weight: poolingWeight = 1 } = definition
  const { app_protocol: forwardsProto = '', proxy_proto, url, domain = '' } = definition
  if (addr === undefined)
    throw new SpecError('addr', '"addr" is required: the port or host:port of the local service')
  const upstream = resolveUpstream(addr, kind)
  if (definition.oauth && definition.oidc) throw new SpecError('oauth', 'give "oauth" or "oidc", not both')
  const moduleOptions = toModuleOptions(definition)
  const trafficPolicy = resolveTrafficPolicy(definition)
  const termination = resolveTermination(definition)
  const proxyProto = Number(proxy_proto || 0) as 0 | 1 | 2
  const mutualTlsCas = readCaCertificates('mutual_tls_cas', definition.mutual_tls_cas)
  return {
    name,
    kind,
    upstream,
    binds: toBindSpecs(kind, definition, { proxyProto, moduleOptions, trafficPolicy, mutualTlsCas }),
    schemesAsked: asksForSchemes(definition),
    labels: kind === 'labelled' ? parseLabels(labels) : undefined,
    metadata,
    description,
    bindings,
    poolingEnabled,
    poolingWeight,
    inspect: inspect && (kind === 'http' || kind === 'labelled'),
    inspectAsked: definition.inspect === true,
    forwardsProto,
    proxyProto,
    hostHeader: resolveHostHeader(definition.host_header, upstream),
    upstreamTls: resolveUpstreamTls(definition),
    termination: termination && { ...termination, clientCas: mutualTlsCas },
    endpoint: {
      url: url ?? domain,
      upstreamUrl: addr,
      protocol: forwardsProto || 'http1',
      trafficPolicy: trafficPolicy ?? '',
    },
  }
}

function requireSupported(definition: TunnelDefinition, kind: AgentTunnelSpec['kind']): void {
  for (const [key, kinds] of Object.entries(SUPPORTED_KINDS)) {
    const value = definition[key as keyof TunnelDefinition]
    if (value !== undefined && value !== false && !kinds.includes(kind))
      throw new SpecError(key, `"${key}" does not apply to a ${kind} tunnel; remove it`)
  }
}

/** The upstream's certificate is verified where the definition says so, or has authorities for it. */
function resolveUpstreamTls({ upstream_tls_verify, upstream_tls_verify_cas: cas }: TunnelDefinition) {
  return {
    verify: upstream_tls_verify ?? cas !== undefined,
    ca: cas && readCaCertificates('upstream_tls_verify_cas', cas),
  }
}

/** Resolves an endpoint definition by translating it to a tunnel definition. */
export function toEndpointSpec(definition: EndpointDefinition): AgentTunnelSpec {
  const { name, upstream, agent_tls_termination: termination } = definition
  if (!name) throw new SpecError('name', '"name" is required and must not be empty')
  if (!upstream?.url)
    throw new SpecError(
      'upstream',
      '"upstream.url" is required: the port, host:port or origin of the local service',
    )
  const url = parsePublicUrl(definition.url ?? '')
  if (termination && url.scheme !== 'tls') {
    throw new SpecError('agent_tls_termination', '"agent_tls_termination" needs a tls:// url')
  }
  if (termination && !(termination.server_certificate && termination.server_private_key)) {
    throw new SpecError(
      'agent_tls_termination',
      '"agent_tls_termination" needs both server_certificate and server_private_key',
    )
  }
  const kind = url.scheme === 'tcp' || url.scheme === 'tls' ? url.scheme : 'http'
  const authorities = termination?.mutual_tls_certificate_authorities ?? []
  const tunnel = definedFields({
    ...definition,
    proto: kind,
    addr: completeUpstreamUrl(upstream.url, kind),
    url: definition.url ?? '',
    inspect: kind === 'http' ? definition.inspect : undefined,
    app_protocol: (kind === 'http' && upstream.protocol) || undefined,
    proxy_proto: upstream.proxy_protocol || undefined,
    upstream_tls_verify: upstream.tls_verify,
    upstream_tls_verify_cas: upstream.tls_verify_cas,
    crt: termination?.server_certificate,
    key: termination?.server_private_key,
    mutual_tls_cas:
      authorities.length === 0
        ? undefined
        : authorities.map((each) => readPem('mutual_tls_certificate_authorities', each)).join('\n'),
  })
  const spec = toTunnelSpec(name, tunnel)
  return { ...spec, endpoint: { ...spec.endpoint, upstreamUrl: upstream.url } }
}

/** A bare scheme (`http://`) names the default port of this machine. */
function completeUpstreamUrl(url: string, kind: AgentTunnelSpec['kind']): string {
  if (url === 'http://' || url === 'https://') return `${url}localhost`
  if (/^(tcp|tls):\/\/$/.test(url))
    throw new SpecError('upstream', `"upstream.url" of a ${kind} endpoint needs a host and port`)
  return url
}

function definedFields<T extends object>(fields: T) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function kindOf({ proto, labels }: TunnelDefinition): AgentTunnelSpec['kind'] {
  if (labels !== undefined) {
    if (proto !== undefined) throw new SpecError('proto', 'a tunnel has either "proto" or "labels", not both')
    return 'labelled'
  }
  if (proto === undefined)
    throw new SpecError('proto', 'a tunnel needs "proto" (http, tcp or tls) or "labels"')
  const kind = KINDS.find((each) => each === proto)
  if (!kind)
    throw new SpecError('proto', `Invalid protocol name '${proto.slice(0, 60)}'; use http, tcp or tls`)
  return kind
}

function resolveUpstream(addr: string, kind: AgentTunnelSpec['kind']): UpstreamAddress {
  try {
    if (kind !== 'labelled') return parseUpstream(addr, kind)
    if (addr.startsWith('file:')) return parseUpstream(addr, 'http')
    const upstream = parseUpstream(addr, 'tcp')
    const scheme = upstream.tls ? 'https' : 'http'
    return upstream.kind === 'tcp'
      ? { ...upstream, text: `${scheme}://${upstream.text.replace('tls://', '')}` }
      : upstream
  } catch (error) {
    throw error instanceof AddressError ? new SpecError('addr', error.message) : error
  }
}

function parseLabels(labels: readonly string[]): Record<string, string> {
  if (labels.length === 0)
    throw new SpecError('labels', '"labels" must not be empty; give at least one key=value')
  const parsed: Record<string, string> = Object.create(null)
  for (const label of labels) {
    const equals = label.indexOf('=')
    if (equals < 1 || equals === label.length - 1)
      throw new SpecError('labels', `the label "${label.slice(0, 60)}" must be key=value`)
    parsed[label.slice(0, equals)] = label.slice(equals + 1)
  }
  return { ...parsed }
}

function toBindSpecs(
  kind: AgentTunnelSpec['kind'],
  definition: TunnelDefinition,
  shared: SharedBindOptions,
): BindSpec[] {
  if (kind === 'labelled') return []
  const onlyScheme = definition.schemes?.length === 1 ? definition.schemes[0] : undefined
  const url = definition.url ? parsePublicUrl(definition.url, onlyScheme) : undefined
  if (kind === 'tcp') {
    if (url && url.scheme !== 'tcp')
      throw new SpecError('url', '"url" of a tcp tunnel must begin with tcp://')
    return [{ proto: 'tcp', opts: toTcpOptions(url?.hostport ?? definition.remote_addr ?? '', shared) }]
  }
  const names = [definition.domain, definition.hostname, definition.subdomain, url?.host].filter(Boolean)
  if (names.length > 1)
    throw new SpecError('url', 'give only one of "url", "domain", "hostname" and "subdomain"')
  if (kind === 'tls') {
    if (url && url.scheme !== 'tls')
      throw new SpecError('url', '"url" of a tls tunnel must begin with tls://')
    return [
      { proto: 'tls', opts: toTlsOptions(definition, url?.host, shared, resolveEdgeTermination(definition)) },
    ]
  }
  if (url && url.scheme !== 'http' && url.scheme !== 'https') {
    throw new SpecError('url', '"url" of an http tunnel must begin with http:// or https://')
  }
  const schemes = definition.schemes ?? [url?.scheme ?? 'https']
  if (schemes.length === 0) throw new SpecError('schemes', '"schemes" must name http, https or both')
  if (url?.hasScheme && schemes.some((scheme) => scheme !== url.scheme)) {
    throw new SpecError(
      'url',
      `"url" says ${url.scheme} and "schemes" says ${schemes.join(', ')}; leave the scheme out of one of them`,
    )
  }
  const opts = toHttpOptions(definition, url?.host, shared)
  return (['https', 'http'] as const)
    .filter((scheme) => schemes.includes(scheme))
    .map((proto) => ({ proto, opts }))
}

/** Mutual TLS asks for https: a plain http endpoint beside it would admit visitors without a certificate. */
function asksForSchemes({ schemes, url = '', mutual_tls_cas }: TunnelDefinition): boolean {
  return schemes !== undefined || mutual_tls_cas !== undefined || parsePublicUrl(url).hasScheme
}

/**
 * On a local domain the private root signs all certificates, which no browser trusts yet. A definition that leaves the
 * schemes open is served over plain http too, and that address comes first (decision 165).
 */
export function addPlainHttp(spec: AgentTunnelSpec): AgentTunnelSpec {
  const [bind] = spec.binds
  return spec.kind === 'http' && bind?.proto === 'https' && spec.schemesAsked === false
    ? { ...spec, binds: [{ ...bind, proto: 'http' }, bind] }
    : spec
}

function resolveTermination(definition: TunnelDefinition) {
  const { crt, key, terminate_at } = definition
  if ((crt === undefined) !== (key === undefined))
    throw new SpecError('crt', '"crt" and "key" belong together; give both or neither')
  const terminationPoint = terminate_at ?? (crt === undefined ? 'upstream' : 'agent')
  if (terminationPoint === 'upstream' && crt !== undefined)
    throw new SpecError('crt', '"crt" and "key" have no effect when the upstream terminates TLS')
  if (terminationPoint !== 'agent') return undefined
  if (crt === undefined || key === undefined)
    throw new SpecError('crt', 'to terminate TLS in the agent, set "crt" and "key"')
  return readServerIdentity(crt, key)
}

function resolveEdgeTermination({
  terminate_at,
  crt,
  key,
}: TunnelDefinition): BindOpts['TLSTermination'] | undefined {
  if (terminate_at !== 'edge') return undefined
  if (crt === undefined || key === undefined) return {}
  const identity = readServerIdentity(crt, key)
  return { cert: toBase64(identity.cert), key: toBase64(identity.key) }
}

function readServerIdentity(crt: string, key: string): { cert: string; key: string } {
  const identity = { cert: readPem('crt', crt), key: readPem('key', key) }
  try {
    createSecureContext(identity)
  } catch (error) {
    throw new SpecError(
      'crt',
      `"crt" and "key" are not a certificate and its private key: ${describeFileError(error)}`,
    )
  }
  return identity
}

function resolveHostHeader(value: string | undefined, upstream: UpstreamAddress): string | undefined {
  if (!value || value === 'preserve') return undefined
  if (value === 'rewrite') return upstream.authority
  if (!/^[\w.:[\]-]{1,255}$/.test(value))
    throw new SpecError('host_header', `host_header "${value.slice(0, 60)}" is not a host name`)
  return value
}

function resolveTrafficPolicy({
  traffic_policy,
  traffic_policy_file,
  policy,
}: TunnelDefinition): string | undefined {
  if ([traffic_policy, traffic_policy_file, policy].filter((each) => each !== undefined).length > 1) {
    throw new SpecError(
      'traffic_policy',
      'set only one of "traffic_policy", "traffic_policy_file" or "policy"',
    )
  }
  if (traffic_policy_file !== undefined) return readOptionFile('traffic_policy_file', traffic_policy_file)
  return traffic_policy ?? policy
}

/** CA certificates in PEM, inline or from a file. */
function readCaCertificates(key: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const text = readPem(key, value)
  const certificates = pemBlocks(text, 'CERTIFICATE')
  if (certificates.length === 0) throw new SpecError(key, `"${key}" holds no certificate in PEM`)
  for (const certificate of certificates) {
    try {
      new X509Certificate(certificate)
    } catch (error) {
      const text = describeFileError(error)
      throw new SpecError(key, `"${key}" holds a certificate that cannot be read: ${text}`)
    }
  }
  return text
}

/** PEM text, inline or from a file. */
function readPem(key: string, value: string): string {
  return value.includes('-----BEGIN') ? value : readOptionFile(key, value)
}

function readOptionFile(key: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SpecError(key, `cannot read the file ${path} named by "${key}": ${describeFileError(error)}`)
  }
}

const toBase64 = (value: string) => Buffer.from(value).toString('base64')
