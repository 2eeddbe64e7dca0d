import { fanOut } from '../../base/fan-out.ts'
import type { EntryCounters, HttpEntry, RawEntry, Route, Table } from '../table.ts'
import type { Tunnel, TunnelLookup } from '../tunnels.ts'
import type { BrokenPlace, CompilerParts } from './context.ts'
import { type CompiledEdge, compileHttpsEdge, compileTcpEdge, compileTlsEdge, denyEdge } from './edge.ts'
import { NameIndex } from './name-index.ts'
import type { EdgeChange, EdgeFollower, EdgeRow, Snapshot } from './snapshot.ts'

/** Changes that come close together are applied together, after this many milliseconds. */
const COALESCE = 20

/** How long compiling may keep visitors waiting at a time, in milliseconds; the rest goes on in the next turn. */
const SLICE = 10

/** What the table is made with beside the configuration itself. */
export interface EdgeTableParts extends Omit<CompilerParts, 'snapshot'> {
  readonly tunnels: TunnelLookup
  /** The endpoints of agents, which answer where no edge does. */
  readonly agents: Table
  /** Told of the ports that TCP edges serve whenever they may have changed. */
  onPorts(ports: ReadonlySet<number>): void
}

/** What one place has counted, and whose it is. */
export interface PlaceCounts {
  readonly edgeId: string
  /** The route, or the edge itself where it has none. */
  readonly placeId: string
  readonly accountId: string
  readonly counters: Readonly<EntryCounters>
}

/**
 * All configuration, compiled, and kept in step with it. Compiled entries never change: a change replaces those it
 * touches, all others stay, and whoever came in through an entry goes on with it.
 */
export class EdgeTable implements Table, EdgeFollower {
  readonly #parts: CompilerParts & EdgeTableParts
  readonly #snapshot: Snapshot
  readonly #compiled = new Map<string, CompiledEdge>()
  readonly #names = new NameIndex<CompiledEdge>()
  readonly #ports = new Map<number, CompiledEdge>()
  /** Which edges were made with an object: mostly one, at times all of them. */
  readonly #users = new Map<string, string | Set<string>>()
  readonly #changed = new Set<string>()
  readonly #dirty = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #working = false

  constructor(snapshot: Snapshot, parts: EdgeTableParts) {
    this.#snapshot = snapshot
    this.#parts = { ...parts, snapshot }
  }

  http(scheme: 'http' | 'https', host: string): HttpEntry | undefined {
    const { agents, tunnels } = this.#parts
    const edge = this.#names.exact(host)
    if (edge !== undefined) return httpOf(edge, scheme)
    const wild = this.#names.covering(host)
    if (wild === undefined) return agents.http(scheme, host)
    const tunnel =
      scheme === 'https'
        ? tunnels.find('https', host)
        : (tunnels.find('http', host) ?? tunnels.find('https', host))
    return isMoreSpecific(tunnel, wild.domain) ? agents.http(scheme, host) : httpOf(wild.value, scheme)
  }

  tls(serverName: string): HttpEntry | RawEntry | undefined {
    const { agents, tunnels } = this.#parts
    const edge = this.#names.exact(serverName)
    if (edge !== undefined) return edge.secure
    const wild = this.#names.covering(serverName)
    if (wild === undefined) return agents.tls(serverName)
    const tunnel = tunnels.find('https', serverName) ?? tunnels.find('tls', serverName)
    return isMoreSpecific(tunnel, wild.domain) ? agents.tls(serverName) : wild.value.secure
  }

  tcp(port: number): RawEntry | undefined {
    const edge = this.#ports.get(port)
    return edge === undefined ? this.#parts.agents.tcp(port) : (edge.secure as RawEntry)
  }

  route(id: string): Route | undefined {
    const edgeId = this.#snapshot.routes.get(id)?.edge_id
    const edge = edgeId === undefined ? undefined : this.#compiled.get(edgeId)
    return edge?.routes.find((route) => route.id === id)
  }

