import { randomBytes, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const EPOCH = 1_400_000_000 // KSUID counts seconds from 2014-05-13.
const ENCODED_LENGTH = 27

let lastSecond = 0
let lastPayload = 0n

/**
 * A KSUID: four bytes of seconds, sixteen random bytes, base 62. Ids made by one process within one second keep
 * their order (the payload counts up from a random start), so that "newest first" is exact for a single writer.
 */
export function ksuid(now = Date.now()): string {
  const second = Math.floor(now / 1000)
  if (second === lastSecond) lastPayload += BigInt(randomInt(1, 2 ** 47))
  else {
    lastSecond = second
    // The top bit is left clear so that counting up never overflows into the seconds.
    const bytes = randomBytes(16)
    bytes[0]! &= 0x7f
    lastPayload = BigInt(`0x${bytes.toString('hex')}`)
  }
  let value = (BigInt(second - EPOCH) << 128n) | lastPayload
  let text = ''
  while (text.length < ENCODED_LENGTH) {
    text = ALPHABET[Number(value % 62n)] + text
    value /= 62n
  }
  return text
}

/** A fresh id such as `ak_2cFz…`. */
export function newId(prefix: string, now?: number): string {
  return `${prefix}_${ksuid(now)}`
}

const ID = /^([a-z0-9]+)_[0-9A-Za-z]{27}$/

/** The prefix of a well-formed id, undefined for anything else. */
export function prefixOf(id: string): string | undefined {
  return ID.exec(id)?.[1]
}
