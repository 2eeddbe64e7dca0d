import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { readHead } from './changes.ts'
import { copyTable } from './copy-table.ts'
import { AUDIT_KEY_SETTING } from './durable-store.ts'
import { lastRevocationNumber } from './login-records.ts'
import { type Migrator, migrate } from './migrations.ts'
import { ROW_COLUMNS } from './rows.ts'
import { migrations } from './schema.ts'
import type { Engine, MaybePromise, Sql, SqlRecord, SqlValue } from './sql.ts'
import { isEnvironmentError, SqliteEngine } from './sqlite.ts'
import { StoreUnavailable } from './store.ts'

/** The name of the copy in the data directory. */
export const FALLBACK_COPY_FILE = 'last-known.db'

const SYNC_INTERVAL_MS = 1_000
const MAX_RETRY_MS = 2_000
const PAGE_SIZE = 200

/**
 * What traffic needs of the database: configuration, who may bind what, ended log-ins, other nodes. First where it stands:
 * what changes while the rest is copied is copied again as a change.
 */
const TABLES = ['head', 'resources', 'claims', 'login_endings', 'settings', 'nodes'] as const

/** Tables without a change log, small enough to be compared whole. When nodes expire, only the database can tell. */
const UNLOGGED_TABLES = {
  settings: ['name', 'value', 'sealed'],
  nodes: ['id', 'address', 'agent_address', '0 AS expires_at'],
} as const

const CLAIM_COLUMNS = 'scope, name, account, kind, id'

export interface FallbackCopyOptions {
  readonly file: string
  /** The URL of the database, if it has one. */
  readonly url?: string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/**
 * A copy of the database beside the process, a moment behind it and sealed as it is: with it a node starts, and
 * lets agents in, while the database is away (P8). It is never written to by anything but the database's own changes, and
 * is made anew whenever it cannot be brought up to date by them.
 */
export class FallbackCopy {
  readonly #copy: SqliteEngine
  readonly #source: string
  readonly #clock: Clock
  readonly #log: Logger
  readonly #closed = new AbortController()
  #usable = false
  #unavailable = false

  private constructor(copy: SqliteEngine, { url, clock, log }: FallbackCopyOptions) {
    this.#copy = copy
    // Of another database nothing is known; of this one the user may have another password by now.
    this.#source = url?.replace(/\/\/[^@/]*@/, '//') ?? 'embedded'
    this.#clock = clock
    this.#log = log
  }

  static async open(options: FallbackCopyOptions): Promise<FallbackCopy> {
    const copy = new FallbackCopy(await openCopy(options), options)
    await copy.#checkUsable()
    return copy
  }

  /** Whether there is anything to go on with while the database is away. */
  get usable(): boolean {
    return this.#usable
  }

