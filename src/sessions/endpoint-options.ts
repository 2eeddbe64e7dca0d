import { parseCidr } from '../base/cidr.ts'
import { compileAnyOf } from '../base/linear-pattern.ts'
import { trimOws } from '../base/optional-white-space.ts'
import { type BindOpts, protocolError } from '../protocol/index.ts'
import { OAUTH_PROVIDERS, WEBHOOK_PROVIDERS } from '../resources/index.ts'
import type { EndpointOptions, TunnelProto } from './tunnel.ts'

type Pair = readonly [string, string]

/** Converts bind options to endpoint options. Unsupported options are rejected, never silently dropped. */
export function toEndpointOptions(proto: TunnelProto, opts: BindOpts): EndpointOptions {
  if (opts.TrafficPolicy) {
    throw protocolError(
      'options_invalid',
      'traffic policies are not supported; use the modules of an edge instead.',
    )
  }
  return {
    proxyProto: (opts.ProxyProto ?? 0) as 0 | 1 | 2,
    ...parseIpRestriction(opts),
    ...(proto === 'http' || proto === 'https' ? parseHttpOptions(proto, opts) : {}),
    ...(proto === 'tls' ? parseTlsOptions(opts) : {}),
  }
}

function parseHttpOptions(proto: 'http' | 'https', opts: BindOpts): Partial<EndpointOptions> {
  const { OAuth, OIDC, CircuitBreaker, WebhookVerification, UserAgentFilter } = opts
  return {
    ...parseBasicAuth(opts),
    ...(opts.RequestHeaders && { requestHeaders: parseHeaders('RequestHeaders', opts.RequestHeaders) }),
    ...(opts.ResponseHeaders && { responseHeaders: parseHeaders('ResponseHeaders', opts.ResponseHeaders) }),
    ...(opts.Compression && { compression: true }),
    ...(opts.WebsocketTCPConverter && { websocketTcpConverter: true }),
    ...(CircuitBreaker && { circuitBreaker: { errorThreshold: CircuitBreaker.error_threshold } }),
    ...(OAuth && {
      oauth: { provider: requireProvider('OAuth', OAUTH_PROVIDERS, OAuth.provider), ...parseLogin(OAuth) },
    }),
    ...(OIDC && { oidc: { issuerUrl: OIDC.issuer_url, ...parseLogin(OIDC) } }),
    ...(WebhookVerification && {
      webhookVerification: {
        provider: requireProvider(
          'WebhookVerification',
          [...WEBHOOK_PROVIDERS],
          WebhookVerification.provider,
        ),
        secret: WebhookVerification.secret ?? '',
      },
    }),
    ...(UserAgentFilter && {
      userAgentFilter: {
        allow: validatePatterns(UserAgentFilter.allow ?? []),
        deny: validatePatterns(UserAgentFilter.deny ?? []),
      },
    }),
    ...(proto === 'https' && parseMutualTls(opts.MutualTLSCA?.mutual_tls_ca)),
  }
}

function requireProvider(option: string, providers: readonly string[], provider: string): string {
  if (providers.includes(provider.toLowerCase())) return provider
  throw protocolError(
    'options_invalid',
    `"${provider.slice(0, 60)}" is not a provider of ${option}; use one of ${providers.join(', ')}.`,
  )
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
  if (Boolean(TLSTermination.cert) !== Boolean(TLSTermination.key)) {
    throw protocolError('options_invalid', 'TLSTermination needs both cert and key, or neither.')
  }
  return {
    tlsTermination: TLSTermination.cert
      ? {
          certPem: decodePem('TLSTermination.cert', TLSTermination.cert),
          keyPem: decodePem('TLSTermination.key', TLSTermination.key!),
        }
      : {},
    ...parseMutualTls(opts.MutualTLSAtEdge?.mutual_tls_ca),
  }
}

function parseIpRestriction({ IPRestriction }: BindOpts): Partial<EndpointOptions> {
  if (IPRestriction === undefined) return {}
  const allow = IPRestriction.allow_cidrs ?? []
  const deny = IPRestriction.deny_cidrs ?? []
  try {
    for (const cidr of [...allow, ...deny]) parseCidr(cidr)
  } catch (error) {
    throw protocolError('options_invalid', `IPRestriction: ${(error as Error).message}`)
  }
  return { ipRestriction: { allow, deny } }
}

function parseBasicAuth({ BasicAuth, Auth }: BindOpts): Partial<EndpointOptions> {
  const credentials = (BasicAuth?.credentials ?? []).map(({ username, cleartext_password: password }) => {
    // The hash format is undocumented, and a wrong guess could admit the wrong people.
    if (!password)
      throw protocolError('options_invalid', 'BasicAuth: every credential needs its password in clear text.')
    return { username, password }
  })
  if (Auth) {
    const colon = Auth.indexOf(':')
    if (colon < 0) throw protocolError('options_invalid', 'Auth must have the form user:password.')
    credentials.push({ username: Auth.slice(0, colon), password: Auth.slice(colon + 1) })
  }
  // An empty list would mean "no protection" although protection was requested.
  if (BasicAuth !== undefined && credentials.length === 0) {
    throw protocolError('options_invalid', 'BasicAuth: at least one credential is needed.')
  }
  return credentials.length === 0 ? {} : { basicAuth: credentials }
}

function parseLogin(settings: {
  client_id?: string
  client_secret?: string
  allow_emails?: string[]
  allow_domains?: string[]
  scopes?: string[]
}) {
  return {
    clientId: settings.client_id ?? '',
    clientSecret: settings.client_secret ?? '',
    allowEmails: settings.allow_emails ?? [],
    allowDomains: settings.allow_domains ?? [],
    scopes: settings.scopes ?? [],
  }
}

function parseHeaders(field: string, { add = [], remove = [] }: { add?: string[]; remove?: string[] }) {
  return {
    add: add.map((line): Pair => {
      const colon = line.indexOf(':')
      if (colon < 1)
        throw protocolError(
          'options_invalid',
          `${field}: "${line.slice(0, 80)}" is not of the form name:value.`,
        )
      return [trimOws(line.slice(0, colon)).toLowerCase(), trimOws(line.slice(colon + 1))]
    }),
    remove: remove.map((name) => trimOws(name).toLowerCase()),
  }
}

function validatePatterns(patterns: readonly string[]): readonly string[] {
  try {
    compileAnyOf(patterns)
  } catch (error) {
    throw protocolError('options_invalid', `UserAgentFilter: ${(error as Error).message}`)
  }
  return patterns
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
