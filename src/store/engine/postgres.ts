import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from '../../base/process/log.ts'
import { StoreUnavailable } from '../store.ts'
import { SELECT_POSITION, toPosition } from './changes.ts'
import { hasWritten } from './history.ts'
import type { Migrator } from './migrations.ts'
import { describeError, translateError } from './postgres-errors.ts'
import { PostgresTargets } from './postgres-targets.ts'
import {
  type CommitTrace,
  type Dialect,
  type Engine,
  leaveToCommit,
  type Sql,
  type SqlChange,
  type SqlRecord,
  type SqlValue,
  type Statement,
  type WriteTransaction,
} from './sql.ts'
import { UnsupportedDatabase } from './unsupported-database.ts'

const CONNECT_TIMEOUT_MS = 2_000
const READ_TIMEOUT_MS = 2_500
const LOCK_TIMEOUT_MS = 5_000
const WRITE_TIMEOUT_MS = 6_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 7_000
/** The database ends a statement this long before the client gives it up: an abandoned one would keep its backend. */
const STATEMENT_LEAD_MS = 250
const MIGRATION_TIMEOUT_MS = 60_000
/** A start that cannot do without the database waits longer for a busy one than a request does. */
const START_TIMEOUT_MS = 15_000
const SNAPSHOT_TIMEOUT_MS = 60_000
const OUTCOME_TIMEOUT_MS = 2_000
/** Only what a lost notification has announced waits for it. */
const POLL_INTERVAL_MS = 2_000
const KEEP_ALIVE_MS = 10_000
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 2_000
/** Connections for reads, of a process that has the database to itself. */
export const MAX_READERS = 8

const CHANNEL = 'adit_changes'
// An arbitrary number that no other program uses for advisory locks on the same database.
const MIGRATION_LOCK = 4_080_424_277
const MIN_SERVER_VERSION = 130_000
/** Identifies the run of a server: a transaction id of another one may be that of another transaction. */
const SERVER = 'extract(epoch FROM pg_postmaster_start_time())::text'
/** Two statements: while the first one waits for the lock, other processes write, and it sees only their head. */
const LOCK_HEAD = `SELECT 1 FROM head FOR UPDATE;
  ${SELECT_POSITION.replace(/ FROM head$/, `, pg_current_xact_id()::text AS id, ${SERVER} AS server FROM head`)}`

const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** The dialect of PostgreSQL. */
const postgresDialect: Dialect = {
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  clustered: '',
  wallClock: CLOCK,
  leaseClock: CLOCK,
  findTable: 'SELECT to_regclass(?)::text AS name',
  unnest: 'SELECT json_array_elements_text(?::json) COLLATE "C"',
  jsonRow: 'json_build_array',
  jsonRows: 'json_agg',
  digest: (text) => `md5(${text})`,
  lockRows: 'FOR UPDATE',
}

/** A PostgreSQL database: one write connection, a pool of read connections, and one that listens for commits of other processes. */
export class PostgresEngine implements Engine, Migrator {
  readonly dialect = postgresDialect
  readonly reader: Sql
  readonly autocommit: Sql
  readonly #config: pg.ClientConfig
  readonly #log: Logger
  readonly #texts = new PreparedTexts()
  readonly #targets: PostgresTargets
  readonly #maxReaders: number
  #pool: pg.Pool
  /** The server whose connections are in the pool. */
  #pooledTarget: pg.ClientConfig
  readonly #startTimeoutMs: number
  readonly #silence = new Silence()
  #writer: Promise<pg.Client> | undefined
  #hasOwnSessions = false
  #closed = false

  /** `hasFallback`: a start can do without the database, and does not wait for one that accepts connections in silence. */
  constructor(url: string, log: Logger, { maxReaders = MAX_READERS, hasFallback = false } = {}) {
    this.#log = log
    this.#startTimeoutMs = hasFallback ? CONNECT_TIMEOUT_MS : START_TIMEOUT_MS
    this.#targets = new PostgresTargets(url)
    this.#maxReaders = maxReaders
    this.#config = {
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // A connection that is idle for long must not be found dead by the call that needs it.
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'adit',
      types: { getTypeParser },
    }
    this.#pooledTarget = this.#targets.current
    this.#pool = this.#createPool()
    this.reader = new PostgresSql(() => this.#pool, this.#texts, this.#silence)
    this.autocommit = this.reader
  }

