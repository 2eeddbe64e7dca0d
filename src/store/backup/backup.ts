import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createDirectory } from '../../base/process/create-directory.ts'
import type { Logger } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { continueAboveCopy, requireUndamaged } from '../copy/sqlite-damage.ts'
import { NewerSchema } from '../engine/migrations.ts'
import { migrations } from '../engine/schema.ts'
import { highWaterMarkFile } from '../engine/sqlite/high-water-mark.ts'
import { DATABASE_FILE } from '../engine/sqlite/sqlite.ts'
import { isDiskFull } from '../engine/sqlite/sqlite-errors.ts'
import { appendDigest, BackupError, verifyDigest } from './backup-digest.ts'
import { dumpPostgres, loadPostgres } from './backup-postgres.ts'

/** The database to back up or to restore into, identified as for `openStore`. */
export interface BackupOptions {
  readonly url?: string | undefined
  readonly dataDir: string
  readonly log: Logger
}

/**
 * Writes a consistent backup of the database while it is in use. The file format is the same for both engines, so that a
 * backup of one can be restored into the other. Secrets stay sealed, and the master key is not included.
 */
export async function backup({ url, dataDir, log }: BackupOptions, target: string): Promise<void> {
  if (existsSync(target)) throw new BackupError(`${target} already exists: name a new file for the backup.`)
  await writeAtomically(target, async (tempFile) => {
    if (url === undefined) dumpSqlite(join(dataDir, DATABASE_FILE), tempFile)
    else await dumpPostgres(url, tempFile, log)
    appendDigest(tempFile)
  })
}

/**
 * Restores a backup into an empty data directory or PostgreSQL database. Returns whether the backup was verified by its
 * digest; backups of earlier releases have none.
 */
export async function restore(
  { url, dataDir, log }: BackupOptions,
  source: string,
): Promise<{ verified: boolean }> {
  const length = verifyArchive(source)
  const verified = length !== undefined
  if (url !== undefined) {
    await loadPostgres(url, source, log)
    return { verified }
  }
  const file = join(dataDir, DATABASE_FILE)
  for (const existing of [file, `${file}-wal`]) {
    if (existsSync(existing))
      throw new BackupError(`${existing} already exists: restore into an empty data directory.`)
  }
  createDirectory(dataDir, 0o700)
  await writeAtomically(file, async (tempFile) => {
    copyFileSync(source, tempFile)
    if (length !== undefined) truncateSync(tempFile, length)
    // The backup may be older than the database that was here.
    continueAboveCopy(tempFile, dataDir)
    rmSync(highWaterMarkFile(file), { force: true })
  })
  return { verified }
}

function dumpSqlite(file: string, target: string): void {
  if (!existsSync(file))
    throw new BackupError(`There is no database ${file}: name the data directory of a server.`)
  requireUndamaged(file)
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    database.prepare('VACUUM INTO ?').run(target)
  } finally {
    database.close()
  }
}

/** Returns the length of the database within the file; undefined when the file has no digest. */
function verifyArchive(source: string): number | undefined {
  if (!existsSync(source)) throw new BackupError(`There is no file ${source}.`)
  const length = verifyDigest(source)
  const damagedError = (reason: string) => new BackupError(`${source} is not a complete backup: ${reason}.`)
  const database = new DatabaseSync(source, { readOnly: true })
  try {
    const state = database.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (state !== 'ok') throw damagedError(String(state))
    const row = database.prepare('SELECT max(version) AS version FROM schema_versions').get()
    const supported = migrations.at(-1)!.version
    if (Number(row?.version) > supported) {
      throw new NewerSchema(
        `The backup has schema ${row?.version}, but this release supports only ${supported}: restore it with the release that made it.`,
      )
    }
    return length
  } catch (error) {
    if (error instanceof BackupError || error instanceof NewerSchema) throw error
    throw damagedError(errorMessage(error))
  } finally {
    database.close()
  }
}

/** Writes to a temporary file and renames it: under its final name the file is complete and durable, or absent. */
async function writeAtomically(file: string, write: (tempFile: string) => Promise<void>): Promise<void> {
  const tempFile = `${file}.part`
  removeTempFile(tempFile)
  try {
    closeSync(openSync(tempFile, 'wx', 0o600))
    await write(tempFile)
    chmodSync(tempFile, 0o600)
    syncPath(tempFile)
    renameSync(tempFile, file)
    syncPath(dirname(file))
  } catch (error) {
    if (isDiskFull(error))
      throw new BackupError(
        `${file} cannot be written: the disk is full. Free some space, or choose another path.`,
      )
    throw error
  } finally {
    removeTempFile(tempFile)
  }
}

/** SQLite leaves its own files next to an unfinished database. */
function removeTempFile(tempFile: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(tempFile + suffix, { force: true })
}

function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
