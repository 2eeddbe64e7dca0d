import { chmodSync, closeSync, openSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createDirectory } from '../../../base/process/create-directory.ts'
import type { Logger } from '../../../base/process/log.ts'
import { usableMemory } from '../../../base/process/usable-memory.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import { StoreUnavailable } from '../../store.ts'
import type { Migrator } from '../migrations.ts'
import type { Dialect, Engine, Sql, SqlChange, SqlRecord, SqlValue, WriteTransaction } from '../sql.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { LEASE_CLOCK, MAX_WAL_BYTES } from './sqlite-writer.ts'
import { SqliteWriterThread } from './sqlite-writer-thread.ts'

/** The name of the embedded database in the data directory. */
export const DATABASE_FILE = 'adit.db'

// Only a start waits: for another process that starts at the same time.
const OPEN_TIMEOUT_MS = 5_000
const POLL_INTERVAL_MS = 200
/** Also without a commit, to notice a database that cannot be read. */
const LOOK_INTERVAL_MS = 2_000
// Decision 95: holds the working set of a million resources; most databases are a hundredth of that.
const MAX_READER_CACHE_KIB = 448 * 1024
/** Each process caches pages, of which the system has one more copy for all. */
const READER_SHARE_OF_MEMORY = 1 / 16
const SCANNER_CACHE_KIB = 8 * 1024
/** After this long without a commit the log is checkpointed, if it is larger than `MAX_IDLE_WAL_BYTES`. */
const IDLE_MS = 1_000
const MAX_IDLE_WAL_BYTES = 256 * 1024
// Below this the next commit group may not fit.
const MIN_FREE_BYTES = 1024 * 1024

/** The dialect of SQLite. */
export const sqliteDialect: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  clustered: ' WITHOUT ROWID',
  wallClock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  leaseClock: `${LEASE_CLOCK}()`,
  findTable: "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
  unnest: 'SELECT value FROM json_each(?)',
  jsonRow: 'json_array',
  jsonRows: 'json_group_array',
  digest: (text) => text,
  lockRows: '',
}

/**
 * An embedded database in one file. Reads are answered at once in the calling thread, and never wait for a write: in WAL mode
 * they see the last commit. What writes runs in a thread of its own, which waits for the disk and for other processes.
 */
export class SqliteEngine implements Engine, Migrator {
  readonly dialect = sqliteDialect
  readonly reader: Sql
  readonly #file: string
  readonly #log: Logger
  readonly #writer: SqliteWriterThread
  readonly #readConnection: SqliteConnection
  readonly #scanConnection: SqliteConnection

  #closed = false
  #viewOpen = false
  #idleTimer: NodeJS.Timeout | undefined

  /**
   * Without `durable`, commits survive a crash of the process but not always a power failure. `hasHighWaterMark`: the database
   * has a head, whose high-water mark is kept beside it.
   */
  constructor(file: string, log: Logger, { durable = true, hasHighWaterMark = false } = {}) {
    this.#file = file
    this.#log = log
    this.#writer = new SqliteWriterThread({ file, durable, hasHighWaterMark })
    try {
      createDirectory(dirname(file), 0o700)
      // Created here and not by SQLite, so that neither the file nor its log is ever readable by others.
      closeSync(openSync(file, 'a', 0o600))
      chmodSync(file, 0o600)
      this.#readConnection = openReadConnection(file, readerCacheKib(usableMemory()))
      this.#scanConnection = openReadConnection(file, SCANNER_CACHE_KIB)
    } catch (error) {
      throw new StoreUnavailable(`The database ${file} cannot be used: ${errorMessage(error)}.`, {
        cause: error,
      })
    }
    this.reader = {
      get: (text, ...values) => this.#openView().get(text, ...values),
      all: (text, ...values) => this.#openView().all(text, ...values),
      tuples: (text, ...values) => this.#openView().tuples(text, ...values),
      // Its own small cache leaves the other to what is read again.
      scan: (text, ...values) => this.#scanConnection.tuples(text, ...values),
      run: (text, ...values) => this.#readConnection.run(text, ...values),
      apply: (...changes) => this.#readConnection.apply(...changes),
    }
  }

