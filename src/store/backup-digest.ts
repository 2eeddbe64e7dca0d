import { createHash } from 'node:crypto'
import { appendFileSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { BackupRefused } from './backup-refused.ts'

const LABEL = 'adit-backup-sha256:'
const TRAILER_BYTES = LABEL.length + 64 + 1
// "Adit": SQLite keeps it in the file's header, so that a backup that lost its digest is not taken for an old one.
const APPLICATION_ID = 0x41_64_69_74
const CHUNK_BYTES = 1024 * 1024

/** Ends a finished backup with the digest of all its bytes. SQLite reads no further than the pages in its header. */
export function appendDigest(file: string): void {
  const database = new DatabaseSync(file)
  try {
    // One file without a log beside it, wherever it is copied to.
    database.exec(`PRAGMA journal_mode = DELETE; PRAGMA application_id = ${APPLICATION_ID}`)
  } finally {
    database.close()
  }
  appendFileSync(file, `${LABEL}${computeDigest(file, statSync(file).size)}\n`)
}

/**
 * Compares a backup with its digest. Answers with how many bytes are the database; undefined for a backup of an earlier
 * release, which has no digest. Throws when a single bit is not as it was written.
 */
export function verifyDigest(file: string): number | undefined {
  const { size } = statSync(file)
  const length = size - TRAILER_BYTES
  const trailer = length < 0 ? '' : readAt(file, length, TRAILER_BYTES)
  if (!trailer.startsWith(LABEL)) {
    if (size < 72 || Buffer.from(readAt(file, 68, 4), 'latin1').readUInt32BE() !== APPLICATION_ID)
      return undefined
    throw new BackupRefused(`${file} is not a whole backup: the digest at its end is missing.`)
  }
  if (trailer !== `${LABEL}${computeDigest(file, length)}\n`)
    throw new BackupRefused(
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
