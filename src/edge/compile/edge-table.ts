import { fanOut } from '../../base/limits/fan-out.ts'
import { NameIndex } from '../../base/values/name-index.ts'
import { IpPolicy } from '../../resources/index.ts'
import type { EdgeChange, EdgeFollower, EdgeLoad, Snapshot } from '../contracts/snapshot.ts'
import type { Counters, HttpRoute } from '../contracts/table.ts'
import type { BrokenScope, CompilerDependencies } from './context.ts'
import { type CompiledEdge, compileHttpsEdge, compileTcpEdge, compileTlsEdge, denyEdge } from './edge.ts'
import type { EndpointConfigurations } from './endpoint-configurations.ts'

/** Changes that arrive within this delay are applied together. */
const COALESCE_DELAY_MS = 20

/** How long one compile pass may block the event loop. The rest continues in the next `setImmediate`. */
const COMPILE_SLICE_MS = 10

/** What the table needs besides the snapshot. */
export interface EdgeTableDependencies extends Omit<CompilerDependencies, 'snapshot'> {
  readonly configurations: Pick<EndpointConfigurations, 'applyChanges' | 'ports'>
  /** Called with the ports that TCP edges and configurations serve whenever they may have changed. */
  onPortsChanged(ports: ReadonlySet<number>): void
}

/** Counters of one route, or of a TCP or TLS edge. */
export interface ScopeCounters {
  /** The route, or the edge itself when it has no routes. */
  readonly scopeId: string
  readonly counters: Readonly<Counters>
}

/** The same with the edge and its owner. */
export interface ScopeCounts extends ScopeCounters {
  readonly edgeId: string
  readonly accountId: string
}

/**
 * The compiled edges, kept in step with the store. Compiled hosts are immutable: a change replaces the
 * hosts it affects and leaves all others, and connections and requests in flight finish on the host they started
 * with.
 */
export class EdgeTable implements EdgeFollower {
  readonly #dependencies: CompilerDependencies & EdgeTableDependencies
  readonly #snapshot: Snapshot
  readonly #compiled = new Map<string, CompiledEdge>()
  readonly #names = new NameIndex<CompiledEdge>()
  readonly #ports = new Map<number, CompiledEdge>()
  /** Edges by the id of an object they depend on: usually one, sometimes all of them. */
  readonly #dependents = new Map<string, string | Set<string>>()
  readonly #changedIds = new Set<string>()
  readonly #dirtyEdges = new Set<string>()
  #applyTimer: NodeJS.Timeout | undefined
  #applying = false
  #loaded = false
  #applied = Promise.withResolvers<void>()

  constructor(snapshot: Snapshot, dependencies: EdgeTableDependencies) {
    this.#snapshot = snapshot
    this.#dependencies = { ...dependencies, snapshot }
  }

  /** The edge of exactly this name. */
  named(host: string): CompiledEdge | undefined {
    return this.#names.getExact(host)
  }

  /** The edge of the longest wildcard that covers this name, with the domain below which it does. */
  covering(host: string): { readonly domain: string; readonly value: CompiledEdge } | undefined {
    return this.#names.matchWildcard(host)
  }

  atPort(port: number): CompiledEdge | undefined {
    return this.#ports.get(port)
  }

  /** The route with this id. */
  routeWith(id: string): HttpRoute | undefined {
    const edgeId = this.#snapshot.routes.get(id)?.edge_id
    if (edgeId === undefined) return undefined
    return this.#compiled.get(edgeId)?.routes.find((route) => route.id === id)
  }

  /** Of IP policies, only the account matters. */
  readonly ownersOf = new Set([IpPolicy.kind])

  load(): EdgeLoad {
    return this.#loaded ? this.#reload() : this.#firstLoad()
  }

  change(changes: readonly EdgeChange[]): void {
    this.#put(changes)
    this.#schedule()
  }

