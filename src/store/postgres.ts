import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from '../base/log.ts'
import { HEAD, toHead } from './changes.ts'
import type { Migrator } from './migrations.ts'
import { describe, translateError } from './postgres-errors.ts'
import type { Dialect, Engine, Head, Sql, SqlChange, SqlRecord, SqlValue, WriteTransaction } from './sql.ts'
import { StoreUnavailable } from './store.ts'

const CONNECT_MS = 2_000
const READ_MS = 2_500
const LOCK_MS = 5_000
const WRITE_MS = 6_000
const IDLE_IN_TRANSACTION_MS = 7_000
const MIGRATION_MS = 60_000
const SNAPSHOT_MS = 60_000
const OUTCOME_MS = 2_000
const POLL_MS = 1_000
const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 2_000
const READERS = 8

const CHANNEL = 'adit_changes'
// Any number will do that no other program uses for its advisory locks on the same database.
const MIGRATION_LOCK = 4_080_424_277
const OLDEST_VERSION = 130_000
const LOCK_HEAD = `${HEAD.replace(' FROM', ', pg_current_xact_id()::text AS id FROM')} FOR UPDATE`

/** PostgreSQL's words. */
export const postgresDialect: Dialect = {
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  clustered: '',
  wallClock: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',

  listed: 'SELECT json_array_elements_text(?::json) COLLATE "C"',
}

/** A PostgreSQL database: one connection that writes, a few that read, and one that hears of others' commits. */
export class PostgresEngine implements Engine, Migrator {
  readonly dialect = postgresDialect
  readonly reader: Sql
  readonly #config: pg.ClientConfig
  readonly #log: Logger
  readonly #texts = new StatementTexts()
  readonly #pool: pg.Pool
  #writer: Promise<pg.Client> | undefined
  #closed = false

  constructor(url: string, log: Logger) {
    this.#log = log
    this.#config = {
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      application_name: 'adit',
      types: { getTypeParser },
    }
    this.#pool = new pg.Pool({ ...this.#config, max: READERS, query_timeout: READ_MS })
    // Without a listener a database restart would end this process (P8).
    this.#pool.on('error', (error) => log.warn({ reason: describe(error) }, 'a database connection was lost'))
    this.reader = new PostgresSql(this.#pool, this.#texts)
  }

