import { hash } from 'node:crypto'
import { compileRules } from '../../base/ip-rules.ts'
import {
  CircuitBreaker,
  Compression,
  OAUTH_PROVIDERS,
  Oauth,
  Oidc,
  type Settings,
  WebsocketTcpConverter,
} from '../../resources/index.ts'
import type { BackendStep, ConnectionStep, RequestStep } from '../module.ts'
import { type BasicCredential, basicAuth } from '../modules/basic-auth.ts'
import { ModuleConfigError, type ModuleContext } from '../modules/context.ts'
import { noteAdmitted } from '../modules/ip-restriction.ts'
import { clientIdentity } from '../modules/mutual-tls.ts'
import { editRequests } from '../modules/request-headers.ts'
import { editResponses } from '../modules/response-headers.ts'
import type { TlsSettings } from '../tls-policy.ts'
import type { EndpointOptions, Tunnel } from '../tunnels.ts'
import { readAuthorities } from './authorities.ts'
import type { CompilerParts } from './context.ts'
import { buildModule, denyAll, ModuleBuildError } from './module.ts'

/** What an endpoint's options compile to. */
export interface EndpointModules {
  readonly admission: readonly ConnectionStep[]
  readonly steps: readonly RequestStep[] | undefined
  /** Set when a module replaces how requests reach the tunnel. */
  readonly wrapBackend: BackendStep | undefined
  readonly tls: TlsSettings
}

/** Compiles an endpoint's options with the same modules that edges use. */
export function compileEndpoint(
  tunnel: Tunnel,
  parts: Pick<CompilerParts, 'core' | 'ipPolicies' | 'logins' | 'signingKeys'>,
): EndpointModules {
  const { id, accountId, options } = tunnel
  const accountAdmission = parts.ipPolicies.accountAdmission(accountId)
  try {
    const context = createEndpointContext(tunnel, parts)
    const steps = buildRequestSteps(options, context)
    const tls = buildTlsSettings(options, context)
    if (tls.clientAuthorities !== undefined) steps.unshift(clientIdentity)
    if (options.ipRestriction !== undefined) steps.unshift(noteAdmitted)
    return {
      admission:
        options.ipRestriction === undefined
          ? [accountAdmission]
          : [accountAdmission, buildIpRestriction(context)],
      steps: steps.length === 0 ? undefined : steps,
      wrapBackend: options.websocketTcpConverter
        ? buildModule('websocket_tcp_converter', WebsocketTcpConverter.value.fallback, context)
        : undefined,
      tls,
    }
  } catch (error) {
    const { module, message } =
      error instanceof ModuleBuildError ? error : new ModuleBuildError('endpoint', error)
    parts.core.log.warn({ id, module, reason: message }, 'endpoint option broken: denying all traffic')
    return { admission: [denyAll(module)], steps: undefined, wrapBackend: undefined, tls: {} }
  }
}

/** Options carry inline what edges reference by id, so this context resolves those lookups from the options. */
function createEndpointContext(
  tunnel: Tunnel,
  { core, logins, signingKeys }: Pick<CompilerParts, 'core' | 'logins' | 'signingKeys'>,
): ModuleContext {
  const { accountId, options } = tunnel
  return {
    accountId,
    scopeId: endpointScopeId(tunnel),
    clock: core.clock,
    logins,
    signingKeys,
    compileIpPolicies() {
      const { allow = [], deny = [] } = options.ipRestriction ?? {}
      return compileRules([
        // Without an allow list, every address that is not denied is allowed.
        ...(allow.length > 0 ? allow : ['0.0.0.0/0', '::/0']).map((cidr) => ({
          cidr,
          action: 'allow' as const,
        })),
        ...deny.map((cidr) => ({ cidr, action: 'deny' as const })),
      ])
    },
    readAuthorities: () => readAuthorities(options.mutualTls?.caPem ?? ''),
    // An endpoint is compiled once per tunnel, so its state needs no key.
    getOrCreate: (_name, _key, create) => create(),
  }
}

/**
 * The id that visitor sessions are bound to. A reconnected agent has a new tunnel id, but the same scope while account,
 * address and login options are unchanged.
 */
function endpointScopeId({ id, accountId, proto, hostport, options: { oauth, oidc } }: Tunnel): string {
  if (hostport === undefined || (oauth === undefined && oidc === undefined)) return id
  return `ep ${hash('sha256', JSON.stringify([accountId, proto, hostport, oauth, oidc]))}`
}

function buildIpRestriction(context: ModuleContext): ConnectionStep {
  return buildModule('ip_restriction', { enabled: true, ip_policy_ids: [] }, context)
}

