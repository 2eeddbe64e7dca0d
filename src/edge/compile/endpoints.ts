import type { HttpBackend } from '../backend.ts'
import type { Core } from '../core.ts'
import { createCounters, type HttpEntry, type HttpRoute, type RawEntry } from '../table.ts'
import type { TlsPolicies } from '../tls-policy.ts'
import type { Tunnel } from '../tunnels.ts'
import { type IdleBudgets, TunnelTarget } from '../upstream/tunnel-target.ts'
import type { EndpointModules } from './endpoint-options.ts'
import { denyAll } from './module.ts'

/** Compiles agents' endpoints, once per tunnel. */
export class CompiledEndpoints {
  readonly #core: Core
  readonly #budgets: IdleBudgets
  readonly #policies: TlsPolicies
  readonly #compileModules: (tunnel: Tunnel) => EndpointModules
  readonly #http = new WeakMap<Tunnel, HttpEntry>()
  readonly #raw = new WeakMap<Tunnel, RawEntry>()
  readonly #redirects = new WeakMap<Tunnel, HttpEntry>()

  constructor(
    core: Core,
    budgets: IdleBudgets,
    policies: TlsPolicies,
    compileModules: (tunnel: Tunnel) => EndpointModules,
  ) {
    this.#core = core
    this.#budgets = budgets
    this.#policies = policies
    this.#compileModules = compileModules
  }

  /** The endpoint of an http or https tunnel. */
  http(tunnel: Tunnel): HttpEntry {
    const existing = this.#http.get(tunnel)
    if (existing !== undefined) return existing
    const entry = this.#compileHttp(tunnel)
    this.#http.set(tunnel, entry)
    return entry
  }

  /** What plain HTTP requests get where only https is served. */
  redirect(tunnel: Tunnel): HttpEntry {
    const existing = this.#redirects.get(tunnel)
    if (existing !== undefined) return existing
    const entry = { ...this.http(tunnel), policy: undefined, redirectToHttps: true }
    this.#redirects.set(tunnel, entry)
    return entry
  }

  /** The endpoint of a tcp or tls tunnel. */
  raw(tunnel: Tunnel): RawEntry {
    const existing = this.#raw.get(tunnel)
    if (existing !== undefined) return existing
    const entry = this.#compileRaw(tunnel)
    this.#raw.set(tunnel, entry)
    return entry
  }

  #compileHttp(tunnel: Tunnel): HttpEntry {
    const { id, accountId } = tunnel
    const proto = tunnel.proto === 'https' ? 'https' : 'http'
    const target = new TunnelTarget(
      this.#core,
      tunnel,
      this.#budgets.forSession(tunnel.sessionId),
      'endpoint',
      proto,
    )
    const { admission, steps, wrapBackend, tls } = this.#compileModules(tunnel)
    const backend: HttpBackend = (_exchange, attempt) => (attempt === 0 ? target : undefined)
    const route: HttpRoute = {
      id,
      admission,
      steps,
      backend: wrapBackend === undefined ? backend : wrapBackend(backend),
      counters: createCounters(),
    }
    return {
      kind: 'http',
      id,
      accountId,
      traffic: this.#core.traffic.forAccount(accountId),
      policy: proto === 'https' ? this.#policies.get({ http: true, ...tls }) : undefined,
      redirectToHttps: false,
      routeFor: () => route,
    }
  }

  #compileRaw(tunnel: Tunnel): RawEntry {
    const { id, accountId, options, sessionId } = tunnel
    const terminated = tunnel.proto === 'tls' && options.tlsTermination !== undefined
    const target = new TunnelTarget(
      this.#core,
      tunnel,
      this.#budgets.forSession(sessionId),
      'endpoint',
      'http',
    )
    const { admission, tls } = this.#compileModules(tunnel)
    return {
      kind: 'raw',
      id,
      accountId,
      traffic: this.#core.traffic.forAccount(accountId),
      via: 'endpoint',
      policy: terminated ? this.#policies.get({ http: false, ...tls }) : undefined,
      // A client certificate can only be requested where TLS terminates here, so the option denies otherwise (P36).
      admission: options.mutualTls !== undefined && !terminated ? [denyAll('mutual_tls')] : admission,
      restricted: options.ipRestriction !== undefined,
      backend: (tried) => (tried.length === 0 ? target : undefined),
      counters: createCounters(),
    }
  }
}
