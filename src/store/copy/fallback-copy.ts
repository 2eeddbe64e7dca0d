import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../base/process/log.ts'
import { identifyPostgres } from '../../base/text/postgres-url.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import { AUDIT_KEY_SETTING } from '../durable-store.ts'
import { HISTORY_SETTING, readHead } from '../engine/changes.ts'
import { copyTable } from '../engine/copy-table.ts'
import { type DatabaseWatch, UNLOGGED_TABLES } from '../engine/database-watch.ts'
import type { HistoryWatch } from '../engine/history.ts'
import { type Migrator, migrate } from '../engine/migrations.ts'
import { migrations } from '../engine/schema.ts'
import type { Engine, Sql, SqlRecord, SqlValue } from '../engine/sql.ts'
import { SqliteEngine } from '../engine/sqlite/sqlite.ts'
import { isEnvironmentError } from '../engine/sqlite/sqlite-errors.ts'
import { StoreUnavailable } from '../store.ts'
import { lastRevocationNumber } from '../tables/login-records.ts'
import { ROW_COLUMNS } from '../write/rows.ts'

/** The name of the copy in the data directory. */
export const FALLBACK_COPY_FILE = 'last-known.db'

const SYNC_INTERVAL_MS = 1_000
const MAX_RETRY_MS = 2_000
const PAGE_SIZE = 200

/**
 * What traffic needs from the database: configuration, claims, revoked log-ins, nodes. The head comes first: rows that
 * change while the rest is copied are copied again as changes.
 */
const TABLES = ['head', 'resources', 'claims', 'login_endings', 'settings', 'nodes'] as const

const CLAIM_COLUMNS = 'scope, name, account, kind, id'

export interface FallbackCopyOptions {
  readonly file: string
  /** The URL of the database; undefined for the embedded one. */
  readonly url?: string | undefined
  readonly history: HistoryWatch
  readonly clock: Clock
  readonly log: Logger
}

/**
 * A local replica of the database, slightly behind it and with the same sealed values: it lets a node start and accept
 * agents while the database is unavailable (P8). Only replicated changes are written to it, and it is copied again in full
 * whenever changes cannot bring it up to date (decision 98).
 */
export class FallbackCopy {
  readonly #copy: SqliteEngine
  readonly #source: string
  readonly #history: HistoryWatch
  readonly #clock: Clock
  readonly #log: Logger
  readonly #abort = new AbortController()
  #usable = false
  /** Why reads come from the copy. */
  #outage: StoreUnavailable | undefined
  #outageStartedAt = 0
  #onOutage = () => {}
  /** The tables of the database suit this release. */
  #migrated = false

  private constructor(copy: SqliteEngine, { url, history, clock, log }: FallbackCopyOptions) {
    this.#copy = copy
    this.#source = url === undefined ? 'embedded' : identifyPostgres(url)
    this.#history = history
    this.#clock = clock
    this.#log = log
  }

  static async open(options: FallbackCopyOptions): Promise<FallbackCopy> {
    const copy = new FallbackCopy(await openCopy(options), options)
    await copy.#checkUsable()
    return copy
  }

  /** Whether the copy can serve reads while the database is unavailable. */
  get usable(): boolean {
    return this.#usable
  }

