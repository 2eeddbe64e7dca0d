import { createHash } from 'node:crypto'
import { appendFileSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** A backup cannot be written or restored; the message says what to do. */
export class BackupError extends Error {
  override name = 'BackupError'
}

const LABEL = 'adit-backup-sha256:'
const TRAILER_BYTES = LABEL.length + 64 + 1
// "Adit" in the header of the SQLite file: a backup that lost its digest is not mistaken for an old one.
const APPLICATION_ID = 0x41_64_69_74
const CHUNK_BYTES = 1024 * 1024

/** Appends the digest of a finished backup. SQLite ignores bytes after the page count in the header. */
export function appendDigest(file: string): void {
  const database = new DatabaseSync(file)
  try {
    // A single file without a write-ahead log.
    database.exec(`PRAGMA journal_mode = DELETE; PRAGMA application_id = ${APPLICATION_ID}`)
  } finally {
    database.close()
  }
  appendFileSync(file, `${LABEL}${computeDigest(file, statSync(file).size)}\n`)
}

/**
 * Verifies a backup against its digest. Returns the length of the database; undefined for a backup of an earlier release,
 * which has no digest. Throws when a single bit differs.
 */
export function verifyDigest(file: string): number | undefined {
  const { size } = statSync(file)
  const length = size - TRAILER_BYTES
  const trailer = length < 0 ? '' : readAt(file, length, TRAILER_BYTES)
  if (!trailer.startsWith(LABEL)) {
    if (size < 72 || Buffer.from(readAt(file, 68, 4), 'latin1').readUInt32BE() !== APPLICATION_ID)
      return undefined
    throw new BackupError(`${file} is not a complete backup: the digest at its end is missing.`)
  }
  if (trailer !== `${LABEL}${computeDigest(file, length)}\n`)
    throw new BackupError(
      `${file} is damaged: its content does not match its digest. Restore another backup.`,
    )
  return length
}

function computeDigest(file: string, length: number): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const handle = openSync(file, 'r')
  try {
    for (let offset = 0; offset < length; ) {
      const count = readSync(handle, chunk, 0, Math.min(CHUNK_BYTES, length - offset), offset)
      if (count === 0) break
      hash.update(chunk.subarray(0, count))
      offset += count
    }
  } finally {
    closeSync(handle)
  }
  return hash.digest('hex')
}

function readAt(file: string, position: number, length: number): string {
  const bytes = Buffer.alloc(length)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, length, position)
  } finally {
    closeSync(handle)
  }
  return bytes.toString('latin1')
}