  reset(rows: readonly EdgeRow[]): void {
    const gone = new Map([...this.#snapshot.ids()].map(([kind, id]) => [id, kind]))
    for (const row of rows) {
      gone.delete(row.id)
      this.#note(this.#snapshot.put(row.kind, row.id, row))
    }
    for (const [id, kind] of gone) this.#note(this.#snapshot.put(kind, id, undefined))
    // Nobody is served before the first table is whole; later ones are worked out in between.
    if (this.#compiled.size === 0) this.#apply(Number.POSITIVE_INFINITY)
    else this.#schedule()
  }

  change(changes: readonly EdgeChange[]): void {
    for (const { kind, id, row } of changes) this.#note(this.#snapshot.put(kind, id, row))
    this.#schedule()
  }

  /** What every place has counted since the start. */
  *counts(): Generator<PlaceCounts> {
    for (const [edgeId, { places, secure }] of this.#compiled) {
      for (const { id, counters } of places)
        yield { edgeId, placeId: id, accountId: secure.accountId, counters }
    }
  }

  /** What the places of one edge have counted; nothing when it is not this account's. */
  countsOf(accountId: string, edgeId: string): readonly Pick<PlaceCounts, 'placeId' | 'counters'>[] {
    const edge = this.#compiled.get(edgeId)
    if (edge === undefined || edge.secure.accountId !== accountId) return []
    return edge.places.map(({ id, counters }) => ({ placeId: id, counters }))
  }

  /** What lets nobody in on one edge, and why; nothing when it is not this account's. */
  brokenIn(accountId: string, edgeId: string): readonly BrokenPlace[] {
    const edge = this.#compiled.get(edgeId)
    return edge?.secure.accountId === accountId ? edge.broken : []
  }

  /** Everything that lets nobody in because something it needs is missing. */
  *broken(): Generator<BrokenPlace> {
    for (const { broken } of this.#compiled.values()) yield* broken
  }

  /** True when everything that was told has been applied. */
  get settled(): boolean {
    return this.#changed.size === 0 && this.#dirty.size === 0
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #note(ids: readonly string[]): void {
    for (const id of ids) this.#changed.add(id)
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#working) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#apply(SLICE)
    }, COALESCE)
  }

  /** Works out what changes touch, then compiles it anew, as far as the time allows. */
  #apply(milliseconds: number): void {
    this.#working = true
    this.#spread()
    const until = performance.now() + milliseconds
    for (const id of this.#dirty) {
      this.#dirty.delete(id)
      this.#compile(id)
      if (performance.now() > until) break
    }
    if (this.#changed.size > 0 || this.#dirty.size > 0) {
      setImmediate(() => this.#apply(SLICE))
      return
    }
    this.#working = false
    this.#parts.onPorts(new Set(this.#ports.keys()))
    const { live, log } = this.#parts.core
    fanOut(
      [...live],
      (each) => each.recheck(),
      (err) => log.error({ err }, 'recheck of an open connection failed'),
    )
  }

  #spread(): void {
    if (this.#changed.size === 0) return
    const changed = new Set(this.#changed)
    this.#changed.clear()
    this.#parts.rules.changed(changed)
    this.#parts.choices.changed(changed)
    for (const id of changed) {
      if (this.#isEdge(id)) this.#dirty.add(id)
      const users = this.#users.get(id)
      if (typeof users === 'string') this.#dirty.add(users)
      else for (const user of users ?? []) this.#dirty.add(user)
      if (!this.#snapshot.routes.has(id) && !this.#isEdge(id)) this.#parts.states.abandon(id)
    }
  }

  #isEdge(id: string): boolean {
    const { httpsEdges, tlsEdges, tcpEdges } = this.#snapshot
    return this.#compiled.has(id) || httpsEdges.has(id) || tlsEdges.has(id) || tcpEdges.has(id)
  }

  #compile(id: string): void {
    const before = this.#compiled.get(id)
    const after = this.#make(id, before)
    if (after === undefined) this.#compiled.delete(id)
    else {
      this.#compiled.set(id, after)
      for (const name of after.names) this.#names.set(name, after)
      for (const port of after.ports) this.#ports.set(port, after)
      for (const used of after.uses) this.#use(used, id)
    }
    if (before === undefined) return
    for (const name of before.names) this.#names.remove(name, before)
    for (const port of before.ports) if (this.#ports.get(port) === before) this.#ports.delete(port)
    for (const used of before.uses) if (!after?.uses.has(used)) this.#unuse(used, id)
    if (after === undefined) this.#parts.states.abandon(id)
  }

  #make(id: string, before: CompiledEdge | undefined): CompiledEdge | undefined {
    const { httpsEdges, tlsEdges, tcpEdges } = this.#snapshot
    try {
      const https = httpsEdges.get(id)
      if (https !== undefined) return compileHttpsEdge(https, this.#parts)
      const tls = tlsEdges.get(id)
      if (tls !== undefined) return compileTlsEdge(tls, this.#parts)
      const tcp = tcpEdges.get(id)
      return tcp === undefined ? undefined : compileTcpEdge(tcp, this.#parts)
    } catch (error) {
      this.#parts.core.log.error({ err: error, id }, 'an edge cannot be read and lets nobody in')
      return before === undefined ? undefined : denyEdge(before, error)
    }
  }

  #use(used: string, by: string): void {
    const users = this.#users.get(used)
    if (users === undefined || users === by) this.#users.set(used, by)
    else if (typeof users === 'string') this.#users.set(used, new Set([users, by]))
    else users.add(by)
  }

  #unuse(used: string, by: string): void {
    const users = this.#users.get(used)
    if (users === by) this.#users.delete(used)
    else if (typeof users === 'object') users.delete(by)
  }
}

/** A TLS edge closes its name to HTTP altogether. */
function httpOf({ secure, plain }: CompiledEdge, scheme: 'http' | 'https'): HttpEntry | undefined {
  if (scheme === 'http') return plain
  return secure.kind === 'http' ? secure : undefined
}

/** Whether an agent serves the name itself, or a narrower wildcard than the edge does. At the same name the edge wins. */
function isMoreSpecific(tunnel: Tunnel | undefined, domain: string): boolean {
  const name = tunnel?.hostport?.replace(/:\d+$/, '')
  if (name === undefined) return false
  return !name.startsWith('*.') || name.length - 2 > domain.length
}
