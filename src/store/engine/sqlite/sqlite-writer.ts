import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { SELECT_HEAD, SELECT_POSITION, toHead, toPosition } from '../changes.ts'
import type { Head, Position, SqlValue } from '../sql.ts'
import { HighWaterMarkWriter } from './high-water-mark.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { isBusy } from './sqlite-errors.ts'

/** The log is truncated when it is larger. */
export const MAX_WAL_BYTES = 32 * 1024 * 1024

/** An SQL function: the monotonic clock of the machine, which all processes on a file share and which cannot be set (P54). */
export const LEASE_CLOCK = 'lease_clock'

// Longer than a few other processes on a slow disk need for one commit each.
const BUSY_TIMEOUT_MS = 30_000
// 16 MiB: small enough to bound the log, large enough that a page changed many times is checkpointed once.
const CHECKPOINT_PAGES = 4_096
// More saves no CPU time, even in a database of 300,000 rows: the system caches the file too.
const CACHE_KIB = 4 * 1024

export interface SqliteWriterOptions {
  readonly file: string
  /** Without, commits survive a crash of the process but not always a power failure. */
  readonly durable: boolean
  /** The database has a head, whose high-water mark is kept beside it. */
  readonly hasHighWaterMark: boolean
}

/**
 * The one connection of a process that writes to a database. It waits for the disk and for the locks of other processes, so
 * that it belongs in a thread of its own (`sqlite-writer-thread.ts`).
 */
export class SqliteWriter extends SqliteConnection {
  readonly #file: string
  readonly #mark: HighWaterMarkWriter | undefined
  #hasHead = false
  #hasSavepoint = false
  #failure: unknown
  /** Of the calls before this one. */
  #earlierFailure: unknown

  constructor({ file, durable, hasHighWaterMark }: SqliteWriterOptions) {
    super(openDatabase(file, durable))
    this.#file = file
    if (hasHighWaterMark) this.#mark = new HighWaterMarkWriter(file)
  }

  /** Begins a transaction once no other process has one. The write lock covers the whole database, so reading the head is enough. */
  begin(): Head & Position {
    this.beginExclusive()
    try {
      const head = toPosition(this.get(SELECT_POSITION))
      this.#hasHead = true
      return head
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  /** Begins a transaction in a database that may have no tables yet. */
  beginExclusive(): void {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    this.#hasSavepoint = false
    this.#failure = undefined
    this.#hasHead = false
    for (;;) {
      try {
        super.run('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        pause(1 + Math.random() * 9)
      }
    }
  }

  override run(text: string, ...values: SqlValue[]): number {
    try {
      return super.run(text, ...values)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  savepoint(): void {
    // One at a time: SQLite copies every page touched under a savepoint once for each open savepoint.
    if (this.#hasSavepoint) this.run('RELEASE call')
    this.run('SAVEPOINT call')
    this.#hasSavepoint = true
    this.#earlierFailure = this.#failure
  }

  rollbackToSavepoint(): void {
    this.run('ROLLBACK TO call')
    this.#failure = this.#earlierFailure
  }

  /** Commits, unless a statement has failed that the caller had not waited for. Returns the size of the log. */
  commit(): number {
    if (this.#failure !== undefined) throw this.#failure
    super.run('COMMIT')
    if (this.#hasHead) this.#mark?.write(toHead(this.get(SELECT_HEAD)))
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Ends the transaction, whatever the state of the database. */
  rollback(): void {
    // A full disk or a failed read has already ended the transaction.
    if (!this.database.isTransaction) return
    try {
      super.run('ROLLBACK')
    } catch {
      // SQLite rolls it back when the file is next opened for writing.
    }
  }

  /**
   * Moves the log into the database and empties it. SQLite checkpoints automatically, but never truncates the log, and not
   * past pages that others still read. Only the second step, which leaves nothing to wait for, excludes other writers.
   */
  checkpoint(): void {
    if (this.database.isTransaction) return
    this.get('PRAGMA wal_checkpoint(PASSIVE)')
    this.get('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  close(): void {
    this.#mark?.close()
    this.database.close()
  }
}

function openDatabase(file: string, durable: boolean): DatabaseSync {
  // The first switch to WAL needs exclusive access to the file, so SQLite's own waiting is right here.
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false })
  try {
    const read = (pragma: string) => database.prepare(`PRAGMA ${pragma}`).get()
    const journal = read('journal_mode = WAL')?.journal_mode
    if (journal !== 'wal') throw new Error(`its journal mode is ${journal} and cannot be made wal`)
    // Savepoint journals stay in memory: nothing is written outside of the data directory (P61).
    database.exec(`PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -${CACHE_KIB};
      PRAGMA journal_size_limit = ${MAX_WAL_BYTES}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    // Anything less may lose acknowledged writes in a power failure (P2).
    const synchronous = read('synchronous')?.synchronous
    if (synchronous !== 2) throw new Error(`it reports synchronous=${synchronous} instead of FULL`)
    if (!durable) database.exec('PRAGMA synchronous = NORMAL')
    database.function(LEASE_CLOCK, () => Number(process.hrtime.bigint() / 1_000_000n))
    // SQLite waits longer and longer between its attempts (see `beginExclusive`), and a checkpoint should not wait.
    database.exec('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Blocks this thread. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
