import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../base/log.ts'
import { readHead } from './changes.ts'
import type { Ask } from './durable-store.ts'
import { ROW, toRow } from './rows.ts'
import type { Engine, Sql, SqlRecord } from './sql.ts'
import type { Follower, Row } from './store.ts'
import type { Vault } from './vault.ts'

const PAGE = 500
const MAX_CATCH_UPS = 20
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

interface Following {
  readonly kinds: ReadonlySet<string>
  readonly follower: Follower
  revision: number
  pumping: boolean
  behind: boolean
  stopped: boolean
}

interface Touched {
  readonly kind: string
  readonly id: string
  readonly row: Row | undefined
  readonly revision: number
}

/** Tells followers of every committed change, in order and each at its own pace, whoever committed it. */
export class Feed {
  readonly #engine: Engine
  readonly #ask: Ask
  readonly #vault: Vault
  readonly #log: Logger
  readonly #followings = new Set<Following>()
  #watch: { stop(): void } | undefined

  constructor({ engine, ask, vault, log }: { engine: Engine; ask: Ask; vault: Vault; log: Logger }) {
    this.#engine = engine
    this.#ask = ask
    this.#vault = vault
    this.#log = log
  }

  async follow(kinds: readonly string[], follower: Follower): Promise<{ stop(): void }> {
    const following: Following = {
      kinds: new Set(kinds),
      follower,
      revision: 0,
      pumping: true,
      behind: true,
      stopped: false,
    }
    this.#followings.add(following)
    this.#watch ??= this.#engine.watch(() => this.wake())
    try {
      await this.#ask((sql) => this.#reset(following, sql))
    } catch (error) {
      this.#stop(following)
      throw error
    }
    this.#pump(following)
    return { stop: () => this.#stop(following) }
  }

  /** Something was committed, here or by another process. */
  wake(): void {
    for (const following of this.#followings) {
      following.behind = true
      if (!following.pumping) this.#pump(following)
    }
  }

  close(): void {
    for (const following of [...this.#followings]) this.#stop(following)
  }

  #stop(following: Following): void {
    following.stopped = true
    this.#followings.delete(following)
    if (this.#followings.size > 0) return
    this.#watch?.stop()
    this.#watch = undefined
  }

  #pump(following: Following): void {
    following.pumping = true
    void this.#catchUp(following)
  }

  /** Brings a follower up to date; while the database cannot be read it keeps what it has, and this keeps trying. */
  async #catchUp(following: Following): Promise<void> {
    let retryMs = MIN_RETRY_MS
    while (following.behind && !following.stopped) {
      following.behind = false
      try {
        while (!following.stopped && (await this.#step(following))) retryMs = MIN_RETRY_MS
      } catch (error) {
        if (following.stopped) break
        // Once for each outage, since every follower tries again and again.
        if (retryMs === MIN_RETRY_MS)
          this.#log.warn({ err: error }, 'following the store is interrupted and will be tried again')
        await delay(retryMs * (0.5 + Math.random() / 2), undefined, { ref: false })
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
        following.behind = true
      }
    }
    // In the same turn as the last look at `behind`, so that no wake falls between.
    following.pumping = false
  }

  /** Hands on the next changes; answers whether there may be more. */
  async #step(following: Following): Promise<boolean> {
    const { touched, revision } = await this.#touchedAfter(this.#engine.reader, following)
    // Read after the changes, so that none can have been pruned unnoticed.
    const head = await readHead(this.#engine.reader)
    // Pruned past the follower, or a database set back to an earlier state: what it knows cannot be mended by changes.
    if (following.revision < head.pruned || following.revision > head.revision) {
      await this.#reset(following, this.#engine.reader)
      return true
    }
    if (following.stopped) return false
    // Committed between the two reads: others get their turn before the next look.
    if (revision === following.revision && revision < head.revision) await new Promise(setImmediate)
    following.revision = revision
    if (touched.length > 0) this.#tell(() => following.follower.change(touched))
    return revision < head.revision
  }

  /**
   * Reads all rows page by page, without holding the database to one view for so long, and then the changes made
   * meanwhile, until there are none: what is handed on is the store at one revision.
   */
  async #reset(following: Following, sql: Sql): Promise<void> {
    for (;;) {
      const start = await readHead(sql)
      const rows = new Map<string, Row>()
      for (const kind of following.kinds) await this.#load(sql, kind, rows)
      let revision = start.revision
      for (let turn = 0; turn < MAX_CATCH_UPS; turn += 1) {
        const step = await this.#touchedAfter(sql, { revision, kinds: following.kinds })
        if (step.revision === revision) break
        for (const { id, row } of step.touched) {
          if (row) rows.set(id, row)
          else rows.delete(id)
        }
        revision = step.revision
      }
      if (following.stopped) return
      if ((await readHead(sql)).pruned > start.revision) continue
      following.revision = revision
      this.#tell(() => following.follower.reset([...rows.values()], revision))
      return
    }
  }

  async #load(sql: Sql, kind: string, rows: Map<string, Row>): Promise<void> {
    let after = ''
    for (;;) {
      const page = await sql.lists(
        `SELECT ${ROW} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
        kind,
        after,
        PAGE,
      )
      for (const values of page) {
        const row = toRow(values, this.#vault)
        rows.set(row.id, row)
        after = row.id
      }
      if (page.length < PAGE) return
      // The embedded engine answers without waiting: others get their turn here.
      await new Promise(setImmediate)
    }
  }

  async #touchedAfter(
    sql: Sql,
    { revision: after, kinds }: Pick<Following, 'revision' | 'kinds'>,
  ): Promise<{ touched: Touched[]; revision: number }> {
    const { dialect } = this.#engine
    const changes = await sql.all(
      'SELECT revision, kind, id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?',
      after,
      PAGE,
    )
    const revision = Number(changes.at(-1)?.revision ?? after)
    // Only the last change of a row counts, since rows are given as they are now.
    const last = new Map<string, SqlRecord>()
    for (const change of changes) {
      if (!kinds.has(change.kind as string)) continue
      last.delete(change.id as string)
      last.set(change.id as string, change)
    }
    if (last.size === 0) return { touched: [], revision }
    const found = await sql.lists(
      `SELECT ${ROW} FROM resources WHERE id IN (${dialect.listed})`,
      JSON.stringify([...last.keys()]),
    )
    const rows = new Map(found.map((values) => toRow(values, this.#vault)).map((row) => [row.id, row]))
    const touched = [...last.values()].map((change) => ({
      kind: change.kind as string,
      id: change.id as string,
      row: rows.get(change.id as string),
      revision: change.revision as number,
    }))
    return { touched, revision }
  }

  // A follower's mistake is its own: it must not keep the others, or its own next change, from being told.
  #tell(report: () => void): void {
    try {
      report()
    } catch (error) {
      this.#log.error({ err: error }, 'a follower of the store failed on a change')
    }
  }
}
