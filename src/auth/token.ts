import { hash, randomBytes } from 'node:crypto'
import { Secret } from '../base/secret.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 43 // 43 base-62 characters hold 256 bits.
const TOKEN = /^[0-9A-Za-z]{27}_[0-9A-Za-z]{43}$/

/** A fresh token for the object with this id: the public part of the id, then 256 random bits. */
export function mintToken(id: string): Secret {
  return new Secret(`${id.slice(id.indexOf('_') + 1)}_${randomText(SECRET_LENGTH)}`)
}

function randomText(length: number): string {
  let text = ''
  while (text.length < length)
    // Bytes of 248 and above would make some characters likelier than others.
    for (const byte of randomBytes(length))
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
  return text
}

/** True for text that can be a token at all: anything else is refused without a look-up. */
export function isTokenShaped(text: string): boolean {
  return TOKEN.test(text)
}

/** What is stored of a token. It has 256 random bits, so a plain digest cannot be guessed backwards. */
export function tokenDigest(token: string): string {
  return hash('sha256', token)
}