  async begin(): Promise<WriteTransaction> {
    const client = await this.#connected()
    try {
      // Whoever has locked the head row is the only writer, so that revisions commit in their order. No prepared
      // statements here: several in one text take one step.
      const locked = await command(client, `BEGIN ISOLATION LEVEL READ COMMITTED; ${LOCK_HEAD}`)
      const head = locked.rows[0]
      return new PostgresTransaction(client, this.#texts, toHead(head), {
        outcome: () => this.#outcome(String(head?.id)),
        drop: () => this.#drop(client),
      })
    } catch (error) {
      this.#drop(client)
      throw error
    }
  }

  async exclusively<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect({ query_timeout: MIGRATION_MS, lock_timeout: MIGRATION_MS })
    try {
      await verifyDurability(client)
      await command(client, `BEGIN; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
      const value = await work(new PostgresSql(client, this.#texts))
      await command(client, 'COMMIT')
      return value
    } finally {
      end(client)
    }
  }

  /** Runs reads in the view of one moment, for as long as they take; writers are not held up. */
  async inSnapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect({ query_timeout: SNAPSHOT_MS })
    try {
      await command(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const value = await work(new PostgresSql(client, this.#texts))
      await command(client, 'COMMIT')
      return value
    } finally {
      end(client)
    }
  }

  /** Listens for notifications, and looks by itself now and then, since a notification can be lost with a connection. */
  watch(onCommit: () => void): { stop(): void } {
    const stopped = new AbortController()
    void this.#listen(onCommit, stopped.signal)
    return { stop: () => stopped.abort() }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const writer = await this.#writer?.catch(() => undefined)
    if (writer) await writer.end().catch(() => {})
    await this.#pool.end().catch(() => {})
  }

  async #listen(onCommit: () => void, stopped: AbortSignal): Promise<void> {
    let retryMs = MIN_RETRY_MS
    while (!stopped.aborted) {
      let client: pg.Client | undefined
      try {
        client = await this.#connect({ query_timeout: READ_MS })
        client.on('notification', onCommit)
        await client.query(`LISTEN ${CHANNEL}`)
        retryMs = MIN_RETRY_MS
        await this.#look(client, onCommit, stopped)
      } catch (error) {
        if (!stopped.aborted) this.#log.warn({ reason: describe(error) }, 'waiting to hear of changes again')
      } finally {
        if (client) end(client)
      }
      if (stopped.aborted) return
      await pause(retryMs * (0.5 + Math.random() / 2), stopped)
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
    }
  }

  /** Polls until the connection fails or watching ends; every query also shows that the connection still lives. */
  async #look(client: pg.Client, onCommit: () => void, stopped: AbortSignal): Promise<void> {
    let seen: unknown
    while (!stopped.aborted) {
      const { rows } = await client.query('SELECT revision, pruned FROM head')
      const now = JSON.stringify(rows[0])
      if (now !== seen) onCommit()
      seen = now
      await pause(POLL_MS, stopped)
    }
  }

  #connected(): Promise<pg.Client> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('The store is closed.'))
    this.#writer ??= this.#connectWriter()
    return this.#writer
  }

  async #connectWriter(): Promise<pg.Client> {
    let client: pg.Client | undefined
    try {
      client = await this.#connect({
        pipeline: true,
        query_timeout: WRITE_MS,
        lock_timeout: LOCK_MS,
        // A process that is stopped in the middle of a transaction must not keep the others from writing.
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      })
      const connected = client
      connected.once('error', () => this.#drop(connected))
      connected.once('end', () => this.#drop(connected))
      await verifyDurability(connected)
      return connected
    } catch (error) {
      if (client) end(client)
      this.#writer = undefined
      throw error
    }
  }

  async #connect(extra: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#config, ...extra })
    client.on('error', (error) =>
      this.#log.warn({ reason: describe(error) }, 'a database connection was lost'),
    )
    try {
      await client.connect()
      return client
    } catch (error) {
      end(client)
      throw translateError(error)
    }
  }

  #drop(client: pg.Client): void {
    end(client)
    void this.#writer?.then(
      (current) => {
        if (current === client) this.#writer = undefined
      },
      () => {},
    )
  }

  /** What became of a transaction whose connection was lost while it was being committed. */
  async #outcome(id: string): Promise<'committed' | 'aborted' | 'unknown'> {
    const deadline = performance.now() + OUTCOME_MS
    while (performance.now() < deadline) {
      try {
        const answer = await this.reader.get('SELECT pg_xact_status(?::xid8) AS status', id)
        if (answer?.status === 'committed' || answer?.status === 'aborted') return answer.status
      } catch {
        // The database is still away; the deadline decides how long that matters.
      }
      await delay(MIN_RETRY_MS)
    }
    return 'unknown'
  }
}

class PostgresSql implements Sql {
  readonly #queryable: pg.Pool | pg.Client
  readonly #texts: StatementTexts

  constructor(queryable: pg.Pool | pg.Client, texts: StatementTexts) {
    this.#queryable = queryable
    this.#texts = texts
  }

  async get(text: string, ...values: SqlValue[]): Promise<SqlRecord | undefined> {
    return (await this.#query(text, values)).rows[0]
  }

  async all(text: string, ...values: SqlValue[]): Promise<SqlRecord[]> {
    return (await this.#query(text, values)).rows
  }

  async lists(text: string, ...values: SqlValue[]): Promise<SqlValue[][]> {
    return (await this.all(text, ...values)).map((record) => Object.values(record))
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
    // One statement for all of them: they touch different tables, and each is counted by what it returns.
    const parts = statements.map(({ text }, index) => `c${index} AS (${text} RETURNING 1)`)
    const counts = statements.map((_statement, index) => `(SELECT count(*) FROM c${index}) AS c${index}`)
    const answer = await this.get(`WITH ${parts.join(', ')} SELECT ${counts.join(', ')}`, ...values)
    return statements.map((_statement, index) => Number(answer?.[`c${index}`]))
  }

  async #query(text: string, values: readonly SqlValue[]): Promise<pg.QueryResult<SqlRecord>> {
    try {
      return await this.#queryable.query<SqlRecord>({ ...this.#texts.of(text), values: values.map(storable) })
    } catch (error) {
      throw translateError(error)
    }
  }
}

/** What a transaction needs of its engine when its connection fails. */
interface Aftermath {
  /** What became of the transaction. */
  outcome(): Promise<'committed' | 'aborted' | 'unknown'>
  /** Gives the connection up. */
  drop(): void
}

class PostgresTransaction extends PostgresSql implements WriteTransaction {
  readonly head: Head
  readonly #client: pg.Client
  readonly #aftermath: Aftermath

  constructor(client: pg.Client, texts: StatementTexts, head: Head, aftermath: Aftermath) {
    super(client, texts)
    this.#client = client
    this.head = head
    this.#aftermath = aftermath
  }

  async now(): Promise<number> {
    const answer = await this.get('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
    return Number(answer?.now)
  }

  async savepoint(): Promise<void> {
    await command(this.#client, 'SAVEPOINT call')
  }

  async rollbackToSavepoint(): Promise<void> {
    await command(this.#client, 'ROLLBACK TO SAVEPOINT call')
  }

  async commit(changed: boolean): Promise<void> {
    let reason: unknown = new Error('a statement before the commit failed')
    try {
      const answer = await command(this.#client, changed ? `NOTIFY ${CHANNEL}; COMMIT` : 'COMMIT')
      // After a failed statement the server answers a commit with a rollback.
      if (answer.command === 'COMMIT') return
    } catch (error) {
      reason = error
    }
    this.#aftermath.drop()
    // The answer may have been lost and not the commit: only the database knows, and only it is believed.
    const outcome = await this.#aftermath.outcome()
    if (outcome === 'committed') return
    const fate = outcome === 'aborted' ? 'nothing was changed' : 'whether it took hold is not known'
    throw new StoreUnavailable(`The database failed during the commit and ${fate}: ${describe(reason)}.`, {
      cause: reason,
    })
  }

  async rollback(): Promise<void> {
    try {
      await this.#client.query('ROLLBACK')
    } catch {
      this.#aftermath.drop()
    }
  }
}

function toStatement(change: SqlChange): { text: string; values: readonly SqlValue[] } {
  if ('text' in change) return change
  const { table, columns, rows, conflict = '' } = change
  const names = columns.join(', ')
  const records = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
  // One text for any number of rows, so that it stays prepared; the table itself says what the values are.
  const text = `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, ?::json) ${conflict}`
  return { text, values: [JSON.stringify(records)] }
}

/** Gives each statement its PostgreSQL text and a name under which connections keep it prepared. */
class StatementTexts {
  readonly #known = new Map<string, { name: string; text: string }>()

  of(text: string): { name: string; text: string } {
    let known = this.#known.get(text)
    if (!known) {
      let index = 0
      known = {
        name: `adit_${this.#known.size}`,
        text: text.replaceAll('?', () => {
          index += 1
          return `$${index}`
        }),
      }
      this.#known.set(text, known)
    }
    return known
  }
}

