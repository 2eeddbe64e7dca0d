import { getRandomValues, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const EPOCH = 1_400_000_000 // KSUID counts seconds from 2014-05-13.
const ENCODED_LENGTH = 27

let lastSecond = 0
const words = new Uint32Array(5) // seconds, then 128 bits counting up within one second

/**
 * A KSUID: four bytes of seconds, sixteen random bytes, base 62. Ids made by one process within one second keep
 * their order (the payload counts up from a random start), so that "newest first" is exact for a single writer.
 */
export function ksuid(now = Date.now()): string {
  const second = Math.floor(now / 1000)
  if (second === lastSecond) countUp()
  else {
    lastSecond = second
    getRandomValues(words.subarray(1))
    words[0] = second - EPOCH
    // The top bit is left clear so that counting up never overflows into the seconds.
    words[1]! &= 0x7fff_ffff
  }
  return encode()
}

function countUp(): void {
  let carry = randomInt(1, 2 ** 32)
  for (let index = 3; index >= 1 && carry > 0; index--) {
    const sum = words[index]! + carry
    words[index] = sum
    carry = sum > 0xffff_ffff ? 1 : 0
  }
  getRandomValues(words.subarray(4))
}

function encode(): string {
  const digits = Uint32Array.from(words)
  let text = ''
  for (let place = 0; place < ENCODED_LENGTH; place++) {
    let rest = 0
    for (let index = 0; index < 5; index++) {
      const value = rest * 0x1_0000_0000 + digits[index]!
      digits[index] = Math.floor(value / 62)
      rest = value % 62
    }
    text = ALPHABET[rest] + text
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
