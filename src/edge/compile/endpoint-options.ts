import { hash } from 'node:crypto'
import { compileRules } from '../../base/values/ip-rules.ts'
import { endpointOptions, type ModuleOptions, type OptionName } from '../../resources/endpoint-options.ts'
import { routeModules } from '../../resources/index.ts'
import type { BackendStep, ConnectionStep, Phase, PhaseResult, RequestStep } from '../contracts/module.ts'
import type { TlsSettings } from '../contracts/tls-policy.ts'
import type { EndpointOptions, Tunnel } from '../contracts/tunnels.ts'
import { readAuthorities } from '../modules/authorities.ts'
import { basicAuth } from '../modules/basic-auth.ts'
import { ModuleConfigError, type ModuleContext } from '../modules/context.ts'
import { modules, requestOrder } from '../modules/index.ts'
import { noteAdmitted } from '../modules/ip-restriction.ts'
import { clientIdentity } from '../modules/mutual-tls.ts'
import { editRequests } from '../modules/request-headers.ts'
import { editResponses } from '../modules/response-headers.ts'
import type { ReadTlsSettings } from '../policy/context.ts'
import type { CompiledPolicy } from '../policy/index.ts'
import type { CompilerDependencies } from './context.ts'
import type { CompiledConfiguration } from './endpoint-configurations.ts'
import { buildModule, denyAll, ModuleBuildError } from './module.ts'
import { buildPolicy, type PolicyDependencies } from './policy.ts'

/** What an endpoint's options compile to. */
export interface EndpointModules {
  readonly connectionSteps: readonly ConnectionStep[]
  readonly steps: readonly RequestStep[] | undefined
  /** The steps inside a policy that sign visitors in. */
  readonly signIns?: readonly RequestStep[] | undefined
  /** Set when a module replaces how requests reach the tunnel. */
  readonly wrapBackend: BackendStep | undefined
  readonly tls: TlsSettings
  /** How the policy terminates TLS, and the steps that wait for that. */
  readonly termination?: ReadTlsSettings | undefined
  readonly securedConnectionSteps?: readonly ConnectionStep[]
}

/**
 * Compiles an endpoint's options with the same modules that edges use. Its configuration acts before them, as an edge in
 * front would.
 */
export function compileEndpoint(
  tunnel: Tunnel,
  configuration: CompiledConfiguration | undefined,
  dependencies: PolicyDependencies & Pick<CompilerDependencies, 'countExchange'>,
): EndpointModules {
  const { id, accountId, options } = tunnel
  const accountRestriction = dependencies.ipPolicies.accountRestriction(accountId)
  try {
    const context = createEndpointContext(tunnel, dependencies)
    const {
      connection,
      request,
      backend,
      tls: tlsOptions,
    } = buildOptions(options, context, configuration?.basicAuth)
    const policy = buildEndpointPolicy(tunnel, context, dependencies)
    if (configuration !== undefined) requireCompatible(configuration, tunnel, policy)
    // A policy is nearest to the upstream: it sees requests as the options leave them, and responses first.
    // Where a tls endpoint terminates TLS, the policy runs after the handshake.
    const terminates = policy?.tls !== undefined || options.tlsTermination !== undefined
    const isSecured = terminates && tunnel.address.proto === 'tls'
    const securedConnectionSteps: ConnectionStep[] = []
    if (policy?.connection !== undefined)
      (isSecured ? securedConnectionSteps : connection).push(policy.connection)
    if (policy?.request !== undefined) request.push(policy.request)
    const own: TlsSettings = Object.assign(buildTlsSettings(options, context), ...tlsOptions)
    const tls = { ...own, ...configuration?.tls }
    // The steps of a configuration that verifies clients pass the identity themselves.
    if (own.clientAuthorities !== undefined && configuration?.tls.clientAuthorities === undefined)
      request.unshift(clientIdentity)
    if (options.ipRestriction !== undefined) request.unshift(noteAdmitted)
    const steps = [...(configuration?.route?.steps ?? []), ...request]
    return {
      connectionSteps: [...(configuration?.connectionSteps ?? [accountRestriction]), ...connection],
      steps: steps.length === 0 ? undefined : steps,
      signIns: policy?.signIns,
      wrapBackend:
        backend.length === 0 ? undefined : (inner) => backend.reduce((wrapped, wrap) => wrap(wrapped), inner),
      tls,
      termination: policy?.tls,
      securedConnectionSteps,
    }
  } catch (error) {
    const { module, message } =
      error instanceof ModuleBuildError ? error : new ModuleBuildError('endpoint', error)
    dependencies.runtime.log.warn(
      { id, module, reason: message },
      'endpoint option broken: denying all traffic',
    )
    return { connectionSteps: [denyAll(module)], steps: undefined, wrapBackend: undefined, tls: {} }
  }
}

/** Rejects a configuration that cannot act on an endpoint as it is meant to. */
function requireCompatible(
  { requiresHttp, signsIn }: CompiledConfiguration,
  { address, options }: Tunnel,
  policy: CompiledPolicy | undefined,
): void {
  const reject = (reason: string): never => {
    throw new ModuleBuildError('endpoint_configuration', new ModuleConfigError(reason))
  }
  if (address.proto === 'tls' && requiresHttp)
    reject('the endpoint configuration of the domain has modules that cannot act on a TLS endpoint')
  const signsInItself =
    options.oauth !== undefined || options.oidc !== undefined || (policy?.signIns ?? []).length > 0
  if (signsIn && signsInItself)
    reject('the endpoint and the endpoint configuration of its domain both sign visitors in')
}

