import { constants, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type HighWaterMark, highWaterMarkFile, readHighWaterMark } from './high-water-mark.ts'
import { translateError } from './sqlite-errors.ts'
import { countDroppedCommits } from './sqlite-log.ts'
import { StoreUnavailable } from './store.ts'

/** Writes that a database had confirmed are missing. It is not opened until an operator has decided what to do. */
export class DatabaseDamaged extends StoreUnavailable {
  override name = 'DatabaseDamaged'

  constructor(file: string, loss: string) {
    super(
      `The database ${file} is damaged: ${loss}. It is left as it is until you decide: restore a backup into an empty data directory (adit server restore), or go on without what is missing (adit server repair --accept-loss).`,
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
  const mark = readHighWaterMark(file)
  if (mark === undefined) return unreadable
  const { revision, audits } = readHead(file)
  const changes = Math.max(mark.revision - revision, 0)
  const records = Math.max(mark.audits - audits, 0)
  const missing =
    changes + records > 0
      ? `${changes} changes and ${records} audit records that it had confirmed are missing (it is at revision ${revision} and was at ${mark.revision})`
      : undefined
  return [unreadable, missing].filter(Boolean).join('; ') || undefined
}

const NOTHING: HighWaterMark = { revision: 0, audits: 0 }

/** Reads the head without changing the file or its log. */
function readHead(file: string): HighWaterMark {
  // SQLite would delete the log of an empty database.
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return NOTHING
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const hasHead = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'head'").get()
    const head = hasHead && database.prepare('SELECT revision, audits FROM head').get()
    return head ? { revision: Number(head.revision), audits: Number(head.audits) } : NOTHING
  } catch (error) {
    throw translateError(error)
  } finally {
    database.close()
  }
}

/**
 * Lets a damaged database be used with what is left of it, and keeps copies of all files as they were. The lost revisions
 * are never assigned again, so that followers that have seen them read everything anew.
 */
export function acceptLoss(
  dataDir: string,
  { database: name, copy }: { database: string; copy: string },
  directoryName: string,
): void {
  const file = join(dataDir, name)
  const seen = [readHighWaterMark(file) ?? NOTHING, readHead(join(dataDir, copy))]
  const directory = join(dataDir, directoryName)
  mkdirSync(directory, { mode: 0o700 })
  for (const each of [name, `${name}-wal`, highWaterMarkFile(name), copy, `${copy}-wal`])
    if (existsSync(join(dataDir, each)))
      copyFileSync(join(dataDir, each), join(directory, each), constants.COPYFILE_FICLONE)
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    const state = database.prepare('PRAGMA integrity_check').get()?.integrity_check
    const head = state === 'ok' && readHead(file)
    if (!head || head.revision === 0)
      throw new StoreUnavailable(
        `What is left of the database ${file} cannot be used (${state === 'ok' ? 'it is empty' : state}): restore a backup into an empty data directory. Copies of all files are in ${directory}.`,
      )
    const next = Math.max(head.revision, ...seen.map(({ revision }) => revision)) + 1
    database.prepare('UPDATE head SET revision = ?, pruned = ?').run(next, next)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    throw translateError(error)
  } finally {
    database.close()
  }
  rmSync(highWaterMarkFile(file), { force: true })
}
