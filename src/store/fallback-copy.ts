import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { readHead } from './changes.ts'
import { copyTable } from './copy-table.ts'
import { AUDIT_KEY } from './durable-store.ts'
import { lastEndingNumber } from './login-records.ts'
import { type Migrator, migrate } from './migrations.ts'
import { ROW } from './rows.ts'
import { migrations } from './schema.ts'
import type { Engine, Eventually, Sql, SqlRecord, SqlValue } from './sql.ts'
import { isConditionOfDisk, SqliteEngine } from './sqlite.ts'
import { StoreUnavailable } from './store.ts'

/** The name of the copy in the data directory. */
export const LAST_KNOWN_FILE = 'last-known.db'

const LOOK_MS = 1_000
const MAX_RETRY_MS = 2_000
const PAGE = 200

/**
 * What traffic needs of the database: configuration, who may bind what, ended log-ins, other nodes. First where it stands:
 * what changes while the rest is copied is copied again as a change.
 */
const TABLES = ['head', 'resources', 'claims', 'login_endings', 'settings', 'nodes'] as const

/** Tables without a change log, small enough to be compared whole. When nodes expire, only the database can tell. */
const SMALL = {
  settings: ['name', 'value', 'sealed'],
  nodes: ['id', 'address', 'agent_address', '0 AS expires_at'],
} as const

const CLAIM = 'scope, name, account, kind, id'

export interface LastKnownOptions {
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
export class LastKnown {
  readonly #copy: SqliteEngine
  readonly #source: string
  readonly #clock: Clock
  readonly #log: Logger
  readonly #stop = new AbortController()
  #whole = false
  #away = false

  private constructor(copy: SqliteEngine, { url, clock, log }: LastKnownOptions) {
    this.#copy = copy
    // Of another database nothing is known; of this one the user may have another password by now.
    this.#source = url?.replace(/\/\/[^@/]*@/, '//') ?? 'embedded'
    this.#clock = clock
    this.#log = log
  }

  static async open(options: LastKnownOptions): Promise<LastKnown> {
    const lastKnown = new LastKnown(await openCopy(options), options)
    await lastKnown.#look()
    return lastKnown
  }

  /** Whether there is anything to go on with while the database is away. */
  get whole(): boolean {
    return this.#whole
  }

