import { isDeepStrictEqual } from 'node:util'
import type { HttpBackend, TcpBackend } from '../contracts/backend.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import {
  type Counters,
  createCounters,
  type HttpHost,
  type HttpRoute,
  type TcpHost,
} from '../contracts/table.ts'
import type { TlsPolicies } from '../contracts/tls-policy.ts'
import type { EndpointOptions, Tunnel, TunnelLookup } from '../contracts/tunnels.ts'
import { type IdleBudgets, TunnelTarget } from '../upstream/tunnel-target.ts'
import type { CompiledConfiguration, EndpointConfigurations } from './endpoint-configurations.ts'
import type { EndpointModules } from './endpoint-options.ts'
import { withLiveTlsPolicy } from './live-tls-policy.ts'
import { denyAll } from './module.ts'

/** What the endpoints are compiled with. */
export interface EndpointDependencies {
  readonly runtime: EdgeRuntime
  readonly budgets: IdleBudgets
  readonly tlsPolicies: TlsPolicies
  readonly tunnels: Pick<TunnelLookup, 'poolOf'>
  readonly configurations: Configurations
  compileModules(tunnel: Tunnel, configuration: CompiledConfiguration | undefined): EndpointModules
}

type Configurations = Pick<EndpointConfigurations, 'find' | 'revision'>

/** Compiles agents' endpoints, once per tunnel and for each change of its options or configuration. */
export class CompiledEndpoints {
  readonly #runtime: EdgeRuntime
  readonly #budgets: IdleBudgets
  readonly #tlsPolicies: TlsPolicies
  readonly #tunnels: Pick<TunnelLookup, 'poolOf'>
  readonly #compileModules: EndpointDependencies['compileModules']
  readonly #http: CompiledHosts<HttpHost>
  readonly #tcp: CompiledHosts<TcpHost>
  readonly #targets = new WeakMap<Tunnel, TunnelTarget>()

  constructor({
    runtime,
    budgets,
    tlsPolicies,
    tunnels,
    configurations,
    compileModules,
  }: EndpointDependencies) {
    this.#runtime = runtime
    this.#budgets = budgets
    this.#tlsPolicies = tlsPolicies
    this.#tunnels = tunnels
    this.#compileModules = compileModules
    this.#http = new CompiledHosts(configurations)
    this.#tcp = new CompiledHosts(configurations)
  }

  /** The endpoint of an http or https tunnel. */
  http(tunnel: Tunnel): HttpHost {
    return this.#http.getOrCompile(tunnel, (...parts) => this.#compileHttp(tunnel, ...parts))
  }

  /** The endpoint of a tcp or tls tunnel. */
  tcp(tunnel: Tunnel): TcpHost {
    return this.#tcp.getOrCompile(tunnel, (...parts) => this.#compileTcp(tunnel, ...parts))
  }

  /** What a tunnel is to backends. Upstream connections outlive a change of options. */
  target(tunnel: Tunnel): TunnelTarget {
    const existing = this.#targets.get(tunnel)
    if (existing !== undefined) return existing
    const budget = this.#budgets.forSession(tunnel.sessionId)
    const proto = tunnel.address.proto === 'https' ? 'https' : 'http'
    const target = new TunnelTarget(this.#runtime, tunnel, budget, 'endpoint', proto)
    this.#targets.set(tunnel, target)
    return target
  }

  /**
   * Selects the tunnel itself, then others of its pool when it cannot be reached. Those with other options are left out:
   * the request has not passed their policy.
   */
  #selector(tunnel: Tunnel): TcpBackend {
    const target = this.target(tunnel)
    return (failed) => {
      if (failed.length === 0) return target
      const next = this.#tunnels
        .poolOf(tunnel)
        .find(
          (member) =>
            !failed.includes(this.target(member)) &&
            member.accountId === tunnel.accountId &&
            isDeepStrictEqual(member.options, tunnel.options),
        )
      return next && this.target(next)
    }
  }

  #compileHttp(
    tunnel: Tunnel,
    counters: Counters,
    configuration: CompiledConfiguration | undefined,
  ): HttpHost {
    const { id, accountId } = tunnel
    const { connectionSteps, steps, signIns, wrapBackend, tls, termination } = this.#compileModules(
      tunnel,
      configuration,
    )
    const select = this.#selector(tunnel)
    const backend: HttpBackend = (_exchange, failedTargets) => select(failedTargets)
    const route: HttpRoute = {
      id,
      connectionSteps,
      steps,
      signIns,
      backend: wrapBackend === undefined ? backend : wrapBackend(backend),
      counters,
    }
    const settings = { http: true, ...tls }
    const host = {
      kind: 'http',
      id,
      accountId,
      traffic: this.#runtime.traffic.forAccount(accountId),
      tlsPolicy: tunnel.address.proto === 'https' ? this.#tlsPolicies.get(settings) : undefined,
      redirectToHttps: false,
      routeFor: () => route,
    } as const
    return termination === undefined
      ? host
      : withLiveTlsPolicy(host, settings, termination, this.#tlsPolicies)
  }

  #compileTcp(tunnel: Tunnel, counters: Counters, configuration: CompiledConfiguration | undefined): TcpHost {
    const { id, accountId, options } = tunnel
    const { connectionSteps, tls, termination, securedConnectionSteps } = this.#compileModules(
      tunnel,
      configuration,
    )
    const byOption = tunnel.address.proto === 'tls' && options.tlsTermination !== undefined
    const terminated = byOption || termination !== undefined
    const settings = { http: false, ...tls }
    const host = {
      kind: 'tcp',
      id,
      accountId,
      traffic: this.#runtime.traffic.forAccount(accountId),
      proto: tunnel.address.proto === 'tls' ? 'tls' : 'tcp',
      via: 'endpoint',
      tlsPolicy: byOption ? this.#tlsPolicies.get(settings) : undefined,
      // A client certificate can only be requested where TLS terminates here, so the option denies otherwise (P36).
      connectionSteps:
        options.mutualTls !== undefined && !terminated ? [denyAll('mutual_tls')] : connectionSteps,
      securedConnectionSteps,
      restricted: options.ipRestriction !== undefined || configuration?.restricted === true,
      backend: this.#selector(tunnel),
      counters,
    } as const
    return termination === undefined
      ? host
      : withLiveTlsPolicy(host, settings, termination, this.#tlsPolicies)
  }
}

/** Hosts by tunnel, compiled again when the tunnel's options or configuration have been replaced. */
class CompiledHosts<E> {
  readonly #configurations: Configurations
  readonly #hosts = new WeakMap<
    Tunnel,
    {
      readonly options: EndpointOptions
      readonly configuration: CompiledConfiguration | undefined
      /** Of the configurations, when this one was looked up last. */
      revision: number
      readonly host: E
      readonly counters: Counters
    }
  >()

  constructor(configurations: Configurations) {
    this.#configurations = configurations
  }

  getOrCompile(
    tunnel: Tunnel,
    compile: (counters: Counters, configuration: CompiledConfiguration | undefined) => E,
  ): E {
    const existing = this.#hosts.get(tunnel)
    const { options } = tunnel
    const { revision } = this.#configurations
    const isUnchanged = existing?.options === options
    if (isUnchanged && existing.revision === revision) return existing.host
    const configuration = this.#configurations.find(tunnel)
    if (isUnchanged && existing.configuration === configuration) {
      existing.revision = revision
      return existing.host
    }
    const counters = existing?.counters ?? createCounters()
    const host = compile(counters, configuration)
    this.#hosts.set(tunnel, { options, configuration, revision, host, counters })
    return host
  }
}
