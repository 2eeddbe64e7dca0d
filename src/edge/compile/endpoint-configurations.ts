import { coveringNames } from '../../base/values/name-index.ts'
import {
  type BasicAuth,
  configurationModules,
  type EndpointConfiguration,
  routeModules,
  type Settings,
} from '../../resources/index.ts'
import type { ConnectionStep } from '../contracts/module.ts'
import { type OwnedRecord, portOf } from '../contracts/snapshot.ts'
import type { HttpHost, HttpRoute, TcpHost } from '../contracts/table.ts'
import type { TlsSettings } from '../contracts/tls-policy.ts'
import type { Tunnel } from '../contracts/tunnels.ts'
import { CompileContext, type CompilerDependencies } from './context.ts'
import { buildTlsSettings, compileTcpHost } from './edge.ts'
import { compileRoute, deniedRoute } from './route.ts'

/** An endpoint configuration, compiled once for all endpoints that it applies to. */
export interface CompiledConfiguration {
  readonly connectionSteps: readonly ConnectionStep[] | undefined
  /** What requests pass before the endpoint's own options; undefined for TCP. */
  readonly route: HttpRoute | undefined
  readonly tls: TlsSettings
  /** Set when visitors are asked for a password of the agent. */
  readonly basicAuth: Settings<typeof BasicAuth> | undefined
  readonly signsIn: boolean
  /** Whether it has an IP policy. */
  readonly restricted: boolean
  /** Whether it does more than to admit connections. */
  readonly requiresHttp: boolean
  /** Serves the names instead of agents; undefined without a backend. */
  readonly host: HttpHost | TcpHost | undefined
  /** Ids of everything it was compiled from. */
  readonly dependencyIds: ReadonlySet<string>
}

type OwnedConfiguration = OwnedRecord<typeof EndpointConfiguration>

/**
 * The endpoint configurations of reserved domains and addresses, each compiled when it is first needed after a change. The
 * most specific reservation that covers a name decides.
 */
export class EndpointConfigurations {
  readonly #dependencies: CompilerDependencies
  readonly #compiled = new Map<string, CompiledConfiguration>()
  #hasBackends = false
  #revision = 0

  constructor(dependencies: CompilerDependencies) {
    this.#dependencies = dependencies
  }

  /** Another number whenever the configuration of an endpoint may have changed. */
  get revision(): number {
    return this.#revision
  }