function buildTlsSettings(
  { mutualTls, tlsTermination }: EndpointOptions,
  context: ModuleContext,
): TlsSettings {
  const { certPem, keyPem } = tlsTermination ?? {}
  return {
    ...(mutualTls === undefined
      ? {}
      : buildModule('mutual_tls', { enabled: true, certificate_authority_ids: [] }, context)),
    ...(certPem !== undefined && keyPem !== undefined
      ? { certificate: { certificatePem: certPem, privateKeyPem: keyPem } }
      : {}),
  }
}

type HeaderOptions = {
  readonly add: readonly (readonly [string, string])[]
  readonly remove: readonly string[]
}

/** How each option acts on requests; `undefined` for options of other phases. Key order matches `requestOrder`. */
const requestOptionBuilders: {
  readonly [K in keyof Required<EndpointOptions>]:
    | ((option: NonNullable<EndpointOptions[K]>, context: ModuleContext) => RequestStep | undefined)
    | undefined
} = {
  userAgentFilter: ({ allow, deny }, context) =>
    buildModule('user_agent_filter', { enabled: true, allow: [...allow], deny: [...deny] }, context),
  basicAuth: (credentials: readonly BasicCredential[]) =>
    nameModuleInErrors('basic_auth', () => basicAuth(credentials)),
  webhookVerification: (settings, context) =>
    buildModule('webhook_verification', { enabled: true, ...settings }, context),
  oauth: (option, context) => buildModule('oauth', toOauthSettings(option), context),
  oidc: (option, context) => buildOidc(option, context),
  compression: (on, context) =>
    on ? buildModule('compression', Compression.value.fallback, context) : undefined,
  responseHeaders: ({ add, remove }: HeaderOptions) =>
    nameModuleInErrors('response_headers', () => editResponses(add, remove)),
  requestHeaders: ({ add, remove }: HeaderOptions) =>
    nameModuleInErrors('request_headers', () => editRequests(add, remove)),
  circuitBreaker: ({ errorThreshold }, context) =>
    buildModule(
      'circuit_breaker',
      { ...CircuitBreaker.value.fallback, error_threshold_percentage: errorThreshold },
      context,
    ),
  ipRestriction: undefined,
  websocketTcpConverter: undefined,
  mutualTls: undefined,
  tlsTermination: undefined,
  proxyProto: undefined,
}

function buildRequestSteps(options: EndpointOptions, context: ModuleContext): RequestStep[] {
  return (Object.keys(requestOptionBuilders) as (keyof EndpointOptions)[]).flatMap((name) => {
    const option = options[name]
    const build = requestOptionBuilders[name] as
      | ((option: unknown, context: ModuleContext) => RequestStep | undefined)
      | undefined
    const step = option === undefined ? undefined : build?.(option, context)
    return step === undefined ? [] : [step]
  })
}

function toOauthSettings(option: NonNullable<EndpointOptions['oauth']>): Settings<typeof Oauth> {
  const providerSettings = {
    client_id: option.clientId,
    client_secret: option.clientSecret,
    scopes: [...option.scopes],
    email_addresses: [...option.allowEmails],
    email_domains: [...option.allowDomains],
    teams: [],
    organizations: [],
  }
  const provider = OAUTH_PROVIDERS.find((name) => name === option.provider)
  if (provider === undefined)
    throw new ModuleBuildError('oauth', new ModuleConfigError(`${option.provider} is not a known provider`))
  const disabledProviders = Object.fromEntries(OAUTH_PROVIDERS.map((name) => [name, null]))
  return {
    ...Oauth.value.fallback,
    provider: { ...disabledProviders, [provider]: providerSettings } as Settings<typeof Oauth>['provider'],
  }
}

function buildOidc(option: NonNullable<EndpointOptions['oidc']>, context: ModuleContext): RequestStep {
  const settings: Settings<typeof Oidc> = {
    ...Oidc.value.fallback,
    enabled: true,
    issuer: option.issuerUrl,
    client_id: option.clientId,
    client_secret: option.clientSecret,
    scopes: [...option.scopes],
  }
  const { allowEmails: emails, allowDomains: domains } = option
  return buildModule('oidc', settings, { ...context, allowedIdentities: { emails, domains } })
}

/** Names the module in errors of behaviour that is built without `buildModule`. */
function nameModuleInErrors<T>(module: string, build: () => T): T {
  try {
    return build()
  } catch (error) {
    throw new ModuleBuildError(module, error)
  }
}
