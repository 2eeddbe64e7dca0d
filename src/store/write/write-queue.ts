import { failpoint } from '../../base/process/failpoint.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import { CHANGE_COLUMNS, type Commit } from '../engine/changes.ts'
import { beginEpoch, type HistoryWatch } from '../engine/history.ts'
import {
  type Engine,
  leaveToCommit,
  type Position,
  type Sql,
  type SqlChange,
  type SqlRecord,
  type SqlValue,
  type Statement,
  type WriteTransaction,
} from '../engine/sql.ts'
import { StoreUnavailable } from '../store.ts'
import { auditChanges } from './audit.ts'
import type { CommitGroup } from './transaction.ts'

const MAX_CALLS_IN_GROUP = 64
const MAX_GROUP_MS = 20
const CALL_TIMEOUT_MS = 5_000
const MAX_QUEUED_CALLS = 10_000
// Longer than a commit takes on a slow disk, those of other processes before it included.
const MAX_GROUP_SECONDS = 30
const MAX_CACHED_CHAINS = 1_000
/** What followers read for themselves is larger, in characters. */
const MAX_COMMIT_SIZE = 256 * 1024

/** The body of a call: gets statements that are valid until it ends, and the group it joins. */
export type CallBody<T> = (sql: CallSql, group: CommitGroup) => Promise<T>

interface Call {
  readonly body: CallBody<unknown>
  /** What it reads first. */
  readonly firstReads: readonly Statement[]
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit: runs write calls in sequence, and calls that are queued together share one commit and so one flush to
 * disk. Each call has its own savepoint: a call that throws rolls back its own writes only. No call is settled before its
 * group is durable, not even a rejected one, since a rejection may depend on the writes of an earlier call (decision 25).
 */
export class WriteQueue {
  readonly #engine: Engine
  readonly #history: Pick<HistoryWatch, 'isAhead'>
  readonly #onCommit: (commit: Commit) => void
  readonly #pending: Call[] = []
  #lastGroup: CommitGroup | undefined
  /** The connection whose first write began the current epoch of this process. */
  #connection: object | undefined
  /** The last write found that the database lacks revisions that were seen. */
  #foundLoss = false
  #drainTask: Promise<void> | undefined
  #closed = false
  #failure: StoreUnavailable | undefined
  #groupStartedAt: number | undefined

  constructor(engine: Engine, history: Pick<HistoryWatch, 'isAhead'>, onCommit: (commit: Commit) => void) {
    this.#engine = engine
    this.#history = history
    this.#onCommit = onCommit
  }

  /** Why the last group could not be made durable; undefined after the next durable one. */
  get failure(): StoreUnavailable | undefined {
    return this.#failure
  }

