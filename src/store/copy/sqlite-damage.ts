import { constants, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AUDIT_KEY_SETTING } from '../durable-store.ts'
import type { SqlValue } from '../engine/sql.ts'
import { type HighWaterMark, highWaterMarkFile, readHighWaterMark } from '../engine/sqlite/high-water-mark.ts'
import { DATABASE_FILE } from '../engine/sqlite/sqlite.ts'
import { translateError } from '../engine/sqlite/sqlite-errors.ts'
import { countDroppedCommits } from '../engine/sqlite/sqlite-log.ts'
import { StoreUnavailable } from '../store.ts'
import { FALLBACK_COPY_FILE } from './fallback-copy.ts'

/** Writes that a database had confirmed are missing. It is not opened until an operator has decided what to do. */
export class DatabaseDamaged extends StoreUnavailable {
  override name = 'DatabaseDamaged'

  constructor(file: string, loss: string) {
    super(
      `The database ${file} is damaged: ${loss}. It is left as it is until you decide: restore a backup into an empty data directory (adit server restore), or continue without the missing data (adit server repair --accept-loss).`,
    )
  }
}

/**
 * Throws `DatabaseDamaged` if the database has less than it had confirmed: its log is damaged, its file was cut or replaced
 * by an earlier one. Call it before opening the database, since SQLite drops what follows a damaged place of the log.
 */
export function requireUndamaged(file: string): void {
  const loss = findLoss(file)
  if (loss !== undefined) throw new DatabaseDamaged(file, loss)
}

/** What is missing in a database; undefined when it has all that it had confirmed. */
export function findLoss(file: string): string | undefined {
  const dropped = countDroppedCommits(`${file}-wal`)
  const unreadable =
    dropped > 1 ? `its log is damaged, and ${dropped} commits after that place cannot be read` : undefined
  // Read first: another process may be writing.
  const mark = readHighWaterMark(file) ?? NOTHING
  const copy = readCopy(dirname(file))
  if (mark.revision + mark.audits + copy.revision === 0) return unreadable
  const { revision, audits, auditKey } = readState(file)
  // An empty database may be what is left of it.
  const isCopyOfIt = auditKey === undefined || auditKey === copy.auditKey
  const seen = Math.max(mark.revision, isCopyOfIt ? copy.revision : 0)
  const changes = Math.max(seen - revision, 0)
  const records = Math.max(mark.audits - audits, 0)
  const missing =
    changes + records > 0
      ? `${changes} changes and ${records} audit records that it had confirmed are missing (it is at revision ${revision} and was at ${seen})`
      : undefined
  return [unreadable, missing].filter(Boolean).join('; ') || undefined
}

interface DatabaseState extends HighWaterMark {
  /** Tells databases apart. */
  readonly auditKey?: SqlValue | undefined
}

const NOTHING: DatabaseState = { revision: 0, audits: 0 }

/** Reads the state without changing the file or its log. */
function readState(file: string): DatabaseState {
  // SQLite would delete the log of an empty database.
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return NOTHING
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const hasHead = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'head'").get()
    const head = hasHead && database.prepare('SELECT revision, audits FROM head').get()
    if (!head) return NOTHING
    const setting = database.prepare('SELECT value FROM settings WHERE name = ?').get(AUDIT_KEY_SETTING)
    return {
      revision: Number(head.revision),
      audits: Number(head.audits),
      auditKey: setting?.value as SqlValue | undefined,
    }
  } catch (error) {
    throw translateError(error)
  } finally {
    database.close()
  }
}

/** What the fallback copy has, which is never more than what was confirmed. One that is damaged itself proves nothing. */
function readCopy(dataDir: string): DatabaseState {
  try {
    return readState(join(dataDir, FALLBACK_COPY_FILE))
  } catch {
    return NOTHING
  }
}

/** Lets a restored database be older than the fallback copy that is left of it. */
export function continueAboveCopy(file: string, dataDir: string): void {
  const { revision, auditKey } = readState(file)
  const copy = readCopy(dataDir)
  if (copy.revision <= revision || copy.auditKey !== auditKey) return
  const database = new DatabaseSync(file)
  try {
    continueAbove(database, copy.revision)
  } finally {
    database.close()
  }
}

/** Revisions up to this one are never assigned again, so that followers that have seen them read everything anew. */
function continueAbove(database: DatabaseSync, revision: number): void {
  database.prepare('UPDATE head SET revision = ?, pruned = ?').run(revision + 1, revision + 1)
}

/** Lets a damaged database be used with what is left of it, and keeps copies of all files as they were. */
export function acceptLoss(dataDir: string, directoryName: string): void {
  const [name, copy] = [DATABASE_FILE, FALLBACK_COPY_FILE]
  const file = join(dataDir, name)
  const seen = [readHighWaterMark(file) ?? NOTHING, readCopy(dataDir)]
  const directory = join(dataDir, directoryName)
  mkdirSync(directory, { mode: 0o700 })
  for (const each of [name, `${name}-wal`, highWaterMarkFile(name), copy, `${copy}-wal`])
    if (existsSync(join(dataDir, each)))
      copyFileSync(join(dataDir, each), join(directory, each), constants.COPYFILE_FICLONE)
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    const state = database.prepare('PRAGMA integrity_check').get()?.integrity_check
    const head = state === 'ok' && readState(file)
    if (!head || head.revision === 0)
      throw new StoreUnavailable(
        `What is left of the database ${file} cannot be used (${state === 'ok' ? 'it is empty' : state}): restore a backup into an empty data directory. Copies of all files are in ${directory}.`,
      )
    continueAbove(database, Math.max(head.revision, ...seen.map(({ revision }) => revision)))
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    throw translateError(error)
  } finally {
    database.close()
  }
  rmSync(highWaterMarkFile(file), { force: true })
}
