import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import type { Head } from '../sql.ts'

/** What a database had confirmed: a database with less has lost something. */
export type HighWaterMark = Pick<Head, 'revision' | 'audits'>

// One write replaces all of it, within one sector.
const LENGTH = 64

/** The file of a database's high-water mark. */
export function highWaterMarkFile(databaseFile: string): string {
  return `${databaseFile}-highwater`
}

/** Reads the high-water mark of a database; undefined when there is none. */
export function readHighWaterMark(databaseFile: string): HighWaterMark | undefined {
  try {
    const { revision, audits } = JSON.parse(readFileSync(highWaterMarkFile(databaseFile), 'utf8'))
    if (Number.isSafeInteger(revision) && Number.isSafeInteger(audits)) return { revision, audits }
  } catch {
    // Earlier releases write none, and what is damaged itself proves nothing.
  }
  return undefined
}

/**
 * Keeps the high-water mark of a database beside it, so that the next start notices when confirmed commits are missing. It is
 * written after the commit and before anyone learns of it, and not flushed: what a power failure takes of it is no false alarm.
 */
export class HighWaterMarkWriter {
  readonly #file: string
  #descriptor: number | undefined
  #written: HighWaterMark | undefined

  constructor(databaseFile: string) {
    this.#file = highWaterMarkFile(databaseFile)
  }

  write({ revision, audits }: HighWaterMark): void {
    if (this.#written?.revision === revision && this.#written.audits === audits) return
    try {
      this.#descriptor ??= openSync(this.#file, constants.O_WRONLY | constants.O_CREAT, 0o600)
      writeSync(this.#descriptor, JSON.stringify({ revision, audits }).padEnd(LENGTH), 0)
      this.#written = { revision, audits }
    } catch {
      // The commit is durable all the same; the next one tries again.
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
  }
}
