import { failpoint } from '../base/failpoint.ts'
import { auditChanges } from './audit.ts'
import { CHANGE_COLUMNS } from './changes.ts'
import type {
  Engine,
  Eventually,
  Head,
  Sql,
  SqlChange,
  SqlRecord,
  SqlValue,
  WriteTransaction,
} from './sql.ts'
import { StoreUnavailable } from './store.ts'
import type { Group } from './transaction.ts'

const MAX_CALLS_IN_GROUP = 64
const MAX_GROUP_MS = 20
const MAX_CALL_MS = 5_000
const MAX_WAITING = 10_000
const MAX_CHAINS = 1_000

/** What a call may use: statements that end with it, and the group it joins. */
export type CallBody<T> = (sql: CallSql, group: Group) => Promise<T>

interface Call {
  readonly body: CallBody<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs write calls one after the other and lets those that wait together share one commit, and so one flush to disk.
 * Each call has a savepoint of its own: a call that throws takes back its own writes alone. Nobody gets an answer,
 * not even a refusal, before the group is durable, since a refusal may rest on what an earlier call has written.
 */
export class WriteQueue {
  readonly #engine: Engine
  readonly #onCommit: () => void
  readonly #waiting: Call[] = []
  #last: Group | undefined
  #draining: Promise<void> | undefined
  #closed = false
  #failure: StoreUnavailable | undefined

  constructor(engine: Engine, onCommit: () => void) {
    this.#engine = engine
    this.#onCommit = onCommit
  }

  /** Why the last group could not be made durable; undefined once one was. */
  get failure(): StoreUnavailable | undefined {
    return this.#failure
  }

  submit<T>(body: CallBody<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('The store is closed.'))
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new StoreUnavailable('Too many writes are waiting for the database; try again shortly.'),
      )
    }
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ body, resolve: resolve as (value: unknown) => void, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Refuses new calls and waits for those under way. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#draining
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whoever was just answered, or has arrived on a socket meanwhile, may still join the next group.
      await new Promise(setImmediate)
      await this.#runGroup()
    }
    this.#draining = undefined
  }

  async #runGroup(): Promise<void> {
    let session: WriteTransaction
    try {
      session = await this.#engine.begin()
    } catch (error) {
      this.#failure = unavailable(error)
      for (const call of this.#waiting.splice(0)) call.reject(this.#failure)
      return
    }
    failpoint('store.group.begun')
    const group = this.#beginGroup(session.head)
    const taken: Call[] = []
    const answers: (() => void)[] = []
    let wrote = false
    try {
      const started = performance.now()
      while (
        this.#waiting.length > 0 &&
        taken.length < MAX_CALLS_IN_GROUP &&
        (taken.length === 0 || performance.now() - started < MAX_GROUP_MS)
      ) {
        const call = this.#waiting.shift()!
        taken.push(call)
        const ran = await runCall(session, group, call)
        answers.push(ran.answer)
        wrote ||= ran.wrote
      }
      await finishGroup(session, group)
    } catch (error) {
      await session.rollback()
      this.#last = undefined
      // Whoever finds the database unusable speaks for the whole group: nothing of it remains.
      this.#failure = unavailable(error)
      for (const call of taken) call.reject(this.#failure)
      return
    }
    failpoint('store.group.committed')
    this.#last = group
    // A commit of reads alone proves nothing.
    if (wrote) this.#failure = undefined
    for (const answer of answers) answer()
    failpoint('store.group.answered')
    if (group.changes.length > 0) this.#onCommit()
  }

  /** A group begins with the chain ends the last one left, as long as nobody else has written in between. */
  #beginGroup({ revision, audits }: Head): Group {
    const last = this.#last
    const alone = last?.revision === revision && last.auditCount === audits && last.chains.size < MAX_CHAINS
    return { revision, auditCount: audits, chains: alone ? last.chains : new Map(), changes: [], audits: [] }
  }
}

