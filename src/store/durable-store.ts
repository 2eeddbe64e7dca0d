import { randomBytes, randomUUID } from 'node:crypto'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { type Commit, changesAfter, pruneBatch, readHead } from './engine/changes.ts'
import { DatabaseWatch } from './engine/database-watch.ts'
import type { HistoryWatch } from './engine/history.ts'
import type { Beat, Engine, Query, Sql } from './engine/sql.ts'
import { Feed } from './feed/feed.ts'
import { openSealer, type Sealer, settingSealContext } from './seal/sealer.ts'
import type { SettingOptions, Store } from './store.ts'
import { auditPage, verifyChain } from './write/audit.ts'
import { acquireLease } from './write/leases.ts'
import { createReader } from './write/reader.ts'
import { ROW_COLUMNS, toRow } from './write/rows.ts'
import { CallTransaction, readsForUpdate } from './write/transaction.ts'
import { type CallBody, WriteQueue, withTimeout } from './write/write-queue.ts'

/** The setting with the sealed key of the audit chain; a rotation of the master key rewraps it last. */
export const AUDIT_KEY_SETTING = 'store.audit_key'
const PRUNE_BATCH_SIZE = 5_000
/** The setting that the write probe updates. */
const PROBE_SETTING = 'store.probe'
const PROBE_TIMEOUT_MS = 5_000

/** A store with the access to its engine that key rotation needs; other parts see it as a `Store`. */
export interface DurableStore extends Store {
  readonly engine: Engine
  readonly sealer: Sealer
  /** Runs a read on the database, or on the fallback copy while the database is unavailable. */
  readonly query: Query
  /** Readiness check: throws when writes cannot be made durable, or hang. Probes with a write only after a write has failed. */
  checkWritable(): Promise<void>
  /** Throws when the database did not answer the last time that this process looked. */
  checkAvailable(): void
  /** Another process of this node has committed something. */
  receive(commit: Commit): void
  /** Resolves once every follower has what is committed now, by this or another process. */
  catchUp(): Promise<void>
  /** Resolves once every follower has what this process knows to be committed: it does not look at the database for it. */
  caughtUp(): Promise<void>
  /** The identity of the history, as the last check found it, and whether the database lost some of it. */
  readonly history: Pick<HistoryWatch, 'current' | 'onLoss'>
  /** What shows that other processes have written something. */
  readonly watch: DatabaseWatch
  /** Runs statements in one durable transaction. */
  inTransaction<T>(body: CallBody<T>): Promise<T>
  readonly beat: Beat
}

/** Creates the store of an engine whose tables are migrated. */
export async function createDurableStore(options: {
  engine: Engine
  /** Left out where there is no fallback copy. */
  query?: Query | undefined
  /** Throws while reads come from the fallback copy. */
  requireDatabase?: () => void
  /** Called after each commit of this process that has changes. */
  onCommit?: ((commit: Commit) => void) | undefined
  masterKeyFile: string
  history: HistoryWatch
  clock: Clock
  log: Logger
}): Promise<DurableStore> {
  const { engine, history, clock, log } = options
  const query: Query = options.query ?? (async (read) => read(engine.reader))
  const { sealer, auditKey } = await openSecrets(engine, query, options.masterKeyFile)
  const watch = new DatabaseWatch(engine)
  const feed = new Feed({ engine, watch, query, sealer, history, log })
  const queue = new WriteQueue(engine, history, (commit) => {
    options.onCommit?.(commit)
    feed.receive(commit)
  })
  const sql = engine.reader
  const fallbackSql = withFallback(sql, query)
  const inTransaction = <T>(body: CallBody<T>) => queue.submit(body)
  const { autocommit } = engine
  const beat: Beat = async (statement) =>
    autocommit === undefined ? inTransaction(async (sql) => statement(sql)) : statement(autocommit)
  let closing: Promise<void> | undefined
  let probeInFlight: Promise<void> | undefined
  // Readiness may be polled at any rate: concurrent checks share one probe.
  const probe = () => {
    // A new value each time: an unchanged page would not be written.
    probeInFlight ??= inTransaction((callSql) =>
      putSetting(callSql, sealer, PROBE_SETTING, randomUUID(), {}),
    ).finally(() => {
      probeInFlight = undefined
    })
    return probeInFlight
  }
  // A database that took over has another history from now on, even if nobody writes to it yet.
  watch.onRecovered(() => void probe().catch(() => {}))

  return {
    engine,
    sealer,
    query,
    history,
    inTransaction,
    beat,
    watch,
    ...createReader(sql, sealer),
    fallbackReader: {
      ...createReader(fallbackSql, sealer),
      scan: createScan(fallbackSql, sealer),
    },
    write: (author, work, { forUpdate } = {}) =>
      queue.submit(async (callSql, group) => {
        const { dialect } = engine
        const now = clock.now()
        const tx = new CallTransaction({ sql: callSql, sealer, auditKey, group, now, author, dialect })
        const value = await work(tx)
        tx.finish()
        return value
      }, forUpdate && readsForUpdate(forUpdate)),
    follow: (kinds, follower) => feed.follow(kinds, follower),
    receive: (commit) => feed.receive(commit),
    catchUp: () => feed.catchUp(),
    caughtUp: () => feed.caughtUp(),
    scan: createScan(sql, sealer),
    changes: ({ after, limit }) => changesAfter(sql, after, limit),
    async pruneChanges(upTo) {
      while (await inTransaction((callSql) => pruneBatch(callSql, upTo, PRUNE_BATCH_SIZE)));
    },
    auditLog: (account, page) => auditPage(sql, account, page),
    verifyAudit: (account) => verifyChain(sql, auditKey, account),
    async setting(key) {
      const statement = 'SELECT value, sealed FROM settings WHERE name = ?'
      // Only the database can confirm that a setting is absent: the copy may lack the newest.
      const setting = (await fallbackSql.get(statement, key)) ?? (await sql.get(statement, key))
      if (!setting) return undefined
      const value = String(setting.value)
      return setting.sealed ? sealer.unseal(settingSealContext(key), value) : value
    },
    putSetting: (key, value, options = {}) =>
      inTransaction((callSql) => putSetting(callSql, sealer, key, value, options)),
    deleteSettings: (prefix, except) =>
      inTransaction(async (callSql) => {
        const statement = 'DELETE FROM settings WHERE substr(name, 1, ?) = ? AND name <> ?'
        await callSql.run(statement, prefix.length, prefix, except)
      }),
    lease: (name, holder, ttlMs) => acquireLease({ beat, dialect: engine.dialect }, name, holder, ttlMs),
    revision: async () => (await readHead(sql)).revision,
    async check() {
      options.requireDatabase?.()
      history.current = (await readHead(sql)).history
    },
    checkAvailable() {
      options.requireDatabase?.()
      const { head } = watch.state
      history.current = head.history
    },
    async checkWritable() {
      const { hang } = queue
      if (hang !== undefined) throw hang
      await engine.checkSpace?.()
      // A prober waits for seconds, a write to a disk that hangs for ever.
      if (queue.failure !== undefined) await withTimeout(PROBE_TIMEOUT_MS, probe())
    },
    close() {
      closing ??= queue.close().then(() => {
        feed.close()
        watch.close()
        return engine.close()
      })
      return closing
    },
  }
}

