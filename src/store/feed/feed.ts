import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../base/process/log.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import { type Commit, readHead } from '../engine/changes.ts'
import type { DatabaseWatch } from '../engine/database-watch.ts'
import type { HistoryWatch } from '../engine/history.ts'
import type { Engine, Head, Position, Query, Sql, SqlRecord, SqlValue } from '../engine/sql.ts'
import type { Sealer } from '../seal/sealer.ts'
import type { Follower, PagedFollower, Row, RowChange, RowLoad, RowOwner } from '../store.ts'
import { buildRow, ROW_COLUMNS, ROW_VALUE_COLUMNS, toRow } from '../write/rows.ts'

const PAGE_SIZE = 500
const OWNER_PAGE_SIZE = 5_000
const MAX_CATCH_UP_PASSES = 20
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

interface FollowerState {
  readonly kinds: ReadonlySet<string>
  readonly follower: PagedFollower
  position: Position
  pumping: boolean
  /** Resolves when it is no longer behind. */
  caughtUp: Promise<void>
  behind: boolean
  /** Ends the pause before the next attempt to read the database. */
  retryNow: () => void
  stopped: boolean
}

/** Delivers every committed change, of this and other processes, to followers in order and each at its own pace. */
export class Feed {
  readonly #engine: Engine
  readonly #watch: DatabaseWatch
  readonly #query: Query
  readonly #sealer: Sealer
  readonly #history: HistoryWatch
  readonly #log: Logger
  readonly #followers = new Set<FollowerState>()
  #watching: { stop(): void } | undefined
  readonly #shared = new Map<string, unknown>()
  #interrupted = false

  constructor({
    engine,
    watch,
    query,
    sealer,
    history,
    log,
  }: {
    engine: Engine
    watch: DatabaseWatch
    query: Query
    sealer: Sealer
    history: HistoryWatch
    log: Logger
  }) {
    this.#engine = engine
    this.#watch = watch
    this.#query = query
    this.#sealer = sealer
    this.#history = history
    this.#log = log
  }

  async follow(kinds: readonly string[], follower: Follower | PagedFollower): Promise<{ stop(): void }> {
    const state: FollowerState = {
      kinds: new Set(kinds),
      follower: 'load' in follower ? follower : paged(follower),
      position: { history: '', revision: 0 },
      pumping: true,
      caughtUp: Promise.resolve(),
      behind: true,
      retryNow: () => {},
      stopped: false,
    }
    this.#followers.add(state)
    this.#watching ??= this.#watch.follow(({ head }) => this.#wakeBehind(head))
    try {
      await this.#query((sql) => this.#load(state, sql))
    } catch (error) {
      this.#stop(state)
      throw error
    }
    this.#pump(state)
    return { stop: () => this.#stop(state) }
  }

  /** Delivers what this process or one that told it has committed; what a follower lacks beside it is read. */
  receive({ from, to, rows }: Commit): void {
    const changes = rows?.map(({ values, ...change }) => ({
      ...change,
      row: values && toRow(values, this.#sealer),
    }))
    for (const state of this.#followers) {
      if (changes !== undefined && !state.pumping && isSame(state.position, from))
        this.#deliver(
          state,
          changes.filter(({ kind }) => state.kinds.has(kind)),
          to,
        )
      else if (state.position.revision < to.revision) this.#wake(state)
    }
  }

  /** Wakes the followers that lack something of the database, or have something that it lacks. */
  #wakeBehind(head: Position): void {
    for (const state of this.#followers) if (!isSame(state.position, head)) this.#wake(state)
  }

  #wake(state: FollowerState): void {
    state.behind = true
    state.retryNow()
    if (!state.pumping) this.#pump(state)
  }

