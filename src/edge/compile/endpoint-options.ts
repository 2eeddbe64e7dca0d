import { hash } from 'node:crypto'
import { compileRules } from '../../base/ip-rules.ts'
import {
  CircuitBreaker,
  Compression,
  OAUTH_PROVIDERS,
  type Oauth,
  Oidc,
  type Settings,
  WebsocketTcpConverter,
} from '../../resources/index.ts'
import type { TlsSettings } from '../listeners/tls-policy.ts'
import type { BackendStep, ConnectionStep, RequestStep } from '../module.ts'
import { type BasicCredential, basicAuth } from '../modules/basic-auth.ts'
import { Broken, type World } from '../modules/context.ts'
import { noteAdmitted } from '../modules/ip-restriction.ts'
import { clientIdentity } from '../modules/mutual-tls.ts'
import { editRequests } from '../modules/request-headers.ts'
import { editResponses } from '../modules/response-headers.ts'
import type { EndpointOptions, Tunnel } from '../tunnels.ts'
import { readAuthorities } from './authorities.ts'
import type { CompilerParts } from './context.ts'
import { BrokenModule, buildModule, denyAll } from './module.ts'

/** What the options of an agent's endpoint compile to. */
export interface EndpointModules {
  readonly admission: readonly ConnectionStep[]
  readonly steps: readonly RequestStep[] | undefined
  /** Set when something stands between the steps and the tunnel. */
  readonly around: BackendStep | undefined
  readonly tls: TlsSettings
}

/** Runs what an agent asks of its endpoint through the same modules that edges have. */
export function compileEndpoint(
  tunnel: Tunnel,
  parts: Pick<CompilerParts, 'core' | 'rules' | 'logins' | 'signingKeys'>,
): EndpointModules {
  const { id, accountId, options } = tunnel
  const account = parts.rules.accountAdmission(accountId)
  try {
    const world = endpointWorld(tunnel, parts)
    const steps = requestSteps(options, world)
    const tls = tlsSettings(options, world)
    if (tls.clientAuthorities !== undefined) steps.unshift(clientIdentity)
    if (options.ipRestriction !== undefined) steps.unshift(noteAdmitted)
    return {
      admission: options.ipRestriction === undefined ? [account] : [account, addressStep(world)],
      steps: steps.length === 0 ? undefined : steps,
      around: options.websocketTcpConverter
        ? buildModule('websocket_tcp_converter', WebsocketTcpConverter.value.fallback, world)
        : undefined,
      tls,
    }
  } catch (error) {
    const { module, message } = error instanceof BrokenModule ? error : new BrokenModule('endpoint', error)
    parts.core.log.warn(
      { id, module, reason: message },
      'an option of an endpoint cannot be obeyed, so nobody is let in',
    )
    return { admission: [denyAll(module)], steps: undefined, around: undefined, tls: {} }
  }
}

/** Where options hold what edges refer to by id, the world answers with what the options hold. */
function endpointWorld(
  tunnel: Tunnel,
  { core, logins, signingKeys }: Pick<CompilerParts, 'core' | 'logins' | 'signingKeys'>,
): World {
  const { accountId, options } = tunnel
  return {
    accountId,
    placeId: placeOf(tunnel),
    clock: core.clock,
    logins,
    signingKeys,
    admits() {
      const { allow = [], deny = [] } = options.ipRestriction ?? {}
      return compileRules([
        // Without an allow list an agent means: everyone but these.
        ...(allow.length > 0 ? allow : ['0.0.0.0/0', '::/0']).map((cidr) => ({
          cidr,
          action: 'allow' as const,
        })),
        ...deny.map((cidr) => ({ cidr, action: 'deny' as const })),
      ])
    },
    authorities: () => readAuthorities(options.mutualTls?.caPem ?? ''),
    // An endpoint is compiled once in the life of its tunnel.
    keep: (_name, _key, make) => make(),
  }
}

/**
 * What sessions of visitors are bound to. An agent that comes back has another tunnel and is the same place, as long as
 * the account, the address and what its visitors have to pass are the same.
 */
function placeOf({ id, accountId, proto, hostport, options: { oauth, oidc } }: Tunnel): string {
  if (hostport === undefined || (oauth === undefined && oidc === undefined)) return id
  return `ep ${hash('sha256', JSON.stringify([accountId, proto, hostport, oauth, oidc]))}`
}

