import type { Dial } from '../../base/outbound/guarded-dial.ts'
import type { Target } from '../backend.ts'
import { type Choice, nobody } from '../backends/balancer.ts'
import { findBackend } from '../backends/index.ts'
import { StaticTarget } from '../backends/static-target.ts'
import type { Core } from '../core.ts'
import type { Tunnel, TunnelLookup, Visitor } from '../tunnels.ts'
import { type IdleBudgets, TunnelTarget } from '../upstream/tunnel-target.ts'
import type { Snapshot } from './snapshot.ts'

/** The kinds of edges, as whoever is connected to is told. */
export type EdgeVia = Exclude<Visitor['via'], 'endpoint'>

/** How large a tree of backends may be with every branch followed, so that one choice stays cheap. */
const MAX_BRANCHES = 1000

/** How deep backends may be nested; the API refuses deeper ones as well (P31). */
const MAX_DEPTH = 8

/** A backend as it is built, with those above it. */
interface Walk {
  readonly accountId: string
  readonly via: EdgeVia
  readonly uses: Set<string>
  branches: number
}

/** Compiled backends, each made once for all edges that name it and kept until something it was made of changes. */
export class Choices {
  readonly #snapshot: Snapshot
  readonly #parts: { core: Core; tunnels: TunnelLookup; budgets: IdleBudgets; dial: Dial }
  readonly #known = new Map<string, { readonly choice: Choice; readonly uses: ReadonlySet<string> }>()
  readonly #tunnels = new WeakMap<Tunnel, Map<EdgeVia, Target>>()
  readonly #addresses = new Map<string, Target>()

  constructor(
    snapshot: Snapshot,
    parts: { core: Core; tunnels: TunnelLookup; budgets: IdleBudgets; dial: Dial },
  ) {
    this.#snapshot = snapshot
    this.#parts = parts
  }

  /** The backend with this id, and the ids of all it is made of. */
  get(id: string, accountId: string, via: EdgeVia): { choice: Choice; uses: ReadonlySet<string> } {
    const key = `${via} ${accountId} ${id}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const uses = new Set<string>()
    const made = { choice: this.#build(id, { accountId, via, uses, branches: 0 }, []), uses }
    this.#known.set(key, made)
    return made
  }

  /** Something changed under these ids. */
  changed(ids: ReadonlySet<string>): void {
    for (const [key, { uses }] of this.#known) if (!uses.isDisjointFrom(ids)) this.#known.delete(key)
    for (const id of ids) {
      if (this.#snapshot.statics.has(id)) continue
      for (const key of this.#addresses.keys()) if (key.startsWith(`${id} `)) this.#addresses.delete(key)
    }
  }

  #build(id: string, walk: Walk, above: readonly string[]): Choice {
    const { accountId, via } = walk
    walk.uses.add(id)
    const found = findBackend(id, this.#snapshot)
    if (found === undefined || found.accountId !== accountId || above.includes(id)) return nobody
    if (above.length >= MAX_DEPTH || ++walk.branches > MAX_BRANCHES) {
      this.#parts.core.log.warn({ id }, 'a backend is nested too deep or too wide and is left out')
      return nobody
    }
    try {
      return found.build({
        http: via === 'https-edge',
        child: (child) => this.#build(child, walk, [...above, id]),
        labelled: (labels) => this.#parts.tunnels.labelled(accountId, labels),
        tunnel: (tunnel) => this.#tunnel(tunnel, via),
        address: ({ address, tls }) => this.#address(id, address, tls.enabled, via),
      })
    } catch (error) {
      this.#parts.core.log.warn({ err: error, id }, 'a backend is broken and is left out')
      return nobody
    }
  }

  /** One target for each tunnel, so that its kept connections outlive a change of configuration. */
  #tunnel(tunnel: Tunnel, via: EdgeVia): Target {
    let targets = this.#tunnels.get(tunnel)
    if (targets === undefined) {
      targets = new Map()
      this.#tunnels.set(tunnel, targets)
    }
    const known = targets.get(via)
    if (known !== undefined) return known
    const { core, budgets } = this.#parts
    const target = new TunnelTarget(core, tunnel, budgets.of(tunnel.sessionId), via, 'https')
    targets.set(via, target)
    return target
  }

  #address(id: string, address: string, secure: boolean, via: EdgeVia): Target {
    const key = `${id} ${via} ${address} ${secure}`
    const known = this.#addresses.get(key)
    if (known !== undefined) return known
    const target = new StaticTarget(this.#parts.core, this.#parts.dial, address, secure, via)
    this.#addresses.set(key, target)
    return target
  }
}