/** Compiles the endpoint's traffic policy, if it has one. */
function buildEndpointPolicy(
  { id, address, options, region }: Tunnel,
  context: ModuleContext,
  dependencies: PolicyDependencies,
): CompiledPolicy | undefined {
  const { trafficPolicy: text } = options
  if (text === undefined || address.proto === undefined) return undefined
  const { proto, host, port, hostport, url } = address
  const policy = {
    text,
    attachment: { protocol: proto, kind: 'endpoint' },
    endpoint: {
      id: id.replace(/^tn_/, 'ep_'),
      protocol: proto,
      host,
      port,
      addr: hostport,
      url,
    },
    region,
    scope: `${proto} ${hostport}`,
    serviceName: host,
  } as const
  return buildPolicy(
    policy,
    { ...context, compileIpPolicies: (ids) => dependencies.ipPolicies.compile(ids) },
    dependencies,
  )
}

/** Options carry inline what edges reference by id, so this context resolves those lookups from the options. */
function createEndpointContext(
  tunnel: Tunnel,
  { runtime, services, countExchange }: Pick<CompilerDependencies, 'runtime' | 'services' | 'countExchange'>,
): ModuleContext {
  const { accountId, options } = tunnel
  return {
    accountId,
    scopeId: endpointScopeId(tunnel),
    clock: runtime.clock,
    services,
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
    getOrCreate(name, _key, create) {
      const state = create()
      countExchange.share(state, `endpoint ${tunnel.id} ${name}`)
      return state
    },
  }
}

/**
 * The id that visitor sessions are bound to. A reconnected agent has a new tunnel id, but the same scope while account,
 * address and login options are unchanged.
 */
function endpointScopeId({ id, accountId, address, options }: Tunnel): string {
  const { oauth, oidc, trafficPolicy } = options
  // Of a policy only its sign-in matters, whose settings are bound to sessions apart.
  const hasPolicy = trafficPolicy !== undefined
  if (address.proto === undefined || (oauth === undefined && oidc === undefined && !hasPolicy)) return id
  return `ep ${hash('sha256', JSON.stringify([accountId, address.proto, address.hostport, oauth, oidc, hasPolicy]))}`
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

type OptionOf<N extends OptionName> = NonNullable<ModuleOptions[(typeof endpointOptions)[N]['name']]>

/** Options that are declared without settings. */
type Unset = { [N in OptionName]: SettingsOf<N> extends undefined ? N : never }[OptionName]
type SettingsOf<N extends OptionName> = ReturnType<NonNullable<(typeof endpointOptions)[N]['settings']>>

/** How an option acts that is declared without settings; a missing one does not compile. */
const stepsWithoutSettings: { readonly [N in Unset]: (option: OptionOf<N>) => RequestStep } = {
  basic_auth: basicAuth,
  // Agents may add one name several times, which settings cannot express.
  request_headers: ({ add, remove }) => editRequests(add, remove),
  response_headers: ({ add, remove }) => editResponses(add, remove),
}

/** The order of requests; visitors give a password before they sign in. */
const order: string[] = [...requestOrder]
order.splice(order.indexOf('webhook_verification'), 0, 'basic_auth')
const optionNames = (Object.keys(endpointOptions) as OptionName[]).toSorted(
  (one, other) => order.indexOf(one) - order.indexOf(other),
)

type BuiltOptions = { readonly [P in Phase]: PhaseResult[P][] }

function buildOptions(
  options: EndpointOptions,
  context: ModuleContext,
  configuredBasicAuth: CompiledConfiguration['basicAuth'],
): BuiltOptions {
  const built: BuiltOptions = { connection: [], tls: [], request: [], backend: [] }
  for (const name of optionNames) {
    if (name === 'basic_auth' && configuredBasicAuth !== undefined) {
      // Without credentials of the agent this throws: the owner of the domain asked for protection.
      const build = () => basicAuth(options.basicAuth ?? [], configuredBasicAuth)
      built.request.push(nameModuleInErrors(name, build))
      continue
    }
    const option = options[endpointOptions[name].name]
    if (option === undefined || option === false) continue
    const phase = name === 'basic_auth' ? 'request' : modules[name].phase
    // The lists of options and of modules ensure that names, options and phases belong together.
    built[phase].push(buildOption(name, option as never, context) as never)
  }
  return built
}

function buildOption<N extends OptionName>(name: N, option: OptionOf<N>, context: ModuleContext) {
  if (Object.hasOwn(stepsWithoutSettings, name))
    return nameModuleInErrors(name, () => stepsWithoutSettings[name as Unset](option as never))
  const module = name as Exclude<OptionName, Unset>
  const settings = nameModuleInErrors(name, () => ({
    ...routeModules[module].value.fallback,
    ...endpointOptions[module].settings!(option as never),
  }))
  return buildModule(module, settings as never, context)
}

/** Names the module in errors of behaviour that is built without `buildModule`. */
function nameModuleInErrors<T>(module: string, build: () => T): T {
  try {
    return build()
  } catch (error) {
    throw new ModuleBuildError(module, error)
  }
}