  /**
   * What to say while the group in flight takes too long, on a disk that hangs or in a thread that does. Whether it is durable
   * is not known, so its calls are not settled, and what hangs is not ended.
   */
  get hang(): StoreUnavailable | undefined {
    const seconds = Math.floor((performance.now() - (this.#groupStartedAt ?? Infinity)) / 1000)
    if (seconds < MAX_GROUP_SECONDS) return undefined
    return new StoreUnavailable(`The database has not confirmed a write for ${seconds} s: its disk may hang.`)
  }

  submit<T>(body: CallBody<T>, firstReads: readonly Statement[] = []): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('The store is closed.'))
    const { hang } = this
    if (hang !== undefined) return Promise.reject(hang)
    if (this.#pending.length >= MAX_QUEUED_CALLS) {
      return Promise.reject(
        new StoreUnavailable('Too many writes are waiting for the database; try again shortly.'),
      )
    }
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ body, firstReads, resolve: resolve as (value: unknown) => void, reject })
      this.#drainTask ??= this.#drain()
    })
  }

  /** Rejects new calls and waits for those in flight. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#drainTask
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      // Callers just settled, and requests arriving on sockets, can still join the next group.
      await new Promise(setImmediate)
      this.#groupStartedAt = performance.now()
      await this.#runGroup()
      this.#groupStartedAt = undefined
    }
    this.#drainTask = undefined
  }

  async #runGroup(): Promise<void> {
    let transaction: WriteTransaction
    try {
      transaction = await this.#engine.begin(this.#pending[0]!.firstReads)
    } catch (error) {
      this.#failure = toUnavailable(error)
      for (const call of this.#pending.splice(0)) call.reject(this.#failure)
      return
    }
    failpoint('store.group.begun')
    // A dump may be restored under an open connection.
    const isLoss = this.#history.isAhead(transaction.head.revision)
    const beginsEpoch = transaction.connection !== this.#connection || (isLoss && !this.#foundLoss)
    // A database that took over may have other records under the same numbers.
    if (beginsEpoch) this.#lastGroup = undefined
    const group = this.#beginGroup(transaction.head)
    const calls: Call[] = []
    const replies: (() => void)[] = []
    let wrote = false
    let announced = false
    let to: Position
    try {
      const startedAt = performance.now()
      while (
        this.#pending.length > 0 &&
        calls.length < MAX_CALLS_IN_GROUP &&
        (calls.length === 0 || performance.now() - startedAt < MAX_GROUP_MS)
      ) {
        const call = this.#pending.shift()!
        calls.push(call)
        const result = await runCall(transaction, group, call)
        replies.push(result.reply)
        wrote ||= result.wrote
        announced ||= result.announced
      }
      to = await finishGroup(transaction, group, { beginsEpoch: wrote && beginsEpoch, announced })
    } catch (error) {
      await transaction.rollback()
      this.#lastGroup = undefined
      // A database failure in one call rolls back the whole group.
      this.#failure = toUnavailable(error)
      for (const call of calls) call.reject(this.#failure)
      return
    }
    failpoint('store.group.committed')
    this.#lastGroup = group
    // A commit without writes proves nothing.
    if (wrote) {
      this.#failure = undefined
      this.#connection = transaction.connection
      this.#foundLoss = isLoss
    }
    for (const reply of replies) reply()
    failpoint('store.group.answered')
    if (announced || group.changes.length > 0) this.#onCommit(describeCommit(transaction, group, to))
  }

  /** A group reuses the chain heads of the previous one unless another process has written in between. */
  #beginGroup({ revision, audits }: WriteTransaction['head']): CommitGroup {
    const lastGroup = this.#lastGroup
    const soleWriter =
      lastGroup?.revision === revision &&
      lastGroup.auditCount === audits &&
      lastGroup.chains.size < MAX_CACHED_CHAINS
    return {
      revision,
      auditCount: audits,
      chains: soleWriter ? lastGroup.chains : new Map(),
      changes: [],
      rows: new Map(),
      audits: [],
    }
  }
}

/** Runs one call; returns how to settle it once the group is durable. Throws only when the database fails. */
async function runCall(
  transaction: WriteTransaction,
  group: CommitGroup,
  call: Call,
): Promise<{ reply: () => void; wrote: boolean; announced: boolean }> {
  const sql = new CallSql(transaction)
  try {
    const value = await withTimeout(CALL_TIMEOUT_MS, call.body(sql, group))
    sql.end()
    if (sql.failure) throw sql.failure
    return { reply: () => call.resolve(value), wrote: sql.changed, announced: sql.announced }
  } catch (error) {
    sql.end()
    if (sql.failure) throw sql.failure
    await sql.rollback()
    return { reply: () => call.reject(error), wrote: false, announced: false }
  }
}