  /** Resolves once every follower has what is committed now, by any process. */
  catchUp(): Promise<void> {
    for (const state of this.#followers) this.#wake(state)
    return this.caughtUp()
  }

  /** Resolves once every follower has what this process knows to be committed now. */
  async caughtUp(): Promise<void> {
    await Promise.all([...this.#followers].map(({ caughtUp }) => caughtUp))
  }

  close(): void {
    for (const state of [...this.#followers]) this.#stop(state)
  }

  #stop(state: FollowerState): void {
    state.stopped = true
    this.#followers.delete(state)
    if (this.#followers.size > 0) return
    this.#watching?.stop()
    this.#watching = undefined
  }

  #pump(state: FollowerState): void {
    state.pumping = true
    state.caughtUp = this.#catchUp(state)
  }

  /** Brings a follower up to date; retries with backoff while the database cannot be read. */
  async #catchUp(state: FollowerState): Promise<void> {
    let retryMs = MIN_RETRY_MS
    while (state.behind && !state.stopped) {
      state.behind = false
      try {
        while (!state.stopped && (await this.#applyNext(state))) retryMs = MIN_RETRY_MS
      } catch (error) {
        if (state.stopped) break
        // Logged once per outage, since every follower retries.
        if (!this.#interrupted) this.#log.warn({ err: error }, 'store followers interrupted, retrying')
        this.#interrupted = true
        await this.#pause(state, retryMs * (0.5 + Math.random() / 2))
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
        state.behind = true
      }
    }
    // Synchronous with the last check of `behind`, so that no wake is lost in between.
    state.pumping = false
  }

  async #pause(state: FollowerState, ms: number): Promise<void> {
    const wake = new AbortController()
    state.retryNow = () => wake.abort()
    await delay(ms, undefined, { ref: false, signal: wake.signal }).catch(() => {})
  }

  /** Delivers the next changes; returns whether there may be more. */
  async #applyNext(state: FollowerState): Promise<boolean> {
    const next = await this.#readNext(this.#engine.reader, state)
    this.#interrupted = false
    if (next === undefined) {
      await this.#load(state, this.#engine.reader)
      return true
    }
    if (state.stopped) return false
    const { rowChanges, position, head } = next
    const { revision } = position
    // Committed between the two reads: yields to the event loop before reading again.
    if (revision === state.position.revision && revision < head.revision) await new Promise(setImmediate)
    this.#deliver(state, rowChanges, position)
    return revision < head.revision
  }

  #deliver(state: FollowerState, rowChanges: readonly RowChange[], position: Position): void {
    state.position = position
    this.#history.reached(position)
    if (rowChanges.length > 0) this.#notify(() => state.follower.change(rowChanges))
  }

  /**
   * Reads the next changes after a position. Undefined when they cannot bring it up to date: pruned past it, or the database
   * lacks what was seen, because it was restored to an earlier state or took over from another one.
   */
  async #readNext(
    sql: Sql,
    { position: start, kinds }: Pick<FollowerState, 'position' | 'kinds'>,
  ): Promise<{ rowChanges: RowChange[]; position: Position; head: Head } | undefined> {
    for (let position = start; ; ) {
      const { rowChanges, revision } = await this.#changesAfter(sql, { revision: position.revision, kinds })
      // Read after the changes, so that what happens in between is noticed.
      const head = await this.#share(sql, 'head', () => readHead(sql))
      if (position.revision < head.pruned) return undefined
      const { history } = head
      if (history === position.history && revision <= head.revision)
        return { rowChanges, position: { history, revision }, head }
      if (!(await this.#history.continues(sql, position, head))) return undefined
      // The changes may be those of the database before: reads them again.
      position = { history, revision: position.revision }
    }
  }

  /**
   * Reads all rows page by page, without a long-running snapshot, and then the changes made meanwhile until there are none:
   * the follower gets the store at one revision.
   */
  async #load(state: FollowerState, sql: Sql): Promise<void> {
    for (;;) {
      const start = await readHead(sql)
      let position: Position | undefined = start
      const load = state.follower.load()
      for (const kind of load.put === undefined ? [] : state.kinds) {
        if (state.follower.ownersOf?.has(kind)) await this.#loadOwners(sql, kind, load)
        else await this.#loadRows(sql, kind, load)
      }
      for (let pass = 0; position !== undefined && pass < MAX_CATCH_UP_PASSES; pass += 1) {
        const { revision }: Position = position
        const next = await this.#readNext(sql, { position, kinds: state.kinds })
        position = next?.position
        if (next === undefined || next.position.revision === revision) break
        this.#notify(() => load.put?.(next.rowChanges))
      }
      if (state.stopped) return
      if (position === undefined || (await readHead(sql)).pruned > start.revision) continue
      const { history, revision } = position
      state.position = { history, revision }
      this.#history.reached(state.position)
      this.#notify(() => load.complete(revision))
      return
    }
  }

  async #loadRows(sql: Sql, kind: string, load: RowLoad): Promise<void> {
    const columns = `account, id, ${ROW_VALUE_COLUMNS}`
    for await (const page of scanKind(sql, kind, columns, PAGE_SIZE)) {
      const changes = page.map(({ account, id, values }) => {
        const row = buildRow({ account, kind, id }, values, 2, this.#sealer)
        return { kind, id, row, revision: row.revision }
      })
      this.#notify(() => load.put?.(changes))
    }
  }

  /** An index has both columns. */
  async #loadOwners(sql: Sql, kind: string, load: RowLoad): Promise<void> {
    for await (const page of scanKind(sql, kind, 'account, id', OWNER_PAGE_SIZE))
      this.#notify(() => load.putOwners?.(kind, page))
  }

  async #changesAfter(
    sql: Sql,
    { revision: after, kinds }: { revision: number; kinds: ReadonlySet<string> },
  ): Promise<{ rowChanges: RowChange[]; revision: number }> {
    const { dialect } = this.#engine
    const changes = await this.#share(sql, `changes ${after}`, () =>
      sql.all(
        'SELECT revision, kind, id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?',
        after,
        PAGE_SIZE,
      ),
    )
    const revision = Number(changes.at(-1)?.revision ?? after)
    // Only the last change of a row counts, since followers get current rows.
    const latest = new Map<string, SqlRecord>()
    for (const change of changes) {
      if (!kinds.has(change.kind as string)) continue
      latest.delete(change.id as string)
      latest.set(change.id as string, change)
    }
    if (latest.size === 0) return { rowChanges: [], revision }
    const tuples = await sql.tuples(
      `SELECT ${ROW_COLUMNS} FROM resources WHERE id IN (${dialect.unnest})`,
      JSON.stringify([...latest.keys()]),
    )
    const rows = new Map(tuples.map((values) => toRow(values, this.#sealer)).map((row) => [row.id, row]))
    const rowChanges = [...latest.values()].map((change) => ({
      kind: change.kind as string,
      id: change.id as string,
      row: rows.get(change.id as string),
      revision: change.revision as number,
    }))
    return { rowChanges, revision }
  }

  /** A commit wakes all followers at once: what several of them read in the same turn is read once. */
  #share<T>(sql: Sql, key: string, read: () => MaybePromise<T>): MaybePromise<T> {
    if (sql !== this.#engine.reader) return read()
    if (this.#shared.size === 0) queueMicrotask(() => this.#shared.clear())
    const shared = (this.#shared.get(key) as MaybePromise<T> | undefined) ?? read()
    this.#shared.set(key, shared)
    return shared
  }

  // A follower that throws must not affect the other followers or its own next change.
  #notify(deliver: () => void): void {
    try {
      deliver()
    } catch (error) {
      this.#log.error({ err: error }, 'store follower failed')
    }
  }
}

function isSame(one: Position, other: Position): boolean {
  return one.revision === other.revision && one.history === other.history
}

/** Reads all rows of a kind, page by page. The first columns are the account and the id. */
async function* scanKind(
  sql: Sql,
  kind: string,
  columns: string,
  pageSize: number,
): AsyncGenerator<(RowOwner & { values: SqlValue[] })[]> {
  // Many rows have the same account: one string serves all of them.
  const accounts = new Map<string, string>()
  let after = ''
  for (;;) {
    const page = await sql.scan(
      `SELECT ${columns} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
      kind,
      after,
      pageSize,
    )
    const rows = page.map((values) => {
      const [account, id] = values as [string, string]
      if (!accounts.has(account)) accounts.set(account, account)
      return { account: accounts.get(account)!, id, values }
    })
    yield rows
    if (rows.length < pageSize) return
    after = rows.at(-1)!.id
    // The embedded engine is synchronous: yields to the event loop.
    await new Promise(setImmediate)
  }
}

/** A load that hands over all rows at once. */
export function collectRows<K extends string>(
  reset: (rows: readonly Row<K>[], revision: number) => void,
): RowLoad<K> {
  const rows = new Map<string, Row<K>>()
  return {
    put(changes) {
      for (const { id, row } of changes) {
        // The compiler does not see that the kind is that of the change.
        if (row) rows.set(id, row as Row<K>)
        else rows.delete(id)
      }
    },
    complete: (revision) => reset([...rows.values()], revision),
  }
}

function paged(follower: Follower): PagedFollower {
  return {
    load: () => collectRows((rows, revision) => follower.reset(rows, revision)),
    change: (changes) => follower.change(changes),
  }
}
