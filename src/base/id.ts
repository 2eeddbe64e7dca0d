import { getRandomValues } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const EPOCH = 1_400_000_000 // KSUID counts seconds from 2014-05-13.
const ENCODED_LENGTH = 27

const STEP_LENGTH = 11 // digits of the step from one id to the next, about 65 bits

const ALPHABET_CODES = Buffer.from(ALPHABET)

// Random numbers are taken from a supply: asking for a few at a time would cost more than all the rest of an id.
const randomPool = new Uint8Array(8192)
let randomPoolOffset = randomPool.length

function randomDigit(): number {
  if (randomPoolOffset === randomPool.length) {
    getRandomValues(randomPool)
    randomPoolOffset = 0
  }
  return randomPool[randomPoolOffset++]! % 62
}

/**
 * Makes KSUIDs: four bytes of seconds, sixteen random bytes, base 62. Those that one of these makes within one second keep
 * their order (the payload counts up from a random start in random steps), so that "newest first" is exact for a single
 * writer.
 */
export class KsuidGenerator {
  readonly #digits = new Uint8Array(ENCODED_LENGTH)
  readonly #characters = Buffer.alloc(ENCODED_LENGTH)
  #second = Number.NaN

  next(now: number): string {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#start(second)
    } else this.#countUp()
    const digits = this.#digits
    const characters = this.#characters
    for (let index = 0; index < ENCODED_LENGTH; index++) characters[index] = ALPHABET_CODES[digits[index]!]!
    return characters.toString('latin1')
  }

  /** Seconds and a random payload, whose top bit is left clear so that counting up never overflows into the seconds. */
  #start(second: number): void {
    const payload = getRandomValues(new BigUint64Array(2))
    let value = (BigInt((second - EPOCH) >>> 0) << 128n) | ((payload[0]! >> 1n) << 64n) | payload[1]!
    for (let index = ENCODED_LENGTH - 1; index >= 0; index--) {
      this.#digits[index] = Number(value % 62n)
      value /= 62n
    }
  }

  #countUp(): void {
    const digits = this.#digits
    let carry = 1 // at least one step, should all the digits be zero
    for (let index = ENCODED_LENGTH - 1; index >= 0; index--) {
      const step = index >= ENCODED_LENGTH - STEP_LENGTH ? randomDigit() : 0
      if (step === 0 && carry === 0 && index < ENCODED_LENGTH - STEP_LENGTH) return
      const sum = digits[index]! + step + carry
      carry = sum >= 62 ? 1 : 0
      digits[index] = carry === 1 ? sum - 62 : sum
    }
  }
}

const ksuids = new KsuidGenerator()

/** A KSUID of this process, in order with all the others made by this. */
export function ksuid(now = Date.now()): string {
  return ksuids.next(now)
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
