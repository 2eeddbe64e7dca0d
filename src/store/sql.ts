/** What a column can hold in either engine. */
export type SqlValue = string | number | null

/** One row of an answer, by column name. */
export type SqlRecord = Readonly<Record<string, SqlValue>>

/** An answer now or later: the embedded engine answers at once, the other over a socket. */
export type MaybePromise<T> = T | Promise<T>

/** The statements both engines understand. Parameters are written `?` and bound in order. */
export interface Sql {
  get(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord | undefined>
  all(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord[]>
  /** The same, each row as its values in the order of its columns: half the cost where many rows are read. */
  tuples(text: string, ...values: SqlValue[]): MaybePromise<SqlValue[][]>
  /** Runs a statement that changes something; answers with how many rows it changed. */
  run(text: string, ...values: SqlValue[]): MaybePromise<number>
  /**
   * Makes several changes that do not depend on each other, in as few steps as the engine can; answers with how many
   * rows each has changed.
   */
  apply(...changes: SqlChange[]): MaybePromise<number[]>
}

/** A statement that changes something, or rows to insert; `conflict` says what becomes of rows that exist already. */
export type SqlChange =
  | { readonly text: string; readonly values: readonly SqlValue[] }
  | {
      readonly table: string
      readonly columns: readonly string[]
      readonly rows: readonly (readonly SqlValue[])[]
      readonly conflict?: string
    }

/** Where the store stands: the one row that every writer locks first. */
export interface Head {
  /** The last revision given out. */
  readonly revision: number
  /** Up to here changes are no longer kept. */
  readonly pruned: number
  /** How many audit records there are, of all accounts. */
  readonly audits: number
}

/** The few places where the engines need other words for the same thing. */
export interface Dialect {
  /** Text that compares by bytes, so that both engines sort ids alike. */
  readonly text: string
  readonly integer: string
  /** Ends a table that is stored in the order of its primary key. */
  readonly clustered: string

  /** The database's wall clock in milliseconds since 1970: for spans that outlast a restart of the machine. */
  readonly wallClock: string
  /** A sub-select over a JSON array of strings given as one parameter. */
  readonly unnest: string
}

/** One write transaction of the engine, shared by the calls of a group. */
export interface WriteTransaction extends Sql {
  /** The head as this transaction found it; nobody else can change it before the transaction ends. */
  readonly head: Head
  /** Milliseconds by the clock that leases are judged by: the same for every process on this database. */
  now(): MaybePromise<number>
  savepoint(): MaybePromise<void>
  rollbackToSavepoint(): MaybePromise<void>
  /**
   * Resolves once everything is durable, also what was sent and not yet answered. `changed` tells whether followers
   * have something to read.
   */
  commit(changed: boolean): Promise<void>
  /** Never throws: the transaction is over afterwards, whatever state the database is in. */
  rollback(): Promise<void>
}

/** A database behind the store. */
export interface Engine {
  readonly dialect: Dialect
  /** Reads in the view of the latest commit. */
  readonly reader: Sql
  /** Begins the one write transaction; throws `StoreUnavailable` when it cannot. */
  begin(): Promise<WriteTransaction>
  /** Calls back when another process may have committed something. */
  watch(onCommit: () => void): { stop(): void }
  /** Throws `StoreUnavailable` when the disk beneath has no space left. Absent where another machine has the disk. */
  checkSpace?(): Promise<void>
  close(): Promise<void>
}
