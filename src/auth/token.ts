import { hash, randomBytes } from 'node:crypto'
import { Secret } from '../base/values/secret.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 43 // 43 base-62 characters hold 256 bits.
const TOKEN = /^[0-9A-Za-z]{27}_[0-9A-Za-z]{43}$/

/** A new token for the object with this id: the public part of the id, then 256 random bits. */
export function mintToken(id: string): Secret {
  return new Secret(`${id.slice(id.indexOf('_') + 1)}_${randomText(SECRET_LENGTH)}`)
}

function randomText(length: number): string {
  let text = ''
  while (text.length < length)
    // Bytes from 248 on would bias the distribution.
    for (const byte of randomBytes(length))
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
  return text
}

/** Whether the text has the shape of a token; anything else is rejected without a lookup. */
export function isTokenShaped(text: string): boolean {
  return TOKEN.test(text)
}

/** The stored digest of a token. With 256 random bits, a plain hash cannot be reversed by guessing. */
export function tokenDigest(token: string): string {
  return hash('sha256', token)
}