/** Writes the collected changes and audit records and commits, in one round trip where the engine can. */
async function finishGroup(
  transaction: WriteTransaction,
  group: CommitGroup,
  { beginsEpoch, announced }: { beginsEpoch: boolean; announced: boolean },
): Promise<Position> {
  const { changes, audits, revision, auditCount } = group
  const writes: SqlChange[] = []
  const epoch = beginsEpoch ? await beginEpoch(transaction, transaction.head.revision, Date.now()) : undefined
  if (epoch !== undefined) writes.push(epoch.change)
  if (changes.length > 0) writes.push({ table: 'changes', columns: CHANGE_COLUMNS, rows: changes })
  if (audits.length > 0) writes.push(...auditChanges(audits))
  if (revision > transaction.head.revision || auditCount > transaction.head.audits) {
    writes.push({ text: 'UPDATE head SET revision = ?, audits = ?', values: [revision, auditCount] })
  }
  leaveToCommit(transaction.apply(...writes))
  failpoint('store.group.gathered')
  await transaction.commit(announced || revision > transaction.head.revision, { revision, epoch: epoch?.id })
  return { history: epoch?.id ?? transaction.head.history, revision }
}

function describeCommit(
  { head: { history, revision } }: WriteTransaction,
  { rows, changes }: CommitGroup,
  to: Position,
): Commit {
  let size = 0
  for (const change of changes) for (const value of change) size += String(value).length
  return { from: { history, revision }, to, rows: size > MAX_COMMIT_SIZE ? undefined : [...rows.values()] }
}

/** Rejects with `StoreUnavailable` if the work of a write takes longer. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable(`The write took longer than ${ms / 1000} s.`)), ms)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function toUnavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  return new StoreUnavailable(`The database could not make the write durable: ${errorMessage(error)}`, {
    cause: error,
  })
}

/** The statements of one call: sets a savepoint before its first change, and rejects use after the call has ended. */
export class CallSql implements Sql {
  readonly #transaction: WriteTransaction
  #hasSavepoint = false
  #announced = false
  #ended = false
  /** Set once the database itself has failed, even if the call swallows the error. */
  failure: StoreUnavailable | undefined

  constructor(transaction: WriteTransaction) {
    this.#transaction = transaction
  }

  /** Tells other processes of the commit, at once: a change of a row is announced in any case. */
  announce(): void {
    this.#announced = true
  }

  get(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord | undefined> {
    return this.#execute(() => this.#transaction.get(text, ...values))
  }

  all(text: string, ...values: SqlValue[]): MaybePromise<SqlRecord[]> {
    return this.#execute(() => this.#transaction.all(text, ...values))
  }

  tuples(text: string, ...values: SqlValue[]): MaybePromise<SqlValue[][]> {
    return this.#execute(() => this.#transaction.tuples(text, ...values))
  }

  scan(text: string, ...values: SqlValue[]): MaybePromise<SqlValue[][]> {
    return this.#execute(() => this.#transaction.scan(text, ...values))
  }

  run(text: string, ...values: SqlValue[]): MaybePromise<number> {
    return this.#execute(() => {
      this.#ensureSavepoint()
      return this.#transaction.run(text, ...values)
    })
  }

  apply(...changes: SqlChange[]): MaybePromise<number[]> {
    return this.#execute(() => {
      this.#ensureSavepoint()
      return this.#transaction.apply(...changes)
    })
  }

  /** Whether the call has changed anything so far. */
  get changed(): boolean {
    return this.#hasSavepoint
  }

  get announced(): boolean {
    return this.#announced
  }

  end(): void {
    this.#ended = true
  }

  async rollback(): Promise<void> {
    if (this.#hasSavepoint) await this.#transaction.rollbackToSavepoint()
  }

  #ensureSavepoint(): void {
    if (this.#hasSavepoint) return
    this.#hasSavepoint = true
    const savepoint = this.#transaction.savepoint()
    // If this fails, the next statement on the same connection fails too and reports it.
    if (savepoint instanceof Promise) savepoint.catch(() => {})
  }

  #execute<T>(statement: () => MaybePromise<T>): MaybePromise<T> {
    if (this.#ended)
      throw new Error('This transaction is over; its statements must be awaited before it ends.')
    try {
      const result = statement()
      return result instanceof Promise ? result.catch((error: unknown) => this.#fail(error)) : result
    } catch (error) {
      return this.#fail(error)
    }
  }

  #fail(error: unknown): never {
    if (error instanceof StoreUnavailable) this.failure ??= error
    throw error
  }
}