// PostgreSQL cannot hold a zero byte in text. Nothing stored has one, so a search for one finds nothing, as it should.
function storable(value: SqlValue): SqlValue {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

// Revisions and times stay far below 2^53, so a number holds them exactly.
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return Number
  return pg.types.getTypeParser(oid, format as 'text')
}

/** Refuses a server that would acknowledge what it can still lose (P2). */
async function verifyDurability(client: pg.Client): Promise<void> {
  const names = ['fsync', 'synchronous_commit', 'server_version_num', 'server_encoding']
  const { rows } = await command(
    client,
    `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`)}`,
  )
  const settings = rows[0] as Record<string, string>
  const refuse = (sentence: string) => {
    throw new DatabaseRefused(sentence)
  }
  if (settings.fsync !== 'on')
    refuse('The PostgreSQL server runs with fsync=off and may lose what it acknowledged: set fsync=on.')
  if (settings.synchronous_commit === 'off') {
    refuse(
      'The PostgreSQL server runs with synchronous_commit=off and may lose what it acknowledged: set it to on.',
    )
  }
  if (Number(settings.server_version_num) < OLDEST_VERSION)
    refuse('The PostgreSQL server is older than version 13: use a newer one.')
  if (settings.server_encoding !== 'UTF8') {
    refuse(
      `The PostgreSQL database has the encoding ${settings.server_encoding}: create it with ENCODING 'UTF8'.`,
    )
  }
}

/** The database answers, but must not be trusted with what we keep. */
export class DatabaseRefused extends Error {
  override name = 'DatabaseRefused'
}

/** Sends a text that may hold several statements; answers with the result of the last. */
async function command(client: pg.Client, text: string): Promise<pg.QueryResult<SqlRecord>> {
  try {
    const answer: pg.QueryResult<SqlRecord> | pg.QueryResult<SqlRecord>[] =
      await client.query<SqlRecord>(text)
    return Array.isArray(answer) ? answer.at(-1)! : answer
  } catch (error) {
    throw translateError(error)
  }
}

function end(client: pg.Client): void {
  client.end().catch(() => {})
}

async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ref: false, signal: stopped }).catch(() => {})
}