function addressStep(world: World): ConnectionStep {
  return buildModule('ip_restriction', { enabled: true, ip_policy_ids: [] }, world)
}

function tlsSettings({ mutualTls, tlsTermination }: EndpointOptions, world: World): TlsSettings {
  const { certPem, keyPem } = tlsTermination ?? {}
  return {
    ...(mutualTls === undefined
      ? {}
      : buildModule('mutual_tls', { enabled: true, certificate_authority_ids: [] }, world)),
    ...(certPem !== undefined && keyPem !== undefined
      ? { certificate: { certificatePem: certPem, privateKeyPem: keyPem } }
      : {}),
  }
}

type Pairs = { readonly add: readonly (readonly [string, string])[]; readonly remove: readonly string[] }

/** How each option acts on requests; `undefined` for those that act elsewhere. In the order of `requestOrder`. */
const requestOptions: {
  readonly [K in keyof Required<EndpointOptions>]:
    | ((option: NonNullable<EndpointOptions[K]>, world: World) => RequestStep | undefined)
    | undefined
} = {
  userAgentFilter: ({ allow, deny }, world) =>
    buildModule('user_agent_filter', { enabled: true, allow: [...allow], deny: [...deny] }, world),
  basicAuth: (credentials: readonly BasicCredential[]) =>
    inModule('basic_auth', () => basicAuth(credentials)),
  webhookVerification: (settings, world) =>
    buildModule('webhook_verification', { enabled: true, ...settings }, world),
  oauth: (option, world) => buildModule('oauth', oauthSettings(option), world),
  oidc: (option, world) => oidcStep(option, world),
  compression: (on, world) =>
    on ? buildModule('compression', Compression.value.fallback, world) : undefined,
  responseHeaders: ({ add, remove }: Pairs) => inModule('response_headers', () => editResponses(add, remove)),
  requestHeaders: ({ add, remove }: Pairs) => inModule('request_headers', () => editRequests(add, remove)),
  circuitBreaker: ({ errorThreshold }, world) =>
    buildModule(
      'circuit_breaker',
      { ...CircuitBreaker.value.fallback, error_threshold_percentage: errorThreshold },
      world,
    ),
  ipRestriction: undefined,
  websocketTcpConverter: undefined,
  mutualTls: undefined,
  tlsTermination: undefined,
  proxyProto: undefined,
}

function requestSteps(options: EndpointOptions, world: World): RequestStep[] {
  return (Object.keys(requestOptions) as (keyof EndpointOptions)[]).flatMap((name) => {
    const option = options[name]
    const build = requestOptions[name] as
      | ((option: unknown, world: World) => RequestStep | undefined)
      | undefined
    const step = option === undefined ? undefined : build?.(option, world)
    return step === undefined ? [] : [step]
  })
}

function oauthSettings(option: NonNullable<EndpointOptions['oauth']>): Settings<typeof Oauth> {
  const provider = {
    client_id: option.clientId,
    client_secret: option.clientSecret,
    scopes: [...option.scopes],
    email_addresses: [...option.allowEmails],
    email_domains: [...option.allowDomains],
    teams: [],
    organizations: [],
  }
  const known = OAUTH_PROVIDERS.find((name) => name === option.provider)
  if (known === undefined)
    throw new BrokenModule('oauth', new Broken(`${option.provider} is not a known provider`))
  const none = Object.fromEntries(OAUTH_PROVIDERS.map((name) => [name, null]))
  return {
    ...Oidc.value.fallback,
    auth_check_interval: 0,
    enabled: true,
    provider: { ...none, [known]: provider } as Settings<typeof Oauth>['provider'],
  }
}

function oidcStep(option: NonNullable<EndpointOptions['oidc']>, world: World): RequestStep {
  const settings: Settings<typeof Oidc> = {
    ...Oidc.value.fallback,
    enabled: true,
    issuer: option.issuerUrl,
    client_id: option.clientId,
    client_secret: option.clientSecret,
    scopes: [...option.scopes],
  }
  const { allowEmails: emails, allowDomains: domains } = option
  return buildModule('oidc', settings, { ...world, allowedVisitors: { emails, domains } })
}

/** Behaviour that edges have under this name, given by an agent in another form. */
function inModule<T>(module: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new BrokenModule(module, error)
  }
}