function createScan(sql: Sql, sealer: Sealer): Store['scan'] {
  return async (kind, { limit, after = '' }) => {
    const records = await sql.scan(
      `SELECT ${ROW_COLUMNS} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
      kind,
      after,
      limit,
    )
    return records.map((values) => toRow(values, sealer))
  }
}

/** Reads go to the fallback copy while the database is unavailable; writes always go to the database. */
function withFallback(sql: Sql, query: Query): Sql {
  return {
    get: (...statement) => query((source) => source.get(...statement)),
    all: (...statement) => query((source) => source.all(...statement)),
    tuples: (...statement) => query((source) => source.tuples(...statement)),
    scan: (...statement) => query((source) => source.scan(...statement)),
    run: (...statement) => sql.run(...statement),
    apply: (...changes) => sql.apply(...changes),
  }
}

async function openSecrets(
  engine: Engine,
  query: Query,
  keyFile: string,
): Promise<{ sealer: Sealer; auditKey: Buffer }> {
  const openExisting = async (sql: Sql) => {
    const setting = await sql.get('SELECT value FROM settings WHERE name = ?', AUDIT_KEY_SETTING)
    if (!setting) return undefined
    const sealer = await openSealer(sql, keyFile)
    const auditKey = sealer.unseal(settingSealContext(AUDIT_KEY_SETTING), String(setting.value))
    return { sealer, auditKey: Buffer.from(auditKey, 'base64') }
  }
  const secrets = await query(openExisting)
  if (secrets) return secrets
  const transaction = await engine.begin()
  try {
    // Another process may have created the keys meanwhile.
    const existing = await openExisting(transaction)
    const sealer = existing?.sealer ?? (await openSealer(transaction, keyFile))
    const auditKey = existing?.auditKey ?? randomBytes(32)
    if (!existing)
      await putSetting(transaction, sealer, AUDIT_KEY_SETTING, auditKey.toString('base64'), { secret: true })
    await transaction.commit(false)
    return { sealer, auditKey }
  } catch (error) {
    await transaction.rollback()
    throw error
  }
}

async function putSetting(
  sql: Sql,
  sealer: Sealer,
  key: string,
  value: string,
  { secret = false, ifAbsent = false }: SettingOptions,
): Promise<void> {
  await sql.run(
    `INSERT INTO settings (name, value, sealed) VALUES (?, ?, ?) ON CONFLICT (name) DO
     ${ifAbsent ? 'NOTHING' : 'UPDATE SET value = excluded.value, sealed = excluded.sealed'}`,
    key,
    secret ? await sealer.seal(sql, settingSealContext(key), value) : value,
    secret ? 1 : 0,
  )
}
