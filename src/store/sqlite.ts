import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { createDirectory } from '../base/create-directory.ts'
import { errorMessage } from '../base/error-message.ts'
import type { Logger } from '../base/log.ts'
import { SELECT_HEAD, toHead } from './changes.ts'
import type { Migrator } from './migrations.ts'
import type { Dialect, Engine, Head, Sql, SqlChange, SqlRecord, SqlValue, WriteTransaction } from './sql.ts'
import { StoreUnavailable } from './store.ts'

/** The name of the embedded database in the data directory. */
export const DATABASE_FILE = 'adit.db'

const BUSY_TIMEOUT_MS = 5_000
const POLL_INTERVAL_MS = 200
// Decision 95: holds the working set of a million resources; most databases are a hundredth of that.
const WRITER_CACHE_KIB = 512 * 1024
// The read connection serves only scans, and reads during a write transaction.
const READER_CACHE_KIB = 8 * 1024
// A copy is written in full when it cannot be brought up to date.
const COPY_CACHE_KIB = 64 * 1024
const MAX_WAL_BYTES = 32 * 1024 * 1024
// 16 MiB: small enough to bound the log, large enough that a page changed many times is checkpointed once.
const CHECKPOINT_PAGES = 4_096
// Below this the next commit group may not fit.
const MIN_FREE_BYTES = 1024 * 1024

/** The dialect of SQLite. */
export const sqliteDialect: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  clustered: ' WITHOUT ROWID',
  wallClock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",

  unnest: 'SELECT value FROM json_each(?)',
}

/** An embedded database in one file: one write connection, and one read connection for scans and for reads during a write. */
export class SqliteEngine implements Engine, Migrator {
  readonly dialect = sqliteDialect
  readonly reader: Sql
  readonly #file: string
  readonly #log: Logger
  readonly #writeConnection: SqliteConnection
  readonly #readConnection: SqliteConnection

  #closed = false
  #viewOpen = false

  /** Without `durable`, commits survive a crash of the process but not always a power failure. */
  constructor(file: string, log: Logger, { durable = true } = {}) {
    this.#file = file
    this.#log = log
    try {
      createDirectory(dirname(file), 0o700)
      // Created here and not by SQLite, so that neither the file nor its log is ever readable by others.
      closeSync(openSync(file, 'a', 0o600))
      chmodSync(file, 0o600)
      this.#writeConnection = openWriteConnection(file, durable)
      this.#readConnection = openReadConnection(file)
    } catch (error) {
      throw new StoreUnavailable(`The database ${file} cannot be used: ${errorMessage(error)}.`, {
        cause: error,
      })
    }
    this.reader = {
      get: (text, ...values) => this.#openView().get(text, ...values),
      all: (text, ...values) => this.#openView().all(text, ...values),
      tuples: (text, ...values) => this.#openView().tuples(text, ...values),
      scan: (text, ...values) => this.#scanConnection().tuples(text, ...values),
      run: (text, ...values) => this.#readConnection.run(text, ...values),
      apply: (...changes) => this.#readConnection.apply(...changes),
    }
  }