  /** Counters of every route, and TCP or TLS edge, since the start. */
  *counts(): Generator<ScopeCounts> {
    for (const [edgeId, { scopes, host }] of this.#compiled) {
      for (const { id, counters } of scopes)
        yield { edgeId, scopeId: id, accountId: host.accountId, counters }
    }
  }

  /** Counters of one edge; empty when it belongs to another account. */
  countsOf(accountId: string, edgeId: string): readonly ScopeCounters[] {
    const edge = this.#compiled.get(edgeId)
    if (edge === undefined || edge.host.accountId !== accountId) return []
    return edge.scopes.map(({ id, counters }): ScopeCounters => ({ scopeId: id, counters }))
  }

  /** Broken scopes of one edge; empty when it belongs to another account. */
  brokenIn(accountId: string, edgeId: string): readonly BrokenScope[] {
    const edge = this.#compiled.get(edgeId)
    return edge?.host.accountId === accountId ? edge.brokenScopes : []
  }

  /** Everything that denies traffic because something it depends on is missing. */
  *broken(): Generator<BrokenScope> {
    for (const { brokenScopes } of this.#compiled.values()) yield* brokenScopes
  }

  /** True when every received change has been applied. */
  get settled(): boolean {
    return this.#changedIds.size === 0 && this.#dirtyEdges.size === 0
  }

  /** Applies the received changes without waiting for more, and resolves once that is done. */
  async flush(): Promise<void> {
    if (this.#applyTimer !== undefined) {
      this.stop()
      this.#apply(COMPILE_SLICE_MS)
    }
    if (this.#applying) await this.#applied.promise
  }

  stop(): void {
    clearTimeout(this.#applyTimer)
    this.#applyTimer = undefined
  }

  /** The first table is compiled in one pass before traffic is served. */
  #firstLoad(): EdgeLoad {
    // A load that was not completed may have left rows.
    this.#snapshot.clear()
    return {
      put: (changes) => this.#put(changes),
      putOwners: (_kind, owners) => {
        // Nothing is compiled yet that the policies could change.
        for (const { id, account } of owners) this.#snapshot.putPolicy(id, account)
      },
      complete: () => {
        this.#loaded = true
        this.#apply(Number.POSITIVE_INFINITY)
      },
    }
  }

  /** Collects the pages, so that no request sees half of the new configuration, and applies them between requests. */
  #reload(): EdgeLoad {
    const changes = new Map<string, EdgeChange>()
    const policies = new Map<string, string>()
    return {
      put(page) {
        for (const change of page) changes.set(change.id, change)
      },
      putOwners(_kind, owners) {
        for (const { id, account } of owners) policies.set(id, account)
      },
      complete: () => {
        for (const [kind, id] of this.#snapshot.ids())
          if (!changes.has(id) && !policies.has(id)) changes.set(id, { kind, id, row: undefined })
        for (const [id, account] of policies) this.#markChanged(this.#snapshot.putPolicy(id, account))
        this.#put(changes.values())
        this.#schedule()
      },
    }
  }

  #put(changes: Iterable<EdgeChange>): void {
    for (const { kind, id, row } of changes) this.#markChanged(this.#snapshot.put(kind, id, row))
  }

  #markChanged(ids: readonly string[]): void {
    for (const id of ids) this.#changedIds.add(id)
  }

