import { createCipheriv, createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Bytes that nothing can compress, the same in each run; `seed` chooses others. */
export function createNoise(length: number, seed = 0): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length))
}

/** The digest of a file. */
export function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
