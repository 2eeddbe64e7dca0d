import { randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { auditPage, verifyChain } from './audit.ts'
import { changesAfter, pruneSome, readHead } from './changes.ts'
import { Feed } from './feed.ts'
import { takeLease } from './leases.ts'
import { createReader } from './reader.ts'
import { ROW, toRow } from './rows.ts'
import type { Engine, Sql } from './sql.ts'
import type { Store } from './store.ts'
import { CallTransaction } from './transaction.ts'
import { openVault, settingPlace, type Vault } from './vault.ts'
import { type CallBody, WriteQueue } from './write-queue.ts'

const AUDIT_KEY = 'store.audit_key'
const PRUNE_AT_ONCE = 5_000

/** A store with the ways into its engine that rotation needs; other parts see it as a `Store`. */
export interface DurableStore extends Store {
  readonly engine: Engine
  readonly vault: Vault
  /** Runs statements of the store's own in one durable transaction. */
  inTransaction<T>(body: CallBody<T>): Promise<T>
}

/** Makes the store of an engine whose tables are up to date. */
export async function createDurableStore(options: {
  engine: Engine
  masterKeyFile: string
  clock: Clock
  log: Logger
}): Promise<DurableStore> {
  const { engine, clock, log } = options
  const { vault, auditKey } = await openSecrets(engine, options.masterKeyFile)
  const feed = new Feed(engine, vault, log)
  const queue = new WriteQueue(engine, () => feed.wake())
  const sql = engine.reader
  const inTransaction = <T>(body: CallBody<T>) => queue.submit(body)
  let closing: Promise<void> | undefined

  return {
    engine,
    vault,
    inTransaction,
    ...createReader(sql, vault),
    write: (author, work) =>
      queue.submit(async (callSql, group) => {
        const { listed } = engine.dialect
        const now = clock.now()
        const tx = new CallTransaction({ sql: callSql, vault, auditKey, group, now, author, listed })
        const value = await work(tx)
        tx.finish()
        return value
      }),
    follow: (kinds, follower) => feed.follow(kinds, follower),
    async scan(kind, { limit, after = '' }) {
      const records = await sql.lists(
        `SELECT ${ROW} FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`,
        kind,
        after,
        limit,
      )
      return records.map((values) => toRow(values, vault))
    },
    changes: ({ after, limit }) => changesAfter(sql, after, limit),
    async pruneChanges(upTo) {
      while (await inTransaction((callSql) => pruneSome(callSql, upTo, PRUNE_AT_ONCE)));
    },
    auditLog: (account, page) => auditPage(sql, account, page),
    verifyAudit: (account) => verifyChain(sql, auditKey, account),
    async setting(key) {
      const setting = await sql.get('SELECT value, sealed FROM settings WHERE name = ?', key)
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
    close() {
      closing ??= queue.close().then(() => {
        feed.close()
        return engine.close()
      })
      return closing
    },
  }
}

async function openSecrets(engine: Engine, keyFile: string): Promise<{ vault: Vault; auditKey: Buffer }> {
  const session = await engine.begin()
  try {
    const vault = await openVault(session, keyFile)
    const found = await session.get('SELECT value FROM settings WHERE name = ?', AUDIT_KEY)
    const auditKey = found
      ? vault.unseal(settingPlace(AUDIT_KEY), String(found.value))
      : randomBytes(32).toString('base64')
    if (!found) await putSetting(session, vault, AUDIT_KEY, auditKey, true)
    await session.commit(false)
    return { vault, auditKey: Buffer.from(auditKey, 'base64') }
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
