import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { auditPage, verifyChain } from './audit.ts'
import { changesAfter, pruneSome, readHead } from './changes.ts'
import { Feed } from './feed.ts'
import { takeLease } from './leases.ts'
import { createReader } from './reader.ts'
import { ROW, toRow } from './rows.ts'
import type { Engine, Eventually, Sql } from './sql.ts'
import type { Store } from './store.ts'
import { CallTransaction } from './transaction.ts'
import { openVault, settingPlace, type Vault } from './vault.ts'
import { type CallBody, WriteQueue } from './write-queue.ts'

/** The setting that the audit chain is sealed with; the last thing a new master key is put to. */
export const AUDIT_KEY = 'store.audit_key'
const PRUNE_AT_ONCE = 5_000
/** The setting that is written to see whether writes work again. */
const PROBE = 'store.probe'

/** Puts a question to whoever can answer it now. */
export type Ask = <T>(question: (sql: Sql) => Eventually<T>) => Promise<T>

/** A store with the ways into its engine that rotation needs; other parts see it as a `Store`. */
export interface DurableStore extends Store {
  readonly engine: Engine
  readonly vault: Vault
  /** Asks the database, or what is known of it here while it is away. */
  readonly ask: Ask
  /** Answers while writes can be made durable, or throws why not: for readiness. Writes only after a write has failed. */
  checkWritable(): Promise<void>
  /** Runs statements of the store's own in one durable transaction. */
  inTransaction<T>(body: CallBody<T>): Promise<T>
}

/** Makes the store of an engine whose tables are up to date. */
export async function createDurableStore(options: {
  engine: Engine
  /** Left out where nothing can be known of a database that is away. */
  ask?: Ask | undefined
  /** Called after each commit of this process: the database is there. */
  onCommit?: (() => void) | undefined
  masterKeyFile: string
  clock: Clock
  log: Logger
}): Promise<DurableStore> {
  const { engine, clock, log } = options
  const ask: Ask = options.ask ?? (async (question) => question(engine.reader))
  const { vault, auditKey } = await openSecrets(engine, ask, options.masterKeyFile)
  const feed = new Feed({ engine, ask, vault, log })
  const queue = new WriteQueue(engine, () => {
    options.onCommit?.()
    feed.wake()
  })
  const sql = engine.reader
  const known = asking(sql, ask)
  const inTransaction = <T>(body: CallBody<T>) => queue.submit(body)
  let closing: Promise<void> | undefined
  let probing: Promise<void> | undefined
  // Readiness is asked by anybody at any rate: one probe serves all who ask meanwhile.
  const probe = () => {
    // Another value each time: a page that would not change is not written.
    probing ??= inTransaction((callSql) => putSetting(callSql, vault, PROBE, randomUUID(), false)).finally(
      () => {
        probing = undefined
      },
    )
    return probing
  }

  return {
    engine,
    vault,
    ask,
    inTransaction,
    ...createReader(sql, vault),
    lastKnown: { ...createReader(known, vault), scan: scanning(known, vault) },
    write: (author, work) =>
      queue.submit(async (callSql, group) => {
        const { dialect } = engine
        const now = clock.now()
        const tx = new CallTransaction({ sql: callSql, vault, auditKey, group, now, author, dialect })
        const value = await work(tx)
        tx.finish()
        return value
      }),
    follow: (kinds, follower) => feed.follow(kinds, follower),
    scan: scanning(sql, vault),
    changes: ({ after, limit }) => changesAfter(sql, after, limit),
    async pruneChanges(upTo) {
      while (await inTransaction((callSql) => pruneSome(callSql, upTo, PRUNE_AT_ONCE)));
    },
    auditLog: (account, page) => auditPage(sql, account, page),
    verifyAudit: (account) => verifyChain(sql, auditKey, account),
    async setting(key) {
      const question = 'SELECT value, sealed FROM settings WHERE name = ?'
      // That there is none only the database can say: it may be the newest of all.
      const setting = (await known.get(question, key)) ?? (await sql.get(question, key))
      if (!setting) return undefined
      const value = String(setting.value)
      return setting.sealed ? vault.unseal(settingPlace(key), value) : value
    },
    putSetting: (key, value, { secret = false } = {}) =>
      inTransaction((callSql) => putSetting(callSql, vault, key, value, secret)),
    lease: (name, holder, ttlMs) => takeLease(inTransaction, name, holder, ttlMs),
    revision: async () => (await readHead(sql)).revision,
    async check() {
      await readHead(sql)
    },
    async checkWritable() {
      await engine.checkSpace?.()
      if (queue.failure !== undefined) await probe()
    },
    close() {
      closing ??= queue.close().then(() => {
        feed.close()
        return engine.close()
      })
      return closing
    },
  }
}

function scanning(sql: Sql, vault: Vault): Store['scan'] {
  return async (kind, { limit, after = '' }) => {
    const records = await sql.lists(
      `SELECT ${ROW} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
      kind,
      after,
      limit,
    )
    return records.map((values) => toRow(values, vault))
  }
}

/** The same statements, asked for what is known while the database is away. */
function asking(sql: Sql, ask: Ask): Sql {
  return {
    get: (...statement) => ask((it) => it.get(...statement)),
    all: (...statement) => ask((it) => it.all(...statement)),
    lists: (...statement) => ask((it) => it.lists(...statement)),
    run: (...statement) => sql.run(...statement),
    apply: (...changes) => sql.apply(...changes),
  }
}

async function openSecrets(
  engine: Engine,
  ask: Ask,
  keyFile: string,
): Promise<{ vault: Vault; auditKey: Buffer }> {
  const openKnown = async (sql: Sql) => {
    const found = await sql.get('SELECT value FROM settings WHERE name = ?', AUDIT_KEY)
    if (!found) return undefined
    const vault = await openVault(sql, keyFile)
    const auditKey = vault.unseal(settingPlace(AUDIT_KEY), String(found.value))
    return { vault, auditKey: Buffer.from(auditKey, 'base64') }
  }
  const opened = await ask(openKnown)
  if (opened) return opened
  const session = await engine.begin()
  try {
    // Another process may have been faster.
    const known = await openKnown(session)
    const vault = known?.vault ?? (await openVault(session, keyFile))
    const auditKey = known?.auditKey ?? randomBytes(32)
    if (!known) await putSetting(session, vault, AUDIT_KEY, auditKey.toString('base64'), true)
    await session.commit(false)
    return { vault, auditKey }
  } catch (error) {
    await session.rollback()
    throw error
  }
}

async function putSetting(
  sql: Sql,
  vault: Vault,
  key: string,
  value: string,
  secret: boolean,
): Promise<void> {
  await sql.run(
    `INSERT INTO settings (name, value, sealed) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, sealed = excluded.sealed`,
    key,
    secret ? await vault.seal(sql, settingPlace(key), value) : value,
    secret ? 1 : 0,
  )
}