  /** Asks the database; while that is away, the copy. */
  async query<T>(database: Sql, read: (sql: Sql) => MaybePromise<T>): Promise<T> {
    if (!this.#unavailable) {
      try {
        return await read(database)
      } catch (error) {
        if (!this.failOver(error)) throw error
      }
    }
    return read(this.#copy.reader)
  }

  /** Whether the database is away, by this error, and there is a copy to go on with. */
  failOver(error: unknown): boolean {
    if (!(error instanceof StoreUnavailable) || !this.#usable) return false
    // From here on nobody else waits for it in vain, until `keep` finds it back.
    this.#unavailable = true
    return true
  }

  /** The database has answered: what it says counts again, so that a revocation made now is seen at once. */
  markAvailable(): void {
    this.#unavailable = false
  }

  /** Does not wait for a database that may be away: what is under way fails on the closed copy, and ends with that. */
  async close(): Promise<void> {
    this.#closed.abort()
    await this.#copy.close()
  }

  /** Keeps the copy in step with the database until it is closed. */
  async replicate(database: Engine & Migrator, { shared }: { shared: boolean }): Promise<void> {
    let retryMs = SYNC_INTERVAL_MS
    let migrated = false
    // Since this process last looked, others may have set a shared database back and gone on from there.
    let inSync = this.#usable && !shared
    let interrupted = false
    while (!this.#closed.signal.aborted) {
      try {
        // This start may have gone on without it. The embedded database is nobody's but this release's.
        if (!migrated && shared) await migrate(database, migrations)
        migrated = true
        await readHead(database.reader)
        this.markAvailable()
        if (inSync) inSync = await this.#catchUp(database)
        if (!inSync) await this.#copyAll(database)
        // The node that creates the database copies it before it has an account: it becomes usable by a later change.
        if (!this.#usable) await this.#checkUsable()
        inSync = true
        retryMs = SYNC_INTERVAL_MS
        interrupted = false
      } catch (error) {
        if (this.#closed.signal.aborted) return
        // Once for each outage.
        if (!interrupted)
          this.#log.warn({ err: error }, 'the local copy of the database is not brought up to date for now')
        interrupted = true
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
      await delay(retryMs, undefined, { ref: false, signal: this.#closed.signal }).catch(() => {})
    }
  }

  /** Whoever reads the copy meanwhile sees what it was before. */
  async #copyAll({ reader }: Engine): Promise<void> {
    await this.#copy.runExclusive(async (to) => {
      for (const table of TABLES) await copyTable(reader, to, table)
      await to.run('DELETE FROM copied')
      await to.run('INSERT INTO copied (source) VALUES (?)', this.#source)
    })
    await this.#checkUsable()
  }

  /** A database that is in use has at least an account. */
  async #checkUsable(): Promise<void> {
    const copied = await this.#copy.reader.get('SELECT source FROM copied')
    this.#usable = copied?.source === this.#source && (await readHead(this.#copy.reader)).revision > 0
  }

  /** Hands on what has changed; answers false when that cannot be told. */
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
      // Read after the changes, so that none can have been pruned unnoticed.
      const head = await readHead(reader)
      if (copied.revision < head.pruned || copied.revision > head.revision) return false
      const revision = Number(changes.at(-1)?.revision ?? copied.revision)
      if (changes.length + endings.length + unlogged.length > 0)
        await this.#copy.runExclusive(async (to) => {
          // Another process on this directory may have been here meanwhile; its work is as good.
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
              // Its former holder may only follow with a later change.
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
              // The last number stays, as it does in the database: what follows is asked for by it.
              text: 'DELETE FROM login_endings WHERE expires_at <= ? AND number < (SELECT MAX(number) FROM login_endings)',
              values: [this.#clock.now()],
            },
            { text: 'UPDATE head SET revision = ?', values: [revision] },
          )
        })
      if (revision === head.revision && endings.length < PAGE_SIZE) return true
      // The embedded engine answers without waiting: others get their turn here.
      await new Promise(setImmediate)
    }
  }

  /** The small tables that are not as they were; undefined when this is another database, or sealed anew. */
  async #changedTables(
    reader: Sql,
  ): Promise<{ table: string; columns: readonly string[]; values: SqlValue[][] }[] | undefined> {
    const changed = []
    for (const [table, columns] of Object.entries(UNLOGGED_TABLES)) {
      const statement = `SELECT ${columns.join(', ')} FROM ${table} ORDER BY 1`
      const [current, copied] = [await reader.all(statement), await this.#copy.reader.all(statement)]
      if (JSON.stringify(current) === JSON.stringify(copied)) continue
      // A rotation of the master key leaves this for the end, when all else is sealed with the new one.
      const key = (rows: readonly SqlRecord[]) => rows.find(({ name }) => name === AUDIT_KEY_SETTING)?.value
      if (key(current) !== key(copied)) return undefined
      const names = columns.map((column) => column.replace(/^.* AS /, ''))
      changed.push({ table, columns: names, values: current.map((row) => Object.values(row)) })
    }
    return changed
  }
}

async function openCopy({ file, log }: FallbackCopyOptions): Promise<SqliteEngine> {
  try {
    return await openTables(file, log)
  } catch (error) {
    // A full or failing disk says nothing about what is in the copy, and removing it would lose that.
    if (isEnvironmentError(error)) throw error
    log.warn({ err: error }, 'the local copy of the database cannot be used and is made anew')
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
