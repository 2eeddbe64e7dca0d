import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../base/log.ts'
import { readHead } from './changes.ts'
import type { Query } from './durable-store.ts'
import { ROW_COLUMNS, toRow } from './rows.ts'
import type { Engine, Sql, SqlRecord } from './sql.ts'
import type { Follower, Row } from './store.ts'
import type { Vault } from './vault.ts'

const PAGE_SIZE = 500
const MAX_CATCH_UP_PASSES = 20
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

interface FollowerState {
  readonly kinds: ReadonlySet<string>
  readonly follower: Follower
  revision: number
  pumping: boolean
  behind: boolean
  stopped: boolean
}

interface RowChange {
  readonly kind: string
  readonly id: string
  readonly row: Row | undefined
  readonly revision: number
}

/** Tells followers of every committed change, in order and each at its own pace, whoever committed it. */
export class Feed {
  readonly #engine: Engine
  readonly #query: Query
  readonly #vault: Vault
  readonly #log: Logger
  readonly #followers = new Set<FollowerState>()
  #watch: { stop(): void } | undefined

  constructor({ engine, query, vault, log }: { engine: Engine; query: Query; vault: Vault; log: Logger }) {
    this.#engine = engine
    this.#query = query
    this.#vault = vault
    this.#log = log
  }

  async follow(kinds: readonly string[], follower: Follower): Promise<{ stop(): void }> {
    const state: FollowerState = {
      kinds: new Set(kinds),
      follower,
      revision: 0,
      pumping: true,
      behind: true,
      stopped: false,
    }
    this.#followers.add(state)
    this.#watch ??= this.#engine.watch(() => this.wake())
    try {
      await this.#query((sql) => this.#reset(state, sql))
    } catch (error) {
      this.#stop(state)
      throw error
    }
    this.#pump(state)
    return { stop: () => this.#stop(state) }
  }

  /** Something was committed, here or by another process. */
  wake(): void {
    for (const state of this.#followers) {
      state.behind = true
      if (!state.pumping) this.#pump(state)
    }
  }

  close(): void {
    for (const state of [...this.#followers]) this.#stop(state)
  }

  #stop(state: FollowerState): void {
    state.stopped = true
    this.#followers.delete(state)
    if (this.#followers.size > 0) return
    this.#watch?.stop()
    this.#watch = undefined
  }

  #pump(state: FollowerState): void {
    state.pumping = true
    void this.#catchUp(state)
  }

  /** Brings a follower up to date; while the database cannot be read it keeps what it has, and this keeps trying. */
  async #catchUp(state: FollowerState): Promise<void> {
    let retryMs = MIN_RETRY_MS
    while (state.behind && !state.stopped) {
      state.behind = false
      try {
        while (!state.stopped && (await this.#applyNext(state))) retryMs = MIN_RETRY_MS
      } catch (error) {
        if (state.stopped) break
        // Once for each outage, since every follower tries again and again.
        if (retryMs === MIN_RETRY_MS)
          this.#log.warn({ err: error }, 'following the store is interrupted and will be tried again')
        await delay(retryMs * (0.5 + Math.random() / 2), undefined, { ref: false })
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
        state.behind = true
      }
    }
    // In the same turn as the last look at `behind`, so that no wake falls between.
    state.pumping = false
  }

  /** Hands on the next changes; answers whether there may be more. */
  async #applyNext(state: FollowerState): Promise<boolean> {
    const { rowChanges, revision } = await this.#changesAfter(this.#engine.reader, state)
    // Read after the changes, so that none can have been pruned unnoticed.
    const head = await readHead(this.#engine.reader)
    // Pruned past the follower, or a database set back to an earlier state: what it knows cannot be mended by changes.
    if (state.revision < head.pruned || state.revision > head.revision) {
      await this.#reset(state, this.#engine.reader)
      return true
    }
    if (state.stopped) return false
    // Committed between the two reads: others get their turn before the next look.
    if (revision === state.revision && revision < head.revision) await new Promise(setImmediate)
    state.revision = revision
    if (rowChanges.length > 0) this.#notify(() => state.follower.change(rowChanges))
    return revision < head.revision
  }

  /**
   * Reads all rows page by page, without holding the database to one view for so long, and then the changes made
   * meanwhile, until there are none: what is handed on is the store at one revision.
   */
  async #reset(state: FollowerState, sql: Sql): Promise<void> {
    for (;;) {
      const start = await readHead(sql)
      const rows = new Map<string, Row>()
      for (const kind of state.kinds) await this.#loadRows(sql, kind, rows)
      let revision = start.revision
      for (let pass = 0; pass < MAX_CATCH_UP_PASSES; pass += 1) {
        const step = await this.#changesAfter(sql, { revision, kinds: state.kinds })
        if (step.revision === revision) break
        for (const { id, row } of step.rowChanges) {
          if (row) rows.set(id, row)
          else rows.delete(id)
        }
        revision = step.revision
      }
      if (state.stopped) return
      if ((await readHead(sql)).pruned > start.revision) continue
      state.revision = revision
      this.#notify(() => state.follower.reset([...rows.values()], revision))
      return
    }
  }

  async #loadRows(sql: Sql, kind: string, rows: Map<string, Row>): Promise<void> {
    let after = ''
    for (;;) {
      const page = await sql.tuples(
        `SELECT ${ROW_COLUMNS} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
        kind,
        after,
        PAGE_SIZE,
      )
      for (const values of page) {
        const row = toRow(values, this.#vault)
        rows.set(row.id, row)
        after = row.id
      }
      if (page.length < PAGE_SIZE) return
      // The embedded engine answers without waiting: others get their turn here.
      await new Promise(setImmediate)
    }
  }

  async #changesAfter(
    sql: Sql,
    { revision: after, kinds }: Pick<FollowerState, 'revision' | 'kinds'>,
  ): Promise<{ rowChanges: RowChange[]; revision: number }> {
    const { dialect } = this.#engine
    const changes = await sql.all(
      'SELECT revision, kind, id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?',
      after,
      PAGE_SIZE,
    )
    const revision = Number(changes.at(-1)?.revision ?? after)
    // Only the last change of a row counts, since rows are given as they are now.
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
    const rows = new Map(tuples.map((values) => toRow(values, this.#vault)).map((row) => [row.id, row]))
    const rowChanges = [...latest.values()].map((change) => ({
      kind: change.kind as string,
      id: change.id as string,
      row: rows.get(change.id as string),
      revision: change.revision as number,
    }))
    return { rowChanges, revision }
  }

  // A follower's mistake is its own: it must not keep the others, or its own next change, from being told.
  #notify(deliver: () => void): void {
    try {
      deliver()
    } catch (error) {
      this.#log.error({ err: error }, 'a follower of the store failed on a change')
    }
  }
}