  async begin(): Promise<WriteTransaction> {
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    await this.#beginImmediate()
    try {
      // The write lock covers the whole database, so reading the head is enough.
      return new SqliteTransaction(
        this.#writeConnection,
        toHead(this.#writeConnection.get(SELECT_HEAD)),
        () => this.#truncateWal(),
      )
    } catch (error) {
      this.#writeConnection.run('ROLLBACK')
      throw error
    }
  }

  async runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await this.#beginImmediate()
    try {
      const value = await work(this.#writeConnection)
      this.#writeConnection.run('COMMIT')
      return value
    } catch (error) {
      if (this.#writeConnection.database.isTransaction) this.#writeConnection.run('ROLLBACK')
      throw error
    }
  }

  watch(onCommit: () => void): { stop(): void } {
    const readVersion = () => this.#writeConnection.get('PRAGMA data_version')?.data_version
    let lastVersion: SqlValue | undefined
    const timer = setInterval(() => {
      try {
        const currentVersion = readVersion()
        if (currentVersion === lastVersion) return
        lastVersion = currentVersion
        onCommit()
      } catch (error) {
        this.#log.warn({ err: error }, 'polling the database for changes failed')
      }
    }, POLL_INTERVAL_MS)
    timer.unref()
    return { stop: () => clearInterval(timer) }
  }

  async checkSpace(): Promise<void> {
    const { bfree, bavail, bsize } = await statfs(dirname(this.#file))
    // Some blocks are reserved for root.
    const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize
    if (free < MIN_FREE_BYTES)
      throw new StoreUnavailable(
        `The disk of the database ${this.#file} is full: ${free} bytes are free, and ${MIN_FREE_BYTES} are needed.`,
      )
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closeView()
    this.#closed = true
    this.#checkpoint()
    this.#writeConnection.database.close()
    this.#readConnection.database.close()
  }

  /**
   * A connection that reads the latest commit. Between transactions that is the write connection, whose page cache is
   * warm; the read connection would reload its pages after every commit. All reads of one event loop iteration share one
   * read transaction, since SQLite acquires and releases its file locks with system calls for each (decision 95).
   */
  #openView(): SqliteConnection {
    if (this.#viewOpen) return this.#writeConnection
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    if (this.#writeConnection.database.isTransaction) return this.#readConnection
    this.#writeConnection.run('BEGIN')
    this.#viewOpen = true
    setImmediate(this.#closeView)
    return this.#writeConnection
  }

  /** The read connection has the small cache. */
  #scanConnection(): SqliteConnection {
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    return this.#readConnection
  }

  #closeView = (): void => {
    if (!this.#viewOpen) return
    this.#viewOpen = false
    try {
      this.#writeConnection.run('COMMIT')
    } catch (error) {
      this.#log.warn({ err: error }, 'ending a read transaction failed')
    }
  }

  /** Waits for the transaction of another process without blocking the event loop, as SQLite's busy timeout would. */
  async #beginImmediate(): Promise<void> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    for (;;) {
      try {
        this.#closeView()
        this.#writeConnection.run('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        await delay(1 + Math.random() * 9)
      }
    }
  }

  /**
   * Checkpoints the log, and keeps the log and its index allocated for the next start, which needs them even on a full
   * disk (decision 140). SQLite deletes them with the last connection, unless that connection is read-only and has been
   * used.
   */
  #checkpoint(): void {
    try {
      this.#writeConnection.get('PRAGMA wal_checkpoint(PASSIVE)')
      this.#readConnection.get('SELECT 1 FROM sqlite_schema')
    } catch (error) {
      this.#log.warn({ err: error }, 'write-ahead log not checkpointed at close')
    }
  }

  /** SQLite checkpoints automatically, but never truncates the log, and not past pages that others still read. */
  #truncateWal(): void {
    try {
      if (statSync(`${this.#file}-wal`).size > MAX_WAL_BYTES)
        this.#writeConnection.get('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      this.#log.warn({ err: error }, 'write-ahead log not truncated')
    }
  }
}

function openWriteConnection(file: string, durable: boolean): SqliteConnection {
  // No busy timeout: it would block the event loop (see #beginImmediate).
  const database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
  const connection = new SqliteConnection(database)
  try {
    // The first switch to WAL needs exclusive access to the file, so waiting is right here.
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const journal = connection.get('PRAGMA journal_mode = WAL')?.journal_mode
    if (journal !== 'wal') throw new Error(`its journal mode is ${journal} and cannot be made wal`)
    // Savepoint journals stay in memory: nothing is written outside of the data directory (P61).
    database.exec(`PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -${WRITER_CACHE_KIB};
      PRAGMA journal_size_limit = ${MAX_WAL_BYTES}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    // Anything less may lose acknowledged writes in a power failure (P2).
    const synchronous = connection.get('PRAGMA synchronous')?.synchronous
    if (synchronous !== 2) throw new Error(`it reports synchronous=${synchronous} instead of FULL`)
    if (!durable) database.exec(`PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${COPY_CACHE_KIB}`)
    database.exec('PRAGMA busy_timeout = 0')
  } catch (error) {
    database.close()
    throw error
  }
  return connection
}

function openReadConnection(file: string): SqliteConnection {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  database.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`)
  return new SqliteConnection(database)
}

class SqliteConnection implements Sql {
  readonly database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #tupleStatements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.database = database
  }

  get(text: string, ...values: SqlValue[]): SqlRecord | undefined {
    try {
      return this.#statement(text).get(...values) as SqlRecord | undefined
    } catch (error) {
      throw translateError(error)
    }
  }

  all(text: string, ...values: SqlValue[]): SqlRecord[] {
    try {
      return this.#statement(text).all(...values) as SqlRecord[]
    } catch (error) {
      throw translateError(error)
    }
  }

  tuples(text: string, ...values: SqlValue[]): SqlValue[][] {
    try {
      let statement = this.#tupleStatements.get(text)
      if (!statement) {
        statement = this.database.prepare(text)
        statement.setReturnArrays(true)
        this.#tupleStatements.set(text, statement)
      }
      // The types of Node do not know what setReturnArrays changes.
      const rows: unknown[] = statement.all(...values)
      return rows as SqlValue[][]
    } catch (error) {
      throw translateError(error)
    }
  }

  scan(text: string, ...values: SqlValue[]): SqlValue[][] {
    return this.tuples(text, ...values)
  }

  run(text: string, ...values: SqlValue[]): number {
    try {
      return Number(this.#statement(text).run(...values).changes)
    } catch (error) {
      throw translateError(error)
    }
  }

  apply(...changes: SqlChange[]): number[] {
    return changes.map((change) => {
      if ('text' in change) return this.run(change.text, ...change.values)
      const { table, columns, rows, conflict = '' } = change
      const placeholders = columns.map(() => '?').join(', ')
      const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders}) ${conflict}`
      let inserted = 0
      for (const row of rows) inserted += this.run(text, ...row)
      return inserted
    })
  }

  #statement(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (!statement) {
      statement = this.database.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}

class SqliteTransaction implements WriteTransaction {
  readonly #connection: SqliteConnection
  readonly #onCommit: () => void
  readonly head: Head
  #hasSavepoint = false

  constructor(connection: SqliteConnection, head: Head, onCommit: () => void) {
    this.#connection = connection
    this.head = head
    this.#onCommit = onCommit
  }

  get(text: string, ...values: SqlValue[]): SqlRecord | undefined {
    return this.#connection.get(text, ...values)
  }

  all(text: string, ...values: SqlValue[]): SqlRecord[] {
    return this.#connection.all(text, ...values)
  }

  tuples(text: string, ...values: SqlValue[]): SqlValue[][] {
    return this.#connection.tuples(text, ...values)
  }

  scan(text: string, ...values: SqlValue[]): SqlValue[][] {
    return this.#connection.scan(text, ...values)
  }

  run(text: string, ...values: SqlValue[]): number {
    return this.#connection.run(text, ...values)
  }

  apply(...changes: SqlChange[]): number[] {
    return this.#connection.apply(...changes)
  }

  /** The monotonic clock of the machine, which all processes on this file share and which cannot be set (P54). */
  now(): number {
    return Number(process.hrtime.bigint() / 1_000_000n)
  }

  savepoint(): void {
    // One at a time: SQLite copies every page touched under a savepoint once for each open savepoint.
    if (this.#hasSavepoint) this.#connection.run('RELEASE call')
    this.#connection.run('SAVEPOINT call')
    this.#hasSavepoint = true
  }

  rollbackToSavepoint(): void {
    this.#connection.run('ROLLBACK TO call')
  }

  async commit(): Promise<void> {
    this.#connection.run('COMMIT')
    this.#onCommit()
  }

  async rollback(): Promise<void> {
    // A full disk or a failed read has already ended the transaction.
    if (!this.#connection.database.isTransaction) return
    try {
      this.#connection.run('ROLLBACK')
    } catch {
      // SQLite rolls it back when the file is next opened for writing.
    }
  }
}

interface SqliteError extends Error {
  readonly errcode: number
}

// Primary result codes: https://sqlite.org/rescode.html
const BUSY = 5
const CORRUPT = 11
const FULL = 13
const NOT_A_DATABASE = 26
const UNAVAILABLE_REASONS: Readonly<Record<number, string>> = {
  [BUSY]: 'another process has held it for too long',
  6: 'another process has locked it',
  7: 'there is not enough memory',
  8: 'it is read-only',
  9: 'the operation was interrupted',
  10: 'reading or writing it failed',
  [CORRUPT]: 'its file is damaged',
  [FULL]: 'the disk is full',
  14: 'its file cannot be opened',
  15: 'its lock files cannot be used',
  [NOT_A_DATABASE]: 'its file is not a database',
}

function translateError(error: unknown): unknown {
  const { code, errcode, message } = error as SqliteError & { code?: string }
  if (code === 'ERR_INVALID_STATE') return new StoreUnavailable('The store is closed.')
  const reason = code === 'ERR_SQLITE_ERROR' ? UNAVAILABLE_REASONS[errcode & 0xff] : undefined
  if (reason === undefined) return error
  return new StoreUnavailable(`The database cannot be used: ${reason} (${message}).`, { cause: error })
}

function isBusy(error: unknown): boolean {
  return primaryResultCode(error) === BUSY
}

/** Whether a write to a database or a plain file failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return primaryResultCode(error) === FULL || code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
}

/** Whether a failure comes from the machine (memory, disk, permissions, locks) and not from the content of the file. */
export function isEnvironmentError(error: unknown): boolean {
  const code = primaryResultCode(error)
  return code !== undefined && code in UNAVAILABLE_REASONS && code !== CORRUPT && code !== NOT_A_DATABASE
}

/** The primary result code of the SQLite error that caused this one, if any. */
function primaryResultCode(error: unknown): number | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { errcode } = cause as Partial<SqliteError>
    if (errcode !== undefined) return errcode & 0xff
  }
  return undefined
}