  async begin(firstReads: readonly Statement[] = []): Promise<WriteTransaction> {
    const client = await this.#writerClient()
    try {
      // The lock on the head row makes this the only writer, so that revisions commit in order. No prepared statements
      // here: several statements in one text take one round trip.
      const begun = command(client, `BEGIN ISOLATION LEVEL READ COMMITTED; ${LOCK_HEAD}`)
      // In the same round trip. Each statement sees what was committed before it, and so after the lock was taken.
      const answers = new FirstAnswers(new PostgresSql(() => client, this.#texts), firstReads)
      const head = (await begun).rows[0]
      return new PostgresTransaction(client, this.#texts, toPosition(head), answers, {
        resolveOutcome: (written) => this.#outcome(head!, written),
        drop: () => this.#drop(client),
      })
    } catch (error) {
      this.#drop(client)
      throw error
    }
  }

  async runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect(
      { timeoutMs: MIGRATION_TIMEOUT_MS },
      { connectionTimeoutMillis: this.#startTimeoutMs },
    )
    try {
      await verifyDurability(client, this.#startTimeoutMs)
      await this.#requireOwnSession(client)
      await command(client, `BEGIN; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
      const value = await work(new PostgresSql(() => client, this.#texts))
      await command(client, 'COMMIT')
      return value
    } finally {
      endClient(client)
    }
  }

  /** Rejects a pooler that shares a session of PostgreSQL between connections: another one sees what was set in this one. */
  async #requireOwnSession(client: pg.Client): Promise<void> {
    if (this.#hasOwnSessions) return
    const marker = randomUUID()
    await command(client, `SET adit.session = '${marker}'`, this.#startTimeoutMs)
    const other = await this.#connect(
      { timeoutMs: this.#startTimeoutMs },
      { connectionTimeoutMillis: this.#startTimeoutMs },
    )
    try {
      const { rows } = await command(other, "SELECT current_setting('adit.session', true) AS session")
      if (rows[0]?.session === marker)
        throw new UnsupportedDatabase(
          'A pooler shares sessions of PostgreSQL between connections: set pool_mode=session there, or connect to PostgreSQL itself.',
        )
      this.#hasOwnSessions = true
    } finally {
      endClient(other)
    }
  }

  /** Runs reads in one snapshot, for as long as they take, without blocking writers. */
  async inSnapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect({ timeoutMs: SNAPSHOT_TIMEOUT_MS })
    try {
      await command(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const value = await work(new PostgresSql(() => client, this.#texts))
      await command(client, 'COMMIT')
      return value
    } finally {
      endClient(client)
    }
  }

  /** Listens for notifications, and looks without one as well, since a notification can be lost with its connection. */
  watch(statement: string, onOutcome: (outcome: SqlRecord | Error) => void): { stop(): void } {
    const stopped = new AbortController()
    void this.#listen(statement, onOutcome, stopped.signal)
    return { stop: () => stopped.abort() }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const writer = await this.#writer?.catch(() => undefined)
    if (writer) await writer.end().catch(() => {})
    await this.#pool.end().catch(() => {})
  }

  #createPool(): pg.Pool {
    const pool = new pg.Pool({
      ...this.#config,
      ...this.#pooledTarget,
      max: this.#maxReaders,
      query_timeout: READ_TIMEOUT_MS,
      onConnect: (client) => setLimits(client, { timeoutMs: READ_TIMEOUT_MS }),
    })
    // Without a listener a database restart would end this process (P8).
    pool.on('error', (error) => this.#log.warn({ reason: describeError(error) }, 'database connection lost'))
    return pool
  }

  /** Another server accepts writes now: one that took over from this one may go on with what it had. */
  #followTarget(): void {
    if (this.#closed || this.#pooledTarget === this.#targets.current) return
    this.#pooledTarget = this.#targets.current
    void this.#pool.end().catch(() => {})
    this.#pool = this.#createPool()
  }

  async #listen(
    statement: string,
    onOutcome: (outcome: SqlRecord | Error) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let retryMs = MIN_RETRY_MS
    let interrupted = false
    while (!signal.aborted) {
      let client: pg.Client | undefined
      try {
        client = await this.#connect({ timeoutMs: READ_TIMEOUT_MS })
        const wake = new Wake()
        for (const event of ['notification', 'end'] as const) client.on(event, () => wake.now())
        await command(client, `LISTEN ${CHANNEL}`)
        // Every query is also a liveness check of the connection.
        while (!signal.aborted) {
          wake.reset()
          const { rows } = await command(client, statement)
          retryMs = MIN_RETRY_MS
          interrupted = false
          if (!signal.aborted) onOutcome(rows[0]!)
          await wake.within(POLL_INTERVAL_MS, signal)
        }
      } catch (error) {
        if (!signal.aborted) onOutcome(translateError(error) as Error)
        // Logged once per outage.
        if (!signal.aborted && !interrupted)
          this.#log.warn({ reason: describeError(error) }, 'change notifications interrupted')
        interrupted = true
      } finally {
        if (client) endClient(client)
      }
      if (signal.aborted) return
      await sleep(retryMs * (0.5 + Math.random() / 2), signal)
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
    }
  }

  async #writerClient(): Promise<pg.Client> {
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    if (this.#writer === undefined) this.#silence.check()
    this.#writer ??= this.#connectWriter()
    return this.#writer
  }

  async #connectWriter(): Promise<pg.Client> {
    let client: pg.Client | undefined
    try {
      client = await this.#connect(
        {
          timeoutMs: WRITE_TIMEOUT_MS,
          lockMs: LOCK_TIMEOUT_MS,
          // A process suspended in the middle of a transaction must not block the other writers.
          idleInTransactionMs: IDLE_IN_TRANSACTION_TIMEOUT_MS,
        },
        { pipeline: true },
      )
      const connected = client
      connected.once('error', () => this.#drop(connected))
      connected.once('end', () => this.#drop(connected))
      await verifyDurability(connected)
      return connected
    } catch (error) {
      if (client) endClient(client)
      this.#writer = undefined
      throw error
    }
  }

  async #connect(limits: ConnectionLimits, extra: pg.ClientConfig = {}): Promise<pg.Client> {
    const client = await this.#silence.watch(() =>
      this.#targets.connect((target) => this.#connectTo(target, limits, extra)),
    )
    this.#followTarget()
    return client
  }

  async #connectTo(
    target: pg.ClientConfig,
    limits: ConnectionLimits,
    extra: pg.ClientConfig,
  ): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#config,
      ...target,
      query_timeout: limits.timeoutMs,
      ...extra,
    })
    client.on('error', (error) =>
      this.#log.warn({ reason: describeError(error) }, 'database connection lost'),
    )
    try {
      await client.connect()
      await setLimits(client, limits, extra.connectionTimeoutMillis)
      await this.#targets.requireWritable(client)
      return client
    } catch (error) {
      endClient(client)
      throw error
    }
  }

  #drop(client: pg.Client): void {
    endClient(client)
    void this.#writer?.then(
      (current) => {
        if (current === client) this.#writer = undefined
      },
      () => {},
    )
  }

  /** The outcome of a transaction whose connection was lost during the commit. */
  async #outcome(begun: SqlRecord, written: CommitTrace | undefined): Promise<Outcome> {
    const { id, server } = begun
    const deadline = performance.now() + OUTCOME_TIMEOUT_MS
    while (performance.now() < deadline) {
      try {
        const row = await this.reader.get(
          `SELECT ${SERVER} = ? AS is_same, CASE WHEN ${SERVER} = ? THEN pg_xact_status(?::xid8) END AS status`,
          ...[server!, server!, id!],
        )
        if (row?.status === 'committed' || row?.status === 'aborted') return row.status
        if (!row?.is_same) {
          const isThere = written && (await hasWritten(this.reader, toPosition(begun), written))
          return isThere === undefined ? 'unknown' : isThere ? 'committed' : 'aborted'
        }
      } catch {
        // The database is still unavailable: retry until the deadline.
      }
      await delay(MIN_RETRY_MS)
    }
    return 'unknown'
  }
}

/** Ends a pause. */
class Wake {
  #controller = new AbortController()

  reset(): void {
    this.#controller = new AbortController()
  }

  now(): void {
    this.#controller.abort()
  }

  async within(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(ms, AbortSignal.any([this.#controller.signal, signal]))
  }
}

/**
 * Knows of a database that accepts connections and does not answer. For as long as a connection may take, further calls fail
 * at once: in a start one after the other would wait that long. The connection that listens for changes tries again.
 */
class Silence {
  #error: unknown
  #endsAt = 0

  check(): void {
    if (performance.now() < this.#endsAt) throw this.#error
  }

  async watch<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      const result = await work()
      this.#endsAt = 0
      return result
    } catch (error) {
      const now = performance.now()
      // The timer of the library may fire a millisecond early.
      if (now - startedAt > 0.9 * CONNECT_TIMEOUT_MS) this.#endsAt = now + CONNECT_TIMEOUT_MS
      this.#error = translateError(error)
      throw this.#error
    }
  }
}

/** Whether a query has to wait for a new connection: those that are open may still answer. */
function needsConnection({ idleCount, totalCount, options }: pg.Pool): boolean {
  return idleCount === 0 && totalCount < (options.max ?? MAX_READERS)
}

class PostgresSql implements Sql {
  readonly #queryable: () => pg.Pool | pg.Client
  readonly #texts: PreparedTexts
  readonly #silence: Silence | undefined

  constructor(queryable: () => pg.Pool | pg.Client, texts: PreparedTexts, silence?: Silence) {
    this.#queryable = queryable
    this.#texts = texts
    this.#silence = silence
  }

  async get(text: string, ...values: SqlValue[]): Promise<SqlRecord | undefined> {
    return (await this.all(text, ...values))[0]
  }

  async all(text: string, ...values: SqlValue[]): Promise<SqlRecord[]> {
    return (await this.#query(text, values)).rows
  }

  async tuples(text: string, ...values: SqlValue[]): Promise<SqlValue[][]> {
    return (await this.all(text, ...values)).map((record) => Object.values(record))
  }

  scan(text: string, ...values: SqlValue[]): Promise<SqlValue[][]> {
    return this.tuples(text, ...values)
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return (await this.#query(text, values)).rowCount ?? 0
  }

  async apply(...changes: SqlChange[]): Promise<number[]> {
    const statements = changes.map(toStatement)
    const values = statements.flatMap((statement) => statement.values)
    const [first, ...rest] = statements
    if (!first) return []
    if (rest.length === 0) return [await this.run(first.text, ...values)]
    // One statement for all changes: they touch different tables, and RETURNING counts the rows of each.
    const parts = statements.map(({ text }, index) => `c${index} AS (${text} RETURNING 1)`)
    const counts = statements.map((_statement, index) => `(SELECT count(*) FROM c${index}) AS c${index}`)
    const row = await this.get(`WITH ${parts.join(', ')} SELECT ${counts.join(', ')}`, ...values)
    return statements.map((_statement, index) => Number(row?.[`c${index}`]))
  }

  async #query(text: string, values: readonly SqlValue[]): Promise<pg.QueryResult<SqlRecord>> {
    try {
      const queryable = this.#queryable()
      if (queryable instanceof pg.Pool && needsConnection(queryable)) this.#silence?.check()
      return await queryable.query<SqlRecord>({
        ...this.#texts.prepare(text),
        values: values.map(replaceNul),
      })
    } catch (error) {
      throw translateError(error)
    }
  }
}

type Outcome = 'committed' | 'aborted' | 'unknown'

/** What a transaction needs from its engine when its connection fails. */
interface CommitRecovery {
  /** Asks the database for the outcome of the transaction. */
  resolveOutcome(written: CommitTrace | undefined): Promise<Outcome>
  /** Discards the connection. */
  drop(): void
}

/** The answers to what a transaction reads first, for as long as it has changed nothing. */
class FirstAnswers {
  readonly #answers: ReadonlyMap<string, Promise<SqlRecord[]>>

  constructor(sql: PostgresSql, reads: readonly Statement[]) {
    this.#answers = new Map(reads.map((read) => [JSON.stringify(read), sql.all(...read)]))
    for (const answer of this.#answers.values()) leaveToCommit(answer)
  }

  to(...read: Statement): Promise<SqlRecord[]> | undefined {
    return this.#answers.get(JSON.stringify(read))
  }
}

class PostgresTransaction extends PostgresSql implements WriteTransaction {
  readonly head: WriteTransaction['head']
  readonly connection: object
  readonly #client: pg.Client
  readonly #recovery: CommitRecovery
  #firstAnswers: FirstAnswers | undefined

  constructor(
    client: pg.Client,
    texts: PreparedTexts,
    head: WriteTransaction['head'],
    firstAnswers: FirstAnswers,
    recovery: CommitRecovery,
  ) {
    super(() => client, texts)
    this.#client = client
    this.connection = client
    this.head = head
    this.#firstAnswers = firstAnswers
    this.#recovery = recovery
  }

  override async all(text: string, ...values: SqlValue[]): Promise<SqlRecord[]> {
    return this.#firstAnswers?.to(text, ...values) ?? super.all(text, ...values)
  }

  async savepoint(): Promise<void> {
    // Something is about to be changed.
    this.#firstAnswers = undefined
    await command(this.#client, 'SAVEPOINT call')
  }

  async rollbackToSavepoint(): Promise<void> {
    await command(this.#client, 'ROLLBACK TO SAVEPOINT call')
  }

  async commit(announced: boolean, written?: CommitTrace): Promise<void> {
    let reason: unknown = new Error('a statement before the commit failed')
    try {
      const result = await command(this.#client, announced ? `NOTIFY ${CHANNEL}; COMMIT` : 'COMMIT')
      // After a failed statement the server turns a commit into a rollback.
      if (result.command === 'COMMIT') return
    } catch (error) {
      reason = error
    }
    this.#recovery.drop()
    // Decision 29: the response may be lost although the commit took effect; only the database knows.
    const outcome = await this.#recovery.resolveOutcome(written)
    if (outcome === 'committed') return
    const consequence = outcome === 'aborted' ? 'nothing was changed' : 'its outcome is not known'
    throw new StoreUnavailable(
      `The database failed during the commit and ${consequence}: ${describeError(reason)}.`,
      {
        cause: reason,
      },
    )
  }

  async rollback(): Promise<void> {
    try {
      await this.#client.query('ROLLBACK')
    } catch {
      this.#recovery.drop()
    }
  }
}

function toStatement(change: SqlChange): { text: string; values: readonly SqlValue[] } {
  if ('text' in change) return change
  const { table, columns, rows, conflict = '' } = change
  const names = columns.join(', ')
  const records = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
  // One text for any number of rows, so that it stays prepared; the row type of the table gives the value types.
  const text = `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, ?::json) ${conflict}`
  return { text, values: [JSON.stringify(records)] }
}

/** Caches the PostgreSQL text of each statement and the name under which connections prepare it. */
class PreparedTexts {
  readonly #entries = new Map<string, { name: string; text: string }>()

  prepare(text: string): { name: string; text: string } {
    let entry = this.#entries.get(text)
    if (!entry) {
      let index = 0
      entry = {
        name: `adit_${this.#entries.size}`,
        text: text.replaceAll('?', () => {
          index += 1
          return `$${index}`
        }),
      }
      this.#entries.set(text, entry)
    }
    return entry
  }
}

// PostgreSQL text cannot hold a zero byte. No stored value has one, so a search for one correctly matches nothing.
function replaceNul(value: SqlValue): SqlValue {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

// Revisions and times stay far below 2^53, so a number is exact.
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return Number
  return pg.types.getTypeParser(oid, format as 'text')
}

/** What a connection is allowed to take. */
interface ConnectionLimits {
  /** After this the client gives a query up. */
  readonly timeoutMs: number
  /** How long a statement waits for a lock; 0 for as long as it may take. */
  readonly lockMs?: number
  /** How long a transaction may wait for its client; 0 for no limit. */
  readonly idleInTransactionMs?: number
}

/** By statements and not with the start of the connection, which a pooler rejects. */
async function setLimits(
  client: pg.ClientBase,
  { timeoutMs, lockMs = 0, idleInTransactionMs = 0 }: ConnectionLimits,
  answerMs = CONNECT_TIMEOUT_MS,
): Promise<void> {
  await command(
    client,
    `SET statement_timeout = ${timeoutMs - STATEMENT_LEAD_MS}; SET lock_timeout = ${lockMs};
     SET idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
    answerMs,
  )
}

/** Rejects a server that may lose acknowledged writes (P2). */
async function verifyDurability(client: pg.Client, timeoutMs?: number): Promise<void> {
  const names = ['fsync', 'synchronous_commit', 'server_version_num', 'server_encoding']
  const text = `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`)}`
  const { rows } = await command(client, text, timeoutMs)
  const settings = rows[0] as Record<string, string>
  const reject = (message: string) => {
    throw new UnsupportedDatabase(message)
  }
  if (settings.fsync !== 'on')
    reject('The PostgreSQL server runs with fsync=off and may lose what it acknowledged: set fsync=on.')
  if (settings.synchronous_commit === 'off') {
    reject(
      'The PostgreSQL server runs with synchronous_commit=off and may lose what it acknowledged: set it to on.',
    )
  }
  if (Number(settings.server_version_num) < MIN_SERVER_VERSION)
    reject('The PostgreSQL server is older than version 13: use a newer one.')
  if (settings.server_encoding !== 'UTF8') {
    reject(
      `The PostgreSQL database has the encoding ${settings.server_encoding}: create it with ENCODING 'UTF8'.`,
    )
  }
}

/** Sends a text with one or more statements; returns the result of the last. */
async function command(
  client: pg.ClientBase,
  text: string,
  timeoutMs?: number,
): Promise<pg.QueryResult<SqlRecord>> {
  const query = timeoutMs === undefined ? text : { text, query_timeout: timeoutMs }
  try {
    const result: pg.QueryResult<SqlRecord> | pg.QueryResult<SqlRecord>[] =
      await client.query<SqlRecord>(query)
    return Array.isArray(result) ? result.at(-1)! : result
  } catch (error) {
    throw translateError(error)
  }
}

function endClient(client: pg.Client): void {
  client.end().catch(() => {})
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ref: false, signal: signal }).catch(() => {})
}
