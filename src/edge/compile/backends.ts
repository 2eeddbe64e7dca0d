import type { Dial } from '../../base/outbound/guarded-dial.ts'
import { type Balancer, emptyBackend } from '../backends/balancer.ts'
import { findBackend } from '../backends/index.ts'
import { StaticTarget } from '../backends/static-target.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { Snapshot } from '../contracts/snapshot.ts'
import type { ClientInfo, Tunnel, TunnelLookup } from '../contracts/tunnels.ts'
import { type IdleBudgets, TunnelTarget } from '../upstream/tunnel-target.ts'

/** The edge kinds reported to the tunnel in `ClientInfo.via`. */
export type EdgeVia = Exclude<ClientInfo['via'], 'endpoint'>

/** Upper bound on the expanded backend tree, so that one pick stays cheap. */
const MAX_BRANCHES = 1000

/** Maximum nesting depth of backends. The API rejects deeper trees as well (P31). */
const MAX_DEPTH = 8

/** State of one tree build. */
interface BuildContext {
  readonly accountId: string
  readonly via: EdgeVia
  readonly dependencyIds: Set<string>
  branches: number
}

/**
 * Compiled backends. Each is built once for all edges that reference it and stays cached until one of its dependencies
 * changes.
 */
export class CompiledBackends {
  readonly #snapshot: Snapshot
  readonly #dependencies: { runtime: EdgeRuntime; tunnels: TunnelLookup; budgets: IdleBudgets; dial: Dial }
  readonly #compiled = new Map<
    string,
    { readonly balancer: Balancer; readonly dependencyIds: ReadonlySet<string> }
  >()
  readonly #tunnelTargets = new WeakMap<Tunnel, Map<EdgeVia, UpstreamTarget>>()
  readonly #staticTargets = new Map<string, UpstreamTarget>()

  constructor(
    snapshot: Snapshot,
    dependencies: { runtime: EdgeRuntime; tunnels: TunnelLookup; budgets: IdleBudgets; dial: Dial },
  ) {
    this.#snapshot = snapshot
    this.#dependencies = dependencies
  }

  /** Returns the compiled backend with this id, and the ids it depends on. */
  get(
    id: string,
    accountId: string,
    via: EdgeVia,
  ): { balancer: Balancer; dependencyIds: ReadonlySet<string> } {
    const key = `${via} ${accountId} ${id}`
    const existing = this.#compiled.get(key)
    if (existing !== undefined) return existing
    const dependencyIds = new Set<string>()
    const compiled = {
      balancer: this.#build(id, { accountId, via, dependencyIds, branches: 0 }, []),
      dependencyIds,
    }
    this.#compiled.set(key, compiled)
    return compiled
  }

  /** Drops every compiled backend that depends on one of these ids. */
  invalidate(ids: ReadonlySet<string>): void {
    for (const [key, { dependencyIds }] of this.#compiled)
      if (!dependencyIds.isDisjointFrom(ids)) this.#compiled.delete(key)
    for (const id of ids) {
      if (this.#snapshot.backend('backends_static', id) !== undefined) continue
      for (const key of this.#staticTargets.keys())
        if (key.startsWith(`${id} `)) this.#staticTargets.delete(key)
    }
  }

  #build(id: string, context: BuildContext, ancestors: readonly string[]): Balancer {
    const { accountId, via } = context
    context.dependencyIds.add(id)
    const definition = findBackend(id, this.#snapshot)
    if (definition === undefined || definition.accountId !== accountId || ancestors.includes(id))
      return emptyBackend
    if (ancestors.length >= MAX_DEPTH || ++context.branches > MAX_BRANCHES) {
      this.#dependencies.runtime.log.warn({ id }, 'backend skipped: tree too deep or too wide')
      return emptyBackend
    }
    try {
      return definition.build({
        http: via === 'https-edge',
        child: (child) => this.#build(child, context, [...ancestors, id]),
        tunnelsWithLabels: (labels) => this.#dependencies.tunnels.findLabelled(accountId, labels),
        tunnelTarget: (tunnel) => this.#tunnelTarget(tunnel, via),
        staticTarget: ({ address, tls }) => this.#staticTarget(id, address, tls.enabled, via),
      })
    } catch (error) {
      this.#dependencies.runtime.log.warn({ err: error, id }, 'backend skipped: build failed')
      return emptyBackend
    }
  }

  /** One target per tunnel, so that its pooled connections survive a configuration change. */
  #tunnelTarget(tunnel: Tunnel, via: EdgeVia): UpstreamTarget {
    let targets = this.#tunnelTargets.get(tunnel)
    if (targets === undefined) {
      targets = new Map()
      this.#tunnelTargets.set(tunnel, targets)
    }
    const existing = targets.get(via)
    if (existing !== undefined) return existing
    const { runtime, budgets } = this.#dependencies
    const target = new TunnelTarget(runtime, tunnel, budgets.forSession(tunnel.sessionId), via, 'https')
    targets.set(via, target)
    return target
  }

  #staticTarget(id: string, address: string, secure: boolean, via: EdgeVia): UpstreamTarget {
    const key = `${id} ${via} ${address} ${secure}`
    const existing = this.#staticTargets.get(key)
    if (existing !== undefined) return existing
    const target = new StaticTarget(this.#dependencies.runtime, this.#dependencies.dial, address, secure, via)
    this.#staticTargets.set(key, target)
    return target
  }
}
