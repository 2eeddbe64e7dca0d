import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from '../../base/values/secret.ts'

/** Encrypts values that pass through the browser, so that visitors cannot read, alter or forge them. */
export interface Seal {
  encrypt(purpose: string, value: unknown): string
  /** The value; undefined when it was not sealed with this key or for another purpose. */
  decrypt<T>(purpose: string, text: string): T | undefined
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** How long a value is when it is sealed, from the bytes of its JSON text. */
export function sealedLength(bytes: number): number {
  return Math.ceil(((NONCE_BYTES + TAG_BYTES + bytes) * 4) / 3)
}

/** AES-256-GCM. The purpose is authenticated too, so that one cookie never passes as another. */
export function createSeal(secret: Secret<Buffer>): Seal {
  const key = Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'adit login', 32))
  return {
    encrypt(purpose, value) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
      const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    decrypt<T>(purpose: string, text: string) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        const body = Buffer.concat([
          decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
          decipher.final(),
        ])
        return JSON.parse(body.toString('utf8')) as T
      } catch {
        return undefined
      }
    },
  }
}
