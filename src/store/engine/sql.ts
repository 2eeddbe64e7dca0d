import type { MaybePromise } from '../../base/values/maybe-promise.ts'

/** A column value in either engine. */
export type SqlValue = string | number | null

/** One row of a result, by column name. */
export type SqlRecord = Readonly<Record<string, SqlValue>>

/**
 * Statements that both engines understand. Parameters are written `?` and bound in order. The embedded engine returns
 * results synchronously, PostgreSQL over a socket.
 */
export interface Sql {
  get(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord | undefined>
  all(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord[]>
  /** Like `all`, with each row as an array of values in column order: half the cost when reading many rows. */
  tuples(text: string, ...values: SqlValue[]): MaybePromise<SqlValue[][]>
  /** Like `tuples`, for whole tables, page by page: leaves the cache to what is read again. */
  scan(text: string, ...values: SqlValue[]): MaybePromise<SqlValue[][]>
  /** Runs a data-changing statement; returns the number of rows changed. */
  run(text: string, ...values: SqlValue[]): MaybePromise<number>
  /**
   * Applies several independent changes in as few round trips as the engine can; returns the number of rows changed by
   * each.
   */
  apply(...changes: SqlChange[]): MaybePromise<number[]>
}

/** A text and the values that are bound to it. */
export type Statement = readonly [text: string, ...values: SqlValue[]]

/** A data-changing statement, or rows to insert; `conflict` is the ON CONFLICT clause for existing rows. */
export type SqlChange =
  | { readonly text: string; readonly values: readonly SqlValue[] }
  | {
      readonly table: string
      readonly columns: readonly string[]
      readonly rows: readonly (readonly SqlValue[])[]
      readonly conflict?: string
    }

/** The state of the store: the single row that every writer locks first. */
export interface Head {
  /** The last revision assigned. */
  readonly revision: number
  /** Changes up to this revision have been deleted. */
  readonly pruned: number
  /** The number of audit records in all accounts. */
  readonly audits: number
}

/** How far a reader has come in which history. */
export interface Position {
  /** Empty in a database of an earlier release. */
  readonly history: string
  readonly revision: number
}

/** The SQL fragments that differ between the engines. */
export interface Dialect {
  /** Text that compares by bytes, so that both engines sort ids identically. */
  readonly text: string
  readonly integer: string
  /** Table suffix for storage in primary key order. */
  readonly clustered: string
  /** Returns a row whose name is not null if there is a table with the name that is bound. */
  readonly findTable: string
  /** The database's wall clock in milliseconds since 1970: for periods that outlast a restart of the machine. */
  readonly wallClock: string
  /** The clock of leases in milliseconds, which nobody sets while they run: the same for every process on this database (P54). */
  readonly leaseClock: string
  /** Subquery over the strings of a JSON array that is bound as one parameter. */
  readonly unnest: string
  /** The functions that make a JSON array of the columns of a row, and one of all rows. */
  readonly jsonRow: string
  readonly jsonRows: string
  /** A short text that differs when the text of this expression does; the text itself where that costs nothing. */
  digest(text: string): string
  /** Ends a query whose rows stay as they are until the transaction ends: empty where a writer excludes all others. */
  readonly lockRows: string
}

/** Runs one statement, such as the renewal of a lease, that need not wait for the writers of other processes. */
export type Beat = <T>(statement: (sql: Sql) => MaybePromise<T>) => Promise<T>

/** Runs a read on the database, or on the fallback copy while the database is unavailable. */
export type Query = <T>(read: (sql: Sql) => MaybePromise<T>) => Promise<T>

/** What the history of the database has if a transaction was committed. */
export interface CommitTrace {
  /** The revision after it. */
  readonly revision: number
  /** The identity of the epoch that it begins, if it does. */
  readonly epoch: string | undefined
}

/** One write transaction of the engine, shared by the calls of a commit group. */
export interface WriteTransaction extends Sql {
  /** The head at the start of this transaction, locked until it ends. */
  readonly head: Head & Position
  /** The same for all transactions of one connection to the database. */
  readonly connection: object
  savepoint(): MaybePromise<void>
  rollbackToSavepoint(): MaybePromise<void>
  /**
   * Resolves once everything is durable, including statements still in flight. `announced`: other processes wait for it.
   * `written` tells afterwards whether a commit took effect whose response was lost.
   */
  commit(announced: boolean, written?: CommitTrace): Promise<void>
  /** Never throws: the transaction has ended afterwards, whatever the state of the database. */
  rollback(): Promise<void>
}

/** A database behind the store. */
export interface Engine {
  readonly dialect: Dialect
  /** Reads the latest commit. */
  readonly reader: Sql
  /** Runs each statement in a transaction of its own, beside the one of a writer. Absent where a writer excludes all others. */
  readonly autocommit?: Sql
  /**
   * Begins the only write transaction; throws `StoreUnavailable` when it cannot. `firstReads` are what it is about to read: over
   * a socket they take no round trip of their own.
   */
  begin(firstReads?: readonly Statement[]): Promise<WriteTransaction>
  /**
   * Runs a statement now, at once after a commit that others wait for, and every few seconds, and hands over the row that it
   * returns, or why it failed.
   */
  watch(statement: string, onOutcome: (outcome: SqlRecord | Error) => void): { stop(): void }
  /** Throws `StoreUnavailable` when the disk is full. Absent where the disk is on another machine. */
  checkSpace?(): Promise<void>
  close(): Promise<void>
}

/** Does not wait for statements: the commit fails if one of them does. */
export function leaveToCommit(statements: MaybePromise<unknown>): void {
  if (statements instanceof Promise) statements.catch(() => {})
}
