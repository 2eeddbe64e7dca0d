import { isIP } from 'node:net'
import { trimOws } from '../../base/optional-white-space.ts'
import type { BindOpts } from '../../protocol/index.ts'
import type { TunnelDefinition } from '../config/definitions.ts'
import { SpecError } from './spec-error.ts'

interface SharedBindOptions {
  proxyProto: 0 | 1 | 2
  ipRestriction: BindOpts['IPRestriction'] | undefined
  trafficPolicy: string | undefined
  mutualTlsCas: string | undefined
}

/** Drops unset options: to the server an absent option and an empty one are the same. */
function dropUnset(options: { [K in keyof BindOpts]?: BindOpts[K] | undefined }): BindOpts {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== ''),
  ) as BindOpts
}

/** The `Opts` of an http or https Bind (docs/protocol.md). */
export function toHttpOptions(
  definition: TunnelDefinition,
  urlHost: string | undefined,
  shared: SharedBindOptions,
): BindOpts {
  return dropUnset({
    ...toNameOptions(definition, urlHost),
    ProxyProto: shared.proxyProto,
    Compression: definition.compression ? {} : undefined,
    CircuitBreaker: definition.circuit_breaker ? { error_threshold: definition.circuit_breaker } : undefined,
    IPRestriction: shared.ipRestriction,
    BasicAuth: definition.basic_auth?.length
      ? { credentials: definition.basic_auth.map(parseCredential) }
      : undefined,
    OAuth: definition.oauth && { ...definition.oauth, provider: definition.oauth.provider ?? '' },
    OIDC: definition.oidc && {
      ...definition.oidc,
      issuer_url: definition.oidc.issuer_url ?? '',
      client_id: definition.oidc.client_id ?? '',
    },
    WebhookVerification: definition.verify_webhook && {
      ...definition.verify_webhook,
      provider: definition.verify_webhook.provider ?? '',
    },
    MutualTLSCA:
      shared.mutualTlsCas === undefined ? undefined : { mutual_tls_ca: toBase64(shared.mutualTlsCas) },
    RequestHeaders: toHeaderOptions('request_header', definition.request_header),
    ResponseHeaders: toHeaderOptions('response_header', definition.response_header),
    WebsocketTCPConverter: definition.websocket_tcp_converter ? {} : undefined,
    UserAgentFilter: definition.user_agent_filter,
    TrafficPolicy: shared.trafficPolicy,
  })
}

/** The `Opts` of a tcp Bind. */
export function toTcpOptions(address: string, shared: SharedBindOptions): BindOpts {
  if (address !== '' && !/^[^\s:/]+:\d{1,5}$/.test(address)) {
    throw new SpecError('remote_addr', `"${address.slice(0, 60)}" is not a public address; use host:port`)
  }
  return dropUnset({
    Addr: address,
    ProxyProto: shared.proxyProto,
    IPRestriction: shared.ipRestriction,
    TrafficPolicy: shared.trafficPolicy,
  })
}

/** The `Opts` of a tls Bind. */
export function toTlsOptions(
  definition: TunnelDefinition,
  urlHost: string | undefined,
  shared: SharedBindOptions,
  edgeTermination: BindOpts['TLSTermination'] | undefined,
): BindOpts {
  const cas = shared.mutualTlsCas
  return dropUnset({
    ...toNameOptions(definition, urlHost),
    ProxyProto: shared.proxyProto,
    MutualTLSAtAgent: cas !== undefined && edgeTermination === undefined,
    MutualTLSAtEdge:
      cas !== undefined && edgeTermination !== undefined ? { mutual_tls_ca: toBase64(cas) } : undefined,
    TLSTermination: edgeTermination,
    IPRestriction: shared.ipRestriction,
    TrafficPolicy: shared.trafficPolicy,
  })
}

function toNameOptions({ domain, hostname, subdomain }: TunnelDefinition, urlHost: string | undefined) {
  return { Domain: urlHost ?? domain, Hostname: hostname, Subdomain: subdomain }
}

function parseCredential(text: string) {
  const colon = text.indexOf(':')
  const username = text.slice(0, Math.max(colon, 0))
  const password = text.slice(colon + 1)
  if (colon < 0) throw new SpecError('basic_auth', 'an entry of "basic_auth" must be user:password')
  if (username.length < 1 || username.length > 128)
    throw new SpecError('basic_auth', 'a "basic_auth" user name has 1 to 128 characters')
  if (password.length < 8 || password.length > 128)
    throw new SpecError('basic_auth', 'a "basic_auth" password has 8 to 128 characters')
  return { username, cleartext_password: password }
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

function toHeaderOptions(key: string, value: TunnelDefinition['request_header']) {
  if (!value?.add?.length && !value?.remove?.length) return undefined
  for (const line of value.add ?? []) {
    const name = trimOws(line.slice(0, Math.max(line.indexOf(':'), 0)))
    if (!FIELD_NAME.test(name) || /[\r\n\0]/.test(line)) {
      throw new SpecError(key, `"${line.slice(0, 60)}" in "${key}.add" must be name:value`)
    }
  }
  for (const name of value.remove ?? []) {
    if (!FIELD_NAME.test(name))
      throw new SpecError(key, `"${name.slice(0, 60)}" in "${key}.remove" is not a header name`)
  }
  return {
    ...(value.add?.length ? { add: value.add } : {}),
    ...(value.remove?.length ? { remove: value.remove } : {}),
  }
}

/** The `IPRestriction` of a Bind; rejects invalid CIDRs. */
export function toIpRestriction(
  value: TunnelDefinition['ip_restriction'],
): BindOpts['IPRestriction'] | undefined {
  const allow = value?.allow_cidrs ?? []
  const deny = value?.deny_cidrs ?? []
  for (const cidr of [...allow, ...deny]) {
    if (!isCidr(cidr))
      throw new SpecError(
        'ip_restriction',
        `"${cidr.slice(0, 60)}" in "ip_restriction" is not a CIDR such as 10.0.0.0/8`,
      )
  }
  if (allow.length === 0 && deny.length === 0) return undefined
  return { ...(allow.length ? { allow_cidrs: allow } : {}), ...(deny.length ? { deny_cidrs: deny } : {}) }
}

function isCidr(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const family = isIP(address ?? '')
  return (
    family !== 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits ?? '') &&
    Number(bits) <= (family === 4 ? 32 : 128)
  )
}

/** Rejects incomplete settings for visitor login and webhook verification. */
export function checkIdentityOptions({ oauth, oidc, verify_webhook: webhook }: TunnelDefinition): void {
  if (oauth && oidc) throw new SpecError('oauth', 'give "oauth" or "oidc", not both')
  if (oauth && !oauth.provider) throw new SpecError('oauth', '"oauth" needs a "provider"')
  if (oidc && !(oidc.issuer_url && oidc.client_id && oidc.client_secret))
    throw new SpecError('oidc', '"oidc" needs "issuer_url", "client_id" and "client_secret"')
  if (webhook && !webhook.provider)
    throw new SpecError('verify_webhook', '"verify_webhook" needs a "provider"')
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64')