/** Runs one call; tells how to answer it once the group is durable. Throws only when the database fails. */
async function runCall(
  session: WriteTransaction,
  group: Group,
  call: Call,
): Promise<{ answer: () => void; wrote: boolean }> {
  const sql = new CallSql(session)
  try {
    const value = await within(MAX_CALL_MS, call.body(sql, group))
    sql.end()
    if (sql.failure) throw sql.failure
    return { answer: () => call.resolve(value), wrote: sql.changed }
  } catch (error) {
    sql.end()
    if (sql.failure) throw sql.failure
    await sql.undo()
    return { answer: () => call.reject(error), wrote: false }
  }
}

/** Writes what the calls have gathered and commits, in one go where the engine can. */
async function finishGroup(session: WriteTransaction, group: Group): Promise<void> {
  const { changes, audits, revision, auditCount } = group
  const work: SqlChange[] = []
  if (changes.length > 0) work.push({ table: 'changes', columns: CHANGE_COLUMNS, rows: changes })
  if (audits.length > 0) work.push(...auditChanges(audits))
  if (revision > session.head.revision || auditCount > session.head.audits) {
    work.push({ text: 'UPDATE head SET revision = ?, audits = ?', values: [revision, auditCount] })
  }
  const gathered = session.apply(...work)
  // The commit speaks for what was sent before it, also when the answers are lost on the way.
  if (gathered instanceof Promise) gathered.catch(() => {})
  failpoint('store.group.gathered')
  await session.commit(revision > session.head.revision)
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable(`The write took longer than ${ms / 1000} s.`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  return new StoreUnavailable(`The database could not make the write durable: ${(error as Error).message}`, {
    cause: error,
  })
}

/** The statements of one call: marks where it began before its first change, and refuses use after its end. */
export class CallSql implements Sql {
  readonly #session: WriteTransaction
  #marked = false
  #ended = false
  /** Set once the database itself has failed, whatever the call makes of the error. */
  failure: StoreUnavailable | undefined

  constructor(session: WriteTransaction) {
    this.#session = session
  }

  get(text: string, ...values: SqlValue[]): Eventually<SqlRecord | undefined> {
    return this.#watch(() => this.#session.get(text, ...values))
  }

  all(text: string, ...values: SqlValue[]): Eventually<SqlRecord[]> {
    return this.#watch(() => this.#session.all(text, ...values))
  }

  lists(text: string, ...values: SqlValue[]): Eventually<SqlValue[][]> {
    return this.#watch(() => this.#session.lists(text, ...values))
  }

  run(text: string, ...values: SqlValue[]): Eventually<number> {
    return this.#watch(() => {
      this.#mark()
      return this.#session.run(text, ...values)
    })
  }

  apply(...changes: SqlChange[]): Eventually<number[]> {
    return this.#watch(() => {
      this.#mark()
      return this.#session.apply(...changes)
    })
  }

  now(): Eventually<number> {
    return this.#watch(() => this.#session.now())
  }

  /** Whether the call has changed anything so far. */
  get changed(): boolean {
    return this.#marked
  }

  end(): void {
    this.#ended = true
  }

  async undo(): Promise<void> {
    if (this.#marked) await this.#session.rollbackToSavepoint()
  }

  #mark(): void {
    if (this.#marked) return
    this.#marked = true
    const marking = this.#session.savepoint()
    // The statement that follows on the same connection fails if this one does, and tells.
    if (marking instanceof Promise) marking.catch(() => {})
  }

  #watch<T>(statement: () => Eventually<T>): Eventually<T> {
    if (this.#ended)
      throw new Error('This transaction is over; its statements must be awaited before it ends.')
    try {
      const answer = statement()
      return answer instanceof Promise ? answer.catch((error: unknown) => this.#fail(error)) : answer
    } catch (error) {
      return this.#fail(error)
    }
  }

  #fail(error: unknown): never {
    if (error instanceof StoreUnavailable) this.failure ??= error
    throw error
  }
}
