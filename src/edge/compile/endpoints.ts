import { isDeepStrictEqual } from 'node:util'
import type { HttpBackend, RawBackend } from '../backend.ts'
import type { Core } from '../core.ts'
import {
  createCounters,
  type EntryCounters,
  type HttpEntry,
  type HttpRoute,
  type RawEntry,
} from '../table.ts'
import type { TlsPolicies } from '../tls-policy.ts'
import type { EndpointOptions, Tunnel, TunnelLookup } from '../tunnels.ts'
import { type IdleBudgets, TunnelTarget } from '../upstream/tunnel-target.ts'
import type { EndpointModules } from './endpoint-options.ts'
import { withLivePolicy } from './live-policy.ts'
import { denyAll } from './module.ts'

/** Compiles agents' endpoints, once per tunnel and for each change of its options. */
export class CompiledEndpoints {
  readonly #core: Core
  readonly #budgets: IdleBudgets
  readonly #policies: TlsPolicies
  readonly #tunnels: Pick<TunnelLookup, 'poolOf'>
  readonly #compileModules: (tunnel: Tunnel) => EndpointModules
  readonly #http = new CompiledEntries<HttpEntry>()
  readonly #raw = new CompiledEntries<RawEntry>()
  readonly #redirects = new CompiledEntries<HttpEntry>()
  readonly #targets = new WeakMap<Tunnel, TunnelTarget>()

  constructor(
    core: Core,
    budgets: IdleBudgets,
    policies: TlsPolicies,
    tunnels: Pick<TunnelLookup, 'poolOf'>,
    compileModules: (tunnel: Tunnel) => EndpointModules,
  ) {
    this.#core = core
    this.#budgets = budgets
    this.#policies = policies
    this.#tunnels = tunnels
    this.#compileModules = compileModules
  }

  /** The endpoint of an http or https tunnel. */
  http(tunnel: Tunnel): HttpEntry {
    return this.#http.getOrCompile(tunnel, (counters) => this.#compileHttp(tunnel, counters))
  }

  /** What plain HTTP requests get where only https is served. */
  redirect(tunnel: Tunnel): HttpEntry {
    return this.#redirects.getOrCompile(tunnel, () => ({
      ...this.http(tunnel),
      policy: undefined,
      redirectToHttps: true,
    }))
  }

  /** The endpoint of a tcp or tls tunnel. */
  raw(tunnel: Tunnel): RawEntry {
    return this.#raw.getOrCompile(tunnel, (counters) => this.#compileRaw(tunnel, counters))
  }

  /** Upstream connections outlive a change of options. */
  #target(tunnel: Tunnel): TunnelTarget {
    const existing = this.#targets.get(tunnel)
    if (existing !== undefined) return existing
    const budget = this.#budgets.forSession(tunnel.sessionId)
    const proto = tunnel.address.proto === 'https' ? 'https' : 'http'
    const target = new TunnelTarget(this.#core, tunnel, budget, 'endpoint', proto)
    this.#targets.set(tunnel, target)
    return target
  }

  /**
   * Selects the tunnel itself, then others of its pool when it cannot be reached. Those with other options are left out:
   * the request has not passed their policy.
   */
  #selector(tunnel: Tunnel): RawBackend {
    const target = this.#target(tunnel)
    return (failed) => {
      if (failed.length === 0) return target
      const next = this.#tunnels
        .poolOf(tunnel)
        .find(
          (member) =>
            !failed.includes(this.#target(member)) &&
            member.accountId === tunnel.accountId &&
            isDeepStrictEqual(member.options, tunnel.options),
        )
      return next && this.#target(next)
    }
  }

  #compileHttp(tunnel: Tunnel, counters: EntryCounters): HttpEntry {
    const { id, accountId } = tunnel
    const { admission, steps, signIns, wrapBackend, tls, termination } = this.#compileModules(tunnel)
    const select = this.#selector(tunnel)
    const backend: HttpBackend = ({ failedTargets }, attempt) =>
      select(attempt === 0 ? [] : (failedTargets ?? []))
    const route: HttpRoute = {
      id,
      admission,
      steps,
      signIns,
      backend: wrapBackend === undefined ? backend : wrapBackend(backend),
      counters,
    }
    const settings = { http: true, ...tls }
    const entry = {
      kind: 'http',
      id,
      accountId,
      traffic: this.#core.traffic.forAccount(accountId),
      policy: tunnel.address.proto === 'https' ? this.#policies.get(settings) : undefined,
      redirectToHttps: false,
      routeFor: () => route,
    } as const
    return termination === undefined ? entry : withLivePolicy(entry, settings, termination, this.#policies)
  }

  #compileRaw(tunnel: Tunnel, counters: EntryCounters): RawEntry {
    const { id, accountId, options } = tunnel
    const { admission, tls, termination, securedAdmission } = this.#compileModules(tunnel)
    const byOption = tunnel.address.proto === 'tls' && options.tlsTermination !== undefined
    const terminated = byOption || termination !== undefined
    const settings = { http: false, ...tls }
    const entry = {
      kind: 'raw',
      id,
      accountId,
      traffic: this.#core.traffic.forAccount(accountId),
      proto: tunnel.address.proto === 'tls' ? 'tls' : 'tcp',
      via: 'endpoint',
      policy: byOption ? this.#policies.get(settings) : undefined,
      // A client certificate can only be requested where TLS terminates here, so the option denies otherwise (P36).
      admission: options.mutualTls !== undefined && !terminated ? [denyAll('mutual_tls')] : admission,
      securedAdmission,
      restricted: options.ipRestriction !== undefined,
      backend: this.#selector(tunnel),
      counters,
    } as const
    return termination === undefined ? entry : withLivePolicy(entry, settings, termination, this.#policies)
  }
}

/** Entries by tunnel, compiled again when the agent has replaced the tunnel's options. */
class CompiledEntries<E> {
  readonly #entries = new WeakMap<
    Tunnel,
    { readonly options: EndpointOptions; readonly entry: E; readonly counters: EntryCounters }
  >()

  getOrCompile(tunnel: Tunnel, compile: (counters: EntryCounters) => E): E {
    const existing = this.#entries.get(tunnel)
    const { options } = tunnel
    if (existing !== undefined && existing.options === options) return existing.entry
    const counters = existing?.counters ?? createCounters()
    const entry = compile(counters)
    this.#entries.set(tunnel, { options, entry, counters })
    return entry
  }
}