  /** Drops the compiled configurations that depend on these ids. */
  applyChanges(ids: ReadonlySet<string>): void {
    for (const [id, { dependencyIds }] of this.#compiled)
      if (!dependencyIds.isDisjointFrom(ids)) this.#compiled.delete(id)
    const { configurations } = this.#dependencies.snapshot
    this.#hasBackends = configurations.values().some(({ backend }) => backend?.enabled === true)
    this.#revision++
  }

  /** The configuration that applies to an agent's endpoint. */
  find({ accountId, address }: Tunnel): CompiledConfiguration | undefined {
    if (address.proto === undefined || address.internalTo !== undefined) return undefined
    if (address.proto === 'tcp')
      return this.#get(
        accountId,
        this.#dependencies.snapshot.addressAt(address.port)?.endpoint_configuration_id,
      )
    const domain = this.#domainOf(address.host)
    return this.#get(
      accountId,
      address.proto === 'http'
        ? domain?.http_endpoint_configuration_id
        : domain?.https_endpoint_configuration_id,
    )
  }

  /** The HTTP host of a name whose configuration has a backend. */
  http(scheme: 'http' | 'https', host: string): HttpHost | undefined {
    if (!this.#hasBackends) return undefined
    const domain = this.#domainOf(host)
    const httpHost =
      domain && this.#get(domain.accountId, domain[`${scheme}_endpoint_configuration_id`])?.host
    return httpHost?.kind === 'http' ? httpHost : undefined
  }

  /** The TCP host of a port whose configuration has a backend. */
  tcp(port: number): TcpHost | undefined {
    if (!this.#hasBackends) return undefined
    const address = this.#dependencies.snapshot.addressAt(port)
    const host = address && this.#get(address.accountId, address.endpoint_configuration_id)?.host
    return host?.kind === 'tcp' ? host : undefined
  }

  /** The ports that are served by a backend. */
  ports(): number[] {
    if (!this.#hasBackends) return []
    return [...this.#dependencies.snapshot.addresses.values()].map(portOf).filter((port) => this.tcp(port))
  }

  /** The route of the configuration with this id. */
  route(id: string): HttpRoute | undefined {
    const record = this.#dependencies.snapshot.configurations.get(id)
    return record && this.#get(record.accountId, id)?.route
  }

  #domainOf(host: string) {
    for (const name of coveringNames(host)) {
      const domain = this.#dependencies.snapshot.domainNamed(name)
      if (domain !== undefined) return domain
    }
    return undefined
  }

  #get(accountId: string, id: string | null | undefined): CompiledConfiguration | undefined {
    if (!id) return undefined
    const record = this.#dependencies.snapshot.configurations.get(id)
    if (record === undefined || record.accountId !== accountId) return undefined
    const existing = this.#compiled.get(id)
    if (existing !== undefined) return existing
    const compiled = compileConfiguration(record, this.#dependencies)
    this.#compiled.set(id, compiled)
    return compiled
  }
}

function compileConfiguration(
  record: OwnedConfiguration,
  dependencies: CompilerDependencies,
): CompiledConfiguration {
  const context = new CompileContext(dependencies, record.accountId)
  context.dependOn(record.id)
  const { basic_auth, oauth, oidc, saml } = record
  const enabled = (Object.keys(configurationModules) as (keyof typeof configurationModules)[]).filter(
    (name) => record[name]?.enabled,
  )
  const shared = {
    basicAuth: basic_auth?.enabled ? basic_auth : undefined,
    signsIn: [oauth, oidc, saml].some((login) => login?.enabled),
    restricted: enabled.includes('ip_policy'),
    requiresHttp: enabled.some((name) => name !== 'ip_policy'),
    dependencyIds: context.dependencyIds,
  }
  return record.type === 'tcp'
    ? { ...shared, ...compileTcp(record, context) }
    : { ...shared, ...compileHttp(record, context) }
}

type Compiled = Pick<CompiledConfiguration, 'connectionSteps' | 'route' | 'tls' | 'host'>

function compileTcp(record: OwnedConfiguration, context: CompileContext): Compiled {
  const { id, accountId, ip_policy: ip_restriction, backend } = record
  const modules = { id, accountId, ip_restriction, backend, traffic_policy: null, hostports: null }
  const host = compileTcpHost(modules, 'tcp-edge', context, () => undefined)
  return {
    connectionSteps: host.connectionSteps,
    route: undefined,
    tls: {},
    host: backend?.enabled ? host : undefined,
  }
}

function compileHttp(record: OwnedConfiguration, context: CompileContext): Compiled {
  const { id, accountId, type, backend } = record
  const { runtime, tlsPolicies } = context.dependencies
  const { tls, route } = buildHttp(record, context)
  const host: HttpHost = {
    kind: 'http',
    id,
    accountId,
    traffic: runtime.traffic.forAccount(accountId),
    tlsPolicy: type === 'https' ? tlsPolicies.get({ http: true, ...tls }) : undefined,
    redirectToHttps: false,
    routeFor: () => route,
  }
  return { connectionSteps: route.connectionSteps, route, tls, host: backend?.enabled ? host : undefined }
}

/** Of the modules of a route, a configuration has some. */
const NO_MODULES = Object.fromEntries(Object.keys(routeModules).map((name) => [name, null])) as Record<
  keyof typeof routeModules,
  null
>

function buildHttp(
  record: OwnedConfiguration,
  context: CompileContext,
): { tls: TlsSettings; route: HttpRoute } {
  const { id, mutual_tls } = record
  try {
    const tls = buildTlsSettings(record, context)
    const modules = {
      ...NO_MODULES,
      ...record,
      edge_id: id,
      ip_restriction: record.ip_policy,
      webhook_verification: record.webhook_validation,
    }
    const mutualTls = mutual_tls?.enabled === true
    return { tls, route: compileRoute(modules, context, { mutualTls, hostports: null }) }
  } catch (error) {
    return { tls: {}, route: deniedRoute(id, context.reportBroken(id, error)) }
  }
}