  /** Asks the database; while that is away, the copy. */
  async ask<T>(database: Sql, question: (sql: Sql) => Eventually<T>): Promise<T> {
    if (!this.#away) {
      try {
        return await question(database)
      } catch (error) {
        if (!this.isEnough(error)) throw error
      }
    }
    return question(this.#copy.reader)
  }

  /** Whether the database is away, by this error, and there is a copy to go on with. */
  isEnough(error: unknown): boolean {
    if (!(error instanceof StoreUnavailable) || !this.#whole) return false
    // From here on nobody else waits for it in vain, until `keep` finds it back.
    this.#away = true
    return true
  }

  /** The database has answered: what it says counts again, so that a revocation made now is seen at once. */
  databaseReturned(): void {
    this.#away = false
  }

  /** Does not wait for a database that may be away: what is under way fails on the closed copy, and ends with that. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#copy.close()
  }

  /** Keeps the copy in step with the database until it is closed. */
  async keep(database: Engine & Migrator, { shared }: { shared: boolean }): Promise<void> {
    let retryMs = LOOK_MS
    let migrated = false
    // Since this process last looked, others may have set a shared database back and gone on from there.
    let inStep = this.#whole && !shared
    let interrupted = false
    while (!this.#stop.signal.aborted) {
      try {
        // This start may have gone on without it. The embedded database is nobody's but this release's.
        if (!migrated && shared) await migrate(database, migrations)
        migrated = true
        await readHead(database.reader)
        this.databaseReturned()
        if (inStep) inStep = await this.#catchUp(database)
        if (!inStep) await this.#copyAll(database)
        // The node that creates the database copies it before it has an account: it becomes usable by a later change.
        if (!this.#whole) await this.#look()
        inStep = true
        retryMs = LOOK_MS
        interrupted = false
      } catch (error) {
        if (this.#stop.signal.aborted) return
        // Once for each outage.
        if (!interrupted)
          this.#log.warn({ err: error }, 'the local copy of the database is not brought up to date for now')
        interrupted = true
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
      await delay(retryMs, undefined, { ref: false, signal: this.#stop.signal }).catch(() => {})
    }
  }

  /** Whoever reads the copy meanwhile sees what it was before. */
  async #copyAll({ reader }: Engine): Promise<void> {
    await this.#copy.exclusively(async (to) => {
      for (const table of TABLES) await copyTable(reader, to, table)
      await to.run('DELETE FROM copied')
      await to.run('INSERT INTO copied (source) VALUES (?)', this.#source)
    })
    await this.#look()
  }

  /** A database that is in use has at least an account. */
  async #look(): Promise<void> {
    const copied = await this.#copy.reader.get('SELECT source FROM copied')
    this.#whole = copied?.source === this.#source && (await readHead(this.#copy.reader)).revision > 0
  }

  /** Hands on what has changed; answers false when that cannot be told. */
  async #catchUp({ reader, dialect }: Engine): Promise<boolean> {
    for (;;) {
      const known = await readHead(this.#copy.reader)
      const small = await this.#changedTables(reader)
      if (small === undefined) return false
      const changes = await reader.all(
        'SELECT revision, id FROM changes WHERE revision > ? ORDER BY revision LIMIT ?',
        known.revision,
        PAGE,
      )
      const endings = await reader.lists(
        'SELECT place, subject, at, expires_at, number FROM login_endings WHERE number > ? ORDER BY number LIMIT ?',
        await lastEndingNumber(this.#copy.reader),
        PAGE,
      )
      const ids = JSON.stringify([...new Set(changes.map(({ id }) => id))])
      const of = (columns: string, table: string) =>
        reader.lists(`SELECT ${columns} FROM ${table} WHERE id IN (${dialect.listed})`, ids)
      const rows = changes.length === 0 ? [] : await of(ROW, 'resources')
      const claims = changes.length === 0 ? [] : await of(CLAIM, 'claims')
      // Read after the changes, so that none can have been pruned unnoticed.
      const head = await readHead(reader)
      if (known.revision < head.pruned || known.revision > head.revision) return false
      const revision = Number(changes.at(-1)?.revision ?? known.revision)
      if (changes.length + endings.length + small.length > 0)
        await this.#copy.exclusively(async (to) => {
          // Another process on this directory may have been here meanwhile; its work is as good.
          if ((await readHead(to)).revision !== known.revision) return
          for (const { table, columns, values } of small) {
            await to.run(`DELETE FROM ${table}`)
            await to.apply({ table, columns, rows: values })
          }
          const { listed } = this.#copy.dialect
          await to.run(`DELETE FROM resources WHERE id IN (${listed})`, ids)
          await to.run(`DELETE FROM claims WHERE id IN (${listed})`, ids)
          await to.apply(
            { table: 'resources', columns: ROW.split(', '), rows },
            {
              table: 'claims',
              columns: CLAIM.split(', '),
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
      if (revision === head.revision && endings.length < PAGE) return true
      // The embedded engine answers without waiting: others get their turn here.
      await new Promise(setImmediate)
    }
  }

  /** The small tables that are not as they were; undefined when this is another database, or sealed anew. */
  async #changedTables(
    reader: Sql,
  ): Promise<{ table: string; columns: readonly string[]; values: SqlValue[][] }[] | undefined> {
    const changed = []
    for (const [table, columns] of Object.entries(SMALL)) {
      const question = `SELECT ${columns.join(', ')} FROM ${table} ORDER BY 1`
      const [now, before] = [await reader.all(question), await this.#copy.reader.all(question)]
      if (JSON.stringify(now) === JSON.stringify(before)) continue
      // A rotation of the master key leaves this for the end, when all else is sealed with the new one.
      const key = (rows: readonly SqlRecord[]) => rows.find(({ name }) => name === AUDIT_KEY)?.value
      if (key(now) !== key(before)) return undefined
      const names = columns.map((column) => column.replace(/^.* AS /, ''))
      changed.push({ table, columns: names, values: now.map((row) => Object.values(row)) })
    }
    return changed
  }
}

async function openCopy({ file, log }: LastKnownOptions): Promise<SqliteEngine> {
  try {
    return await openTables(file, log)
  } catch (error) {
    // A full or failing disk says nothing about what is in the copy, and removing it would lose that.
    if (isConditionOfDisk(error)) throw error
    log.warn({ err: error }, 'the local copy of the database cannot be used and is made anew')
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    return openTables(file, log)
  }
}

async function openTables(file: string, log: Logger): Promise<SqliteEngine> {
  const copy = new SqliteEngine(file, log, { durable: false })
  try {
    await migrate(copy, migrations)
    await copy.exclusively(async (sql) => sql.run('CREATE TABLE IF NOT EXISTS copied (source TEXT NOT NULL)'))
    return copy
  } catch (error) {
    await copy.close()
    throw error
  }
}
