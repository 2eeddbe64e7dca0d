import { chmodSync } from 'node:fs'

const SQLITE_BUSY = 5

/**
 * Locks a file for this process and returns the function that releases it; undefined if another process has it. The lock
 * is SQLite's on an empty file, since Node has no file locks; the kernel releases it with the process, however it ends.
 * Throws when the file cannot be used.
 */
export function lockFile(path: string): (() => void) | undefined {
  // Loaded here: some supported versions of Node print a warning for it, and most agents lock nothing.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Nothing is written, not even a journal: the lock needs no disk space.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    // Whoever can read the file can lock it. Opening it here would end our own locks when it is closed.
    chmodSync(path, 0o600)
    return () => database.close()
  } catch (error) {
    database.close()
    if (((error as { errcode?: number }).errcode ?? 0) % 256 !== SQLITE_BUSY) throw error
    return undefined
  }
}
