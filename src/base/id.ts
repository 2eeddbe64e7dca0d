import { getRandomValues } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const EPOCH = 1_400_000_000 // KSUID counts seconds from 2014-05-13.
const ENCODED_LENGTH = 27

let lastSecond = 0
const words = new Uint32Array(5) // seconds, then 128 bits counting up within one second

// Random numbers are taken from a supply: asking for a few at a time would cost more than all the rest of an id.
const supply = new Uint32Array(1024)
let used = supply.length

function random32(): number {
  if (used === supply.length) {
    getRandomValues(supply)
    used = 0
  }
  return supply[used++]!
}

/**
 * A KSUID: four bytes of seconds, sixteen random bytes, base 62. Ids made by one process within one second keep
 * their order (the payload counts up from a random start), so that "newest first" is exact for a single writer.
 */
export function ksuid(now = Date.now()): string {
  const second = Math.floor(now / 1000)
  if (second === lastSecond) countUp()
  else {
    lastSecond = second
    words[0] = second - EPOCH
    for (let index = 1; index < 5; index++) words[index] = random32()
    // The top bit is left clear so that counting up never overflows into the seconds.
    words[1]! &= 0x7fff_ffff
  }
  return encode()
}

function countUp(): void {
  let carry = random32() + 1
  for (let index = 3; index >= 1 && carry > 0; index--) {
    const sum = words[index]! + carry
    words[index] = sum
    carry = sum > 0xffff_ffff ? 1 : 0
  }
  words[4] = random32()
}

const THREE_DIGITS = 62 ** 3
const digits = new Uint32Array(5)

/** Three digits a step: a remainder below 62³ and 32 bits still fit a number exactly. */
function encode(): string {
  digits.set(words)
  let text = ''
  for (let place = 0; place < ENCODED_LENGTH; place += 3) {
    let rest = 0
    for (let index = 0; index < 5; index++) {
      const value = rest * 0x1_0000_0000 + digits[index]!
      const quotient = Math.floor(value / THREE_DIGITS)
      digits[index] = quotient
      rest = value - quotient * THREE_DIGITS
    }
    const low = rest % 62
    const high = Math.floor(rest / 3844)
    text = `${ALPHABET[high]}${ALPHABET[Math.floor(rest / 62) % 62]}${ALPHABET[low]}${text}`
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