  async begin(): Promise<WriteTransaction> {
    const head = await this.#writer.call('begin')
    return new SqliteTransaction(this.#writer, head, (logBytes) => this.#onCommit(logBytes))
  }

  async runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await this.#writer.call('beginExclusive')
    try {
      const value = await work(new SqliteWriterSql(this.#writer))
      this.#onCommit(await this.#writer.call('commit'))
      return value
    } catch (error) {
      await this.#writer.call('rollback').catch(() => {})
      throw error
    }
  }

  watch(statement: string, onOutcome: (outcome: SqlRecord | Error) => void): { stop(): void } {
    let lastVersion: SqlValue | undefined
    let lookedAt = 0
    const look = () => {
      try {
        const version = this.#readConnection.get('PRAGMA data_version')?.data_version
        if (version === lastVersion && performance.now() - lookedAt < LOOK_INTERVAL_MS) return
        lastVersion = version
        lookedAt = performance.now()
        onOutcome(this.reader.get(statement) as SqlRecord)
      } catch (error) {
        onOutcome(error as Error)
      }
    }
    look()
    const timer = setInterval(look, POLL_INTERVAL_MS)
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

  /**
   * Keeps the log and its index for the next start, which needs them even on a full disk (decision 140): SQLite deletes them
   * with the last connection, unless that connection is read-only and has been used.
   */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#idleTimer)
    this.#closeView()
    await this.#checkpoint()
    await this.#writer.close().catch(() => {})
    this.#readConnection.database.close()
    this.#scanConnection.database.close()
  }

  /**
   * All reads of one event loop iteration share one read transaction, since SQLite acquires and releases its file locks with
   * system calls for each (decision 95).
   */
  #openView(): SqliteConnection {
    if (this.#viewOpen) return this.#readConnection
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    this.#readConnection.run('BEGIN')
    this.#viewOpen = true
    setImmediate(this.#closeView)
    return this.#readConnection
  }

  #closeView = (): void => {
    if (!this.#viewOpen) return
    this.#viewOpen = false
    try {
      this.#readConnection.run('COMMIT')
    } catch (error) {
      this.#log.warn({ err: error }, 'ending a read transaction failed')
    }
  }

  #onCommit(logBytes: number): void {
    // The view may be older than the commit.
    this.#closeView()
    clearTimeout(this.#idleTimer)
    if (this.#closed || logBytes <= MAX_IDLE_WAL_BYTES) return
    if (logBytes > MAX_WAL_BYTES) void this.#checkpoint()
    else this.#idleTimer = setTimeout(() => void this.#checkpoint(), IDLE_MS).unref()
  }

  async #checkpoint(): Promise<void> {
    try {
      await this.#writer.call('checkpoint')
    } catch (error) {
      this.#log.warn({ err: error }, 'write-ahead log not checkpointed')
    }
  }
}

/** What the connection that reads may cache on a machine with so many bytes of memory. */
export function readerCacheKib(memory: number): number {
  return Math.min(MAX_READER_CACHE_KIB, Math.floor((memory * READER_SHARE_OF_MEMORY) / 1024))
}

function openReadConnection(file: string, cacheKib: number): SqliteConnection {
  const database = new DatabaseSync(file, { readOnly: true, timeout: OPEN_TIMEOUT_MS })
  try {
    database.exec(`PRAGMA cache_size = -${cacheKib}; SELECT 1 FROM sqlite_schema`)
    return new SqliteConnection(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/** The statements of a transaction, which the thread of the writer runs in order. */
class SqliteWriterSql implements Sql {
  protected readonly writer: SqliteWriterThread

  constructor(writer: SqliteWriterThread) {
    this.writer = writer
  }

  get(text: string, ...values: SqlValue[]): Promise<SqlRecord | undefined> {
    return this.writer.call('get', text, ...values)
  }

  all(text: string, ...values: SqlValue[]): Promise<SqlRecord[]> {
    return this.writer.call('all', text, ...values)
  }

  tuples(text: string, ...values: SqlValue[]): Promise<SqlValue[][]> {
    return this.writer.call('tuples', text, ...values)
  }

  scan(text: string, ...values: SqlValue[]): Promise<SqlValue[][]> {
    return this.writer.call('scan', text, ...values)
  }

  run(text: string, ...values: SqlValue[]): Promise<number> {
    return this.writer.call('run', text, ...values)
  }

  apply(...changes: SqlChange[]): Promise<number[]> {
    return this.writer.call('apply', ...changes)
  }
}

class SqliteTransaction extends SqliteWriterSql implements WriteTransaction {
  readonly head: WriteTransaction['head']
  readonly connection: object
  readonly #onCommit: (logBytes: number) => void

  constructor(
    writer: SqliteWriterThread,
    head: WriteTransaction['head'],
    onCommit: (logBytes: number) => void,
  ) {
    super(writer)
    this.head = head
    this.connection = writer
    this.#onCommit = onCommit
  }

  savepoint(): Promise<void> {
    return this.writer.call('savepoint')
  }

  rollbackToSavepoint(): Promise<void> {
    return this.writer.call('rollbackToSavepoint')
  }

  async commit(): Promise<void> {
    this.#onCommit(await this.writer.call('commit'))
  }

  async rollback(): Promise<void> {
    await this.writer.call('rollback').catch(() => {})
  }
}
