import { StoreUnavailable } from '../../store.ts'

/** An error of SQLite, with its result code. */
export interface SqliteError extends Error {
  readonly code: string
  readonly errcode: number
}

// Primary result codes: https://sqlite.org/rescode.html
const BUSY = 5
const CORRUPT = 11
const FULL = 13
const NOT_A_DATABASE = 26
const UNAVAILABLE_REASONS: Readonly<Record<number, string>> = {
  [BUSY]: 'another process has held it for too long',
  6: 'another process has locked it',
  7: 'there is not enough memory',
  8: 'it is read-only',
  9: 'the operation was interrupted',
  10: 'reading or writing it failed',
  [CORRUPT]: 'its file is damaged',
  [FULL]: 'the disk is full',
  14: 'its file cannot be opened',
  15: 'its lock files cannot be used',
  [NOT_A_DATABASE]: 'its file is not a database',
}

/** Turns errors of an unusable database into `StoreUnavailable`; other errors are bugs and stay as they are. */
export function translateError(error: unknown): unknown {
  const { code, errcode, message } = error as SqliteError
  if (code === 'ERR_INVALID_STATE') return new StoreUnavailable('The store is closed.')
  const reason = code === 'ERR_SQLITE_ERROR' ? UNAVAILABLE_REASONS[errcode & 0xff] : undefined
  if (reason === undefined) return error
  return new StoreUnavailable(`The database cannot be used: ${reason} (${message}).`, { cause: error })
}

/** Whether another connection holds the lock that a statement needs. */
export function isBusy(error: unknown): boolean {
  return primaryResultCode(error) === BUSY
}

/** Whether a write to a database or a plain file failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return primaryResultCode(error) === FULL || code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
}

/** Whether a failure comes from the machine (memory, disk, permissions, locks) and not from the content of the file. */
export function isEnvironmentError(error: unknown): boolean {
  const code = primaryResultCode(error)
  return code !== undefined && code in UNAVAILABLE_REASONS && code !== CORRUPT && code !== NOT_A_DATABASE
}

/** The primary result code of the SQLite error that caused this one, if any. */
function primaryResultCode(error: unknown): number | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { errcode } = cause as Partial<SqliteError>
    if (errcode !== undefined) return errcode & 0xff
  }
  return undefined
}