  #schedule(): void {
    if (this.#applyTimer !== undefined || this.#applying) return
    this.#applyTimer = setTimeout(() => {
      this.#applyTimer = undefined
      this.#apply(COMPILE_SLICE_MS)
    }, COALESCE_DELAY_MS)
  }

  /** Resolves which edges the changes affect, then recompiles them until the time budget is used up. */
  #apply(budgetMs: number): void {
    this.#applying = true
    this.#propagateChanges()
    const deadline = performance.now() + budgetMs
    for (const id of this.#dirtyEdges) {
      this.#dirtyEdges.delete(id)
      this.#recompile(id)
      if (performance.now() > deadline) break
    }
    if (this.#changedIds.size > 0 || this.#dirtyEdges.size > 0) {
      setImmediate(() => this.#apply(COMPILE_SLICE_MS))
      return
    }
    this.#applying = false
    this.#applied.resolve()
    this.#applied = Promise.withResolvers()
    this.#dependencies.onPortsChanged(
      new Set([...this.#ports.keys(), ...this.#dependencies.configurations.ports()]),
    )
    const { connections, log } = this.#dependencies.runtime
    fanOut(
      [...connections],
      (connection) => connection.revalidate(),
      (err) => log.error({ err }, 'connection revalidation failed'),
    )
  }

  #propagateChanges(): void {
    if (this.#changedIds.size === 0) return
    const changed = new Set(this.#changedIds)
    this.#changedIds.clear()
    this.#dependencies.ipPolicies.refresh(changed)
    this.#dependencies.backends.invalidate(changed)
    this.#dependencies.configurations.applyChanges(changed)
    for (const id of changed) {
      if (this.#isEdge(id)) this.#dirtyEdges.add(id)
      const dependents = this.#dependents.get(id)
      if (typeof dependents === 'string') this.#dirtyEdges.add(dependents)
      else for (const dependent of dependents ?? []) this.#dirtyEdges.add(dependent)
      if (!this.#hasState(id)) this.#dependencies.scopedState.delete(id)
    }
  }

  #hasState(id: string): boolean {
    const { routes, configurations } = this.#snapshot
    return routes.has(id) || configurations.has(id) || this.#isEdge(id)
  }

  #isEdge(id: string): boolean {
    const { httpsEdges, tlsEdges, tcpEdges } = this.#snapshot
    return this.#compiled.has(id) || httpsEdges.has(id) || tlsEdges.has(id) || tcpEdges.has(id)
  }

  #recompile(id: string): void {
    const previous = this.#compiled.get(id)
    const current = this.#compileEdge(id, previous)
    if (current === undefined) this.#compiled.delete(id)
    else {
      this.#compiled.set(id, current)
      for (const name of current.names) this.#names.set(name, current)
      for (const port of current.ports) this.#ports.set(port, current)
      for (const dependency of current.dependencyIds) this.#addDependent(dependency, id)
    }
    if (previous === undefined) return
    for (const name of previous.names) if (this.#names.get(name) === previous) this.#names.delete(name)
    for (const port of previous.ports) if (this.#ports.get(port) === previous) this.#ports.delete(port)
    for (const dependency of previous.dependencyIds) {
      if (!current?.dependencyIds.has(dependency)) this.#removeDependent(dependency, id)
    }
    if (current === undefined) this.#dependencies.scopedState.delete(id)
  }

  #compileEdge(id: string, previous: CompiledEdge | undefined): CompiledEdge | undefined {
    const { httpsEdges, tlsEdges, tcpEdges } = this.#snapshot
    try {
      const https = httpsEdges.get(id)
      if (https !== undefined) return compileHttpsEdge(https, this.#dependencies)
      const tls = tlsEdges.get(id)
      if (tls !== undefined) return compileTlsEdge(tls, this.#dependencies)
      const tcp = tcpEdges.get(id)
      return tcp === undefined ? undefined : compileTcpEdge(tcp, this.#dependencies)
    } catch (error) {
      this.#dependencies.runtime.log.error({ err: error, id }, 'edge unreadable: denying all traffic')
      return previous === undefined ? undefined : denyEdge(previous, error)
    }
  }

  #addDependent(id: string, edgeId: string): void {
    const dependents = this.#dependents.get(id)
    if (dependents === undefined || dependents === edgeId) this.#dependents.set(id, edgeId)
    else if (typeof dependents === 'string') this.#dependents.set(id, new Set([dependents, edgeId]))
    else dependents.add(edgeId)
  }

  #removeDependent(id: string, edgeId: string): void {
    const dependents = this.#dependents.get(id)
    if (dependents === edgeId) this.#dependents.delete(id)
    else if (typeof dependents === 'object') dependents.delete(edgeId)
  }
}
