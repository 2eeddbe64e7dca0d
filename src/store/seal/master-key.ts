import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { type MasterKey, toMasterKey } from './seal.ts'

/** The key file is missing, unsafe or wrong: nothing can be unsealed, so the start fails. */
export class MasterKeyError extends Error {
  override name = 'MasterKeyError'
}

/**
 * The master keys of a key file, one per line in base64. Usually there is one; during a rotation there are two. The file
 * is read again when an unknown key is requested, so that a running server follows a rotation.
 */
export class Keyring {
  readonly file: string
  #fileKeys: readonly MasterKey[] = []
  // Keys stay cached for the life of the process: rows read before a rotation may be unsealed after it.
  readonly #cache = new Map<string, MasterKey>()

  constructor(file: string) {
    this.file = file
    this.reload()
  }

  /** The keys in the file, oldest first. */
  get keys(): readonly MasterKey[] {
    return this.#fileKeys
  }

  readonly find = (id: string): MasterKey | undefined => {
    const cached = this.#cache.get(id)
    if (cached) return cached
    try {
      this.reload()
    } catch {
      return undefined
    }
    return this.#cache.get(id)
  }

  reload(): void {
    this.#fileKeys = readMasterKeys(this.file)
    for (const key of this.#fileKeys) this.#cache.set(key.id, key)
  }
}

/** Creates a key file with one new key, mode 0600; leaves an existing file alone. */
export function createMasterKeyFile(file: string): void {
  const tempFile = createTempFile(file)
  try {
    // A link is atomic, and never replaces a key that another process created at the same moment.
    linkSync(tempFile, file)
    syncDirectory(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(tempFile)
  }
}

function createTempFile(file: string): string {
  try {
    return writeTempFile(file, [toMasterKey(randomBytes(32))])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new MasterKeyError(
      `The master key file ${file} cannot be created: there is no directory ${dirname(file)}. Create it, or name another file with --master-key-file.`,
    )
  }
}

/** Replaces the keys in a file atomically: a reader sees the old keys or the new ones, even after a power failure. */
export function writeMasterKeys(file: string, keys: readonly MasterKey[]): void {
  renameSync(writeTempFile(file, keys), file)
  syncDirectory(file)
}

/** Reads the keys of a file; throws `MasterKeyError`, which says what to do, when it is missing, unsafe or wrong. */
export function readMasterKeys(file: string): MasterKey[] {
  let text: string
  try {
    const stats = statSync(file)
    // Reading a pipe could block the process, its signals included.
    if (!stats.isFile()) throw new MasterKeyError(`The master key file ${file} is not a regular file.`)
    const mode = stats.mode & 0o777
    if (mode & 0o027) {
      throw new MasterKeyError(
        `The master key file ${file} is accessible to others (mode ${mode.toString(8)}): run chmod 600 ${file}.`,
      )
    }
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof MasterKeyError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw new MasterKeyError(`The master key file ${file} cannot be read: ${message}.`)
    throw new MasterKeyError(
      `The master key file ${file} is missing, and the database holds secrets sealed with it: put the file back, or name it with --master-key-file.`,
    )
  }
  const keys = text.split(/\s+/).filter((line) => line !== '')
  if (keys.length === 0) throw new MasterKeyError(`The master key file ${file} is empty: put the key back.`)
  return keys.map((line) => {
    const bytes = Buffer.from(line, 'base64')
    if (bytes.length !== 32 || bytes.toString('base64') !== line) {
      throw new MasterKeyError(`The master key file ${file} must hold 32 bytes in base64 on each line.`)
    }
    return toMasterKey(bytes)
  })
}

function writeTempFile(file: string, keys: readonly MasterKey[]): string {
  const tempFile = `${file}.${randomBytes(6).toString('hex')}`
  const handle = openSync(tempFile, 'wx', 0o600)
  try {
    writeSync(handle, keys.map((key) => `${key.bytes.toString('base64')}\n`).join(''))
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return tempFile
}

function syncDirectory(file: string): void {
  const handle = openSync(dirname(file), 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