  /** What to say of a database without tables: the copy shows that there were some. */
  get emptyProblem(): string | undefined {
    if (!this.#usable) return undefined
    return `The database is empty, but this node has used it with data before: correct --database-url, or restore a backup. To start over, remove ${FALLBACK_COPY_FILE}.`
  }

  /** Reads from the database, or from the copy while the database is unavailable. */
  async query<T>(database: Sql, read: (sql: Sql) => MaybePromise<T>): Promise<T> {
    if (this.#outage === undefined) {
      try {
        return await read(database)
      } catch (error) {
        if (!this.failOver(error)) throw error
      }
    }
    return read(this.#copy.reader)
  }

  /** Switches reads to the copy if this error means that the database is unavailable; false when it does not, or the copy is not usable. */
  failOver(error: unknown): boolean {
    if (!(error instanceof StoreUnavailable) || !this.#usable) return false
    if (this.#outage === undefined) {
      this.#outageStartedAt = this.#clock.monotonic()
      this.#log.warn({ reason: error.message }, 'database unavailable, serving from the fallback copy')
    }
    // Later reads skip the database until `replicate` reaches it again.
    this.#outage = error
    this.#onOutage()
    return true
  }

  /** Throws why reads come from the copy, if they do. */
  requireDatabase(): void {
    if (this.#outage !== undefined) throw this.#outage
  }

  /** Switches reads back to the database, so that a new revocation takes effect immediately. */
  markAvailable(): void {
    if (this.#outage === undefined || !this.#migrated) return
    this.#outage = undefined
    const seconds = Math.round((this.#clock.monotonic() - this.#outageStartedAt) / 1000)
    this.#log.info({ seconds }, 'database available again')
  }

  /** Does not wait for a database that may be unavailable: replication in flight fails on the closed copy and ends. */
  async close(): Promise<void> {
    this.#abort.abort()
    await this.#copy.close()
  }

  /** Replicates the database to the copy, whenever it has changed, until the copy is closed. */
  async replicate(
    database: Engine & Migrator,
    { shared, watch }: { shared: boolean; watch: DatabaseWatch },
  ): Promise<void> {
    watch.follow(() => {})
    let retryMs = SYNC_INTERVAL_MS
    let inSync = this.#usable
    let interrupted = false
    while (!this.#abort.signal.aborted) {
      const { version } = watch
      try {
        const problem = shared ? await this.#ensureMigrated(database) : undefined
        this.#migrated = problem === undefined
        await this.#tryDatabase(database, problem)
        if (inSync) inSync = await this.#catchUp(database)
        if (!inSync) await this.#copyAll(database)
        // The node that creates the database copies it before it has an account: a later change makes the copy usable.
        if (!this.#usable) await this.#checkUsable()
        inSync = true
        // The copy is up to date all the same: what was deleted is rejected.
        if (problem !== undefined) throw problem
        retryMs = SYNC_INTERVAL_MS
        interrupted = false
      } catch (error) {
        if (this.#abort.signal.aborted) return
        // Logged once per outage.
        if (!interrupted) this.#log.warn({ err: error }, 'fallback copy replication interrupted')
        interrupted = true
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
      await delay(retryMs, undefined, { ref: false, signal: this.#abort.signal }).catch(() => {})
      if (interrupted || this.#outage !== undefined) continue
      await Promise.race([
        watch.changedSince(version),
        new Promise<void>((resolve) => {
          this.#onOutage = resolve
        }),
      ])
    }
  }

  /** This process may have started without the database. Returns what keeps the tables from suiting this release. */
  async #ensureMigrated(database: Migrator): Promise<unknown> {
    if (this.#migrated) return undefined
    try {
      await migrate(database, migrations, { emptyProblem: this.emptyProblem })
      return undefined
    } catch (error) {
      return error
    }
  }

  /** Decides where reads come from. */
  async #tryDatabase({ reader }: Engine, problem: unknown): Promise<void> {
    try {
      await readHead(reader)
    } catch (error) {
      this.failOver(problem ?? error)
      throw error
    }
    if (problem === undefined) this.markAvailable()
    else this.failOver(problem)
  }

  /** Copies all tables in one transaction: concurrent reads see the previous copy. */
  async #copyAll({ reader }: Engine): Promise<void> {
    const start = await readHead(reader)
    await this.#copy.runExclusive(async (to) => {
      for (const table of TABLES) await copyTable(reader, to, table)
      // Otherwise the copy would have parts of both.
      if (!(await this.#history.continues(reader, start, await readHead(reader))))
        throw new StoreUnavailable('The database was replaced by another one while it was copied.')
      await to.run('DELETE FROM copied')
      await to.run('INSERT INTO copied (source) VALUES (?)', this.#source)
    })
    await this.#checkUsable()
  }

  /** A copy is usable if it belongs to this database and is not empty: a database in use has at least one account. */
  async #checkUsable(): Promise<void> {
    const copied = await this.#copy.reader.get('SELECT source FROM copied')
    const head = await readHead(this.#copy.reader)
    this.#usable = copied?.source === this.#source && head.revision > 0
    if (this.#usable) this.#history.reached(head)
  }

  /** Replicates the changes since the last run; false when the change log does not cover them. */
  async #catchUp({ reader, dialect }: Engine): Promise<boolean> {
    for (;;) {
      const copied = await readHead(this.#copy.reader)
      const unlogged = await this.#changedTables(reader)
      if (unlogged === undefined) return false
      const changes = await reader.all(
        'SELECT revision, id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?',
        copied.revision,
        PAGE_SIZE,
      )
      const endings = await reader.tuples(
        'SELECT place, subject, at, expires_at, number FROM login_endings WHERE number > ? ORDER BY number LIMIT ?',
        await lastRevocationNumber(this.#copy.reader),
        PAGE_SIZE,
      )
      const ids = JSON.stringify([...new Set(changes.map(({ id }) => id))])
      const selectChanged = (columns: string, table: string) =>
        reader.tuples(`SELECT ${columns} FROM ${table} WHERE id IN (${dialect.unnest})`, ids)
      const rows = changes.length === 0 ? [] : await selectChanged(ROW_COLUMNS, 'resources')
      const claims = changes.length === 0 ? [] : await selectChanged(CLAIM_COLUMNS, 'claims')
      // Read after the changes, so that pruning in between is noticed.
      const head = await readHead(reader)
      if (copied.revision < head.pruned) return false
      const revision = Number(changes.at(-1)?.revision ?? copied.revision)
      const isContinued = head.history === copied.history && revision <= head.revision
      if (!isContinued && !(await this.#history.continues(reader, copied, head))) return false
      // What was read before the head may be of the database before: reads it again.
      if (revision > head.revision || (historyIn(unlogged) ?? copied.history) !== head.history) continue
      if (changes.length + endings.length + unlogged.length > 0)
        await this.#copy.runExclusive(async (to) => {
          // Another process on this directory may have replicated the same changes meanwhile.
          if ((await readHead(to)).revision !== copied.revision) return
          for (const { table, columns, values } of unlogged) {
            await to.run(`DELETE FROM ${table}`)
            await to.apply({ table, columns, rows: values })
          }
          const { unnest } = this.#copy.dialect
          await to.run(`DELETE FROM resources WHERE id IN (${unnest})`, ids)
          await to.run(`DELETE FROM claims WHERE id IN (${unnest})`, ids)
          await to.apply(
            { table: 'resources', columns: ROW_COLUMNS.split(', '), rows },
            {
              table: 'claims',
              columns: CLAIM_COLUMNS.split(', '),
              rows: claims,
              // The change that deletes the previous holder may come later.
              conflict:
                'ON CONFLICT (scope, name) DO UPDATE SET account = excluded.account, kind = excluded.kind, id = excluded.id',
            },
            {
              table: 'login_endings',
              columns: ['place', 'subject', 'at', 'expires_at', 'number'],
              rows: endings,
              conflict: `ON CONFLICT (place, subject) DO UPDATE SET at = excluded.at,
                expires_at = excluded.expires_at, number = excluded.number`,
            },
            {
              // The last number stays, as it does in the database: it is the cursor for the next read.
              text: 'DELETE FROM login_endings WHERE expires_at <= ? AND number < (SELECT MAX(number) FROM login_endings)',
              values: [this.#clock.now()],
            },
            { text: 'UPDATE head SET revision = ?', values: [revision] },
          )
        })
      if (revision === head.revision && endings.length < PAGE_SIZE) return true
      // The embedded engine is synchronous: yields to the event loop.
      await new Promise(setImmediate)
    }
  }

  /** The unlogged tables that differ from the copy; undefined when this is another database or its master key was rotated. */
  async #changedTables(
    reader: Sql,
  ): Promise<{ table: string; columns: readonly string[]; values: SqlValue[][] }[] | undefined> {
    const changed = []
    for (const [table, followed] of Object.entries(UNLOGGED_TABLES)) {
      // Expiry of nodes is left to the database.
      const columns = table === 'nodes' ? [...followed, '0 AS expires_at'] : followed
      const statement = `SELECT ${columns.join(', ')} FROM ${table} ORDER BY 1`
      const [current, copied] = [await reader.all(statement), await this.#copy.reader.all(statement)]
      if (JSON.stringify(current) === JSON.stringify(copied)) continue
      // A rotation of the master key rewraps this setting last.
      const key = (rows: readonly SqlRecord[]) => rows.find(({ name }) => name === AUDIT_KEY_SETTING)?.value
      if (key(current) !== key(copied)) return undefined
      const names = columns.map((column) => column.replace(/^.* AS /, ''))
      changed.push({ table, columns: names, values: current.map((row) => Object.values(row)) })
    }
    return changed
  }
}

/** The identity of the history among these rows, if they have the settings. */
function historyIn(tables: readonly { table: string; values: SqlValue[][] }[]): string | undefined {
  const settings = tables.find(({ table }) => table === 'settings')?.values
  return settings?.find(([name]) => name === HISTORY_SETTING)?.map(String)[1]
}

async function openCopy({ file, log }: FallbackCopyOptions): Promise<SqliteEngine> {
  try {
    return await openTables(file, log)
  } catch (error) {
    // A full or failing disk says nothing about the content of the copy, and deleting it would lose the content.
    if (isEnvironmentError(error)) throw error
    log.warn({ err: error }, 'fallback copy unusable, creating a new one')
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    return openTables(file, log)
  }
}

async function openTables(file: string, log: Logger): Promise<SqliteEngine> {
  const copy = new SqliteEngine(file, log, { durable: false })
  try {
    await migrate(copy, migrations)
    await copy.runExclusive(async (sql) =>
      sql.run('CREATE TABLE IF NOT EXISTS copied (source TEXT NOT NULL)'),
    )
    return copy
  } catch (error) {
    await copy.close()
    throw error
  }
}
