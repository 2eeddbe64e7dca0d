import { getRandomValues } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const EPOCH = 1_400_000_000 // KSUIDs count seconds from 2014-05-13.
const ENCODED_LENGTH = 27

const STEP_LENGTH = 11 // digits of the step from one id to the next, about 65 bits

const ALPHABET_CODES = Buffer.from(ALPHABET)

// Random bytes are drawn in bulk: a call for each id would cost more than the rest of the id (decision 151).
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
 * Generates KSUIDs: four bytes of seconds, sixteen random bytes, base 62. The ids of one generator are in order even
 * within a second (the payload counts up from a random start in random steps), so that "newest first" is exact for a
 * single writer. Ids that may carry an earlier time need a generator of their own, not to disturb the order of others.
 */
export class KsuidGenerator {
  readonly #digits = new Uint8Array(ENCODED_LENGTH)
  /** The text of an id: the prefix, which stays, and the digits. */
  readonly #characters: Buffer
  #second = Number.NaN

  /** With a prefix, `next` gives ids such as `ev_2cFz…`. */
  constructor(prefix?: string) {
    const start = prefix === undefined ? '' : `${prefix}_`
    this.#characters = Buffer.from(start + '0'.repeat(ENCODED_LENGTH), 'latin1')
  }

  next(now: number): string {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#start(second)
    } else this.#countUp()
    const digits = this.#digits
    const characters = this.#characters
    const start = characters.length - ENCODED_LENGTH
    for (let index = 0; index < ENCODED_LENGTH; index++)
      characters[start + index] = ALPHABET_CODES[digits[index]!]!
    return characters.toString('latin1')
  }

  #start(second: number): void {
    writeDigits(this.#digits, second, randomPayload())
  }

  #countUp(): void {
    const digits = this.#digits
    let carry = 1 // At least one step, should all random digits be zero.
    for (let index = ENCODED_LENGTH - 1; index >= 0; index--) {
      const step = index >= ENCODED_LENGTH - STEP_LENGTH ? randomDigit() : 0
      if (step === 0 && carry === 0 && index < ENCODED_LENGTH - STEP_LENGTH) return
      const sum = digits[index]! + step + carry
      carry = sum >= 62 ? 1 : 0
      digits[index] = carry === 1 ? sum - 62 : sum
    }
  }
}

/**
 * KSUIDs for what is seldom asked for its id: it has a number, and the id is made of it on demand. All carry the second in
 * which the sequence begins, and are in the order of their numbers.
 */
export class KsuidSequence {
  readonly #prefix: string
  readonly #second: number
  readonly #firstPayload = randomPayload()

  constructor(prefix: string, second: number) {
    this.#prefix = prefix
    this.#second = second
  }

  idOf(number: number): string {
    const digits = new Uint8Array(ENCODED_LENGTH)
    writeDigits(digits, this.#second, this.#firstPayload + BigInt(number))
    return `${this.#prefix}_${Array.from(digits, (digit) => ALPHABET[digit]).join('')}`
  }
}

/** Its top bit stays clear, so that counting up never overflows into the seconds. */
function randomPayload(): bigint {
  const [high, low] = getRandomValues(new BigUint64Array(2))
  return ((high! >> 1n) << 64n) | low!
}

function writeDigits(digits: Uint8Array, second: number, payload: bigint): void {
  let value = (BigInt((second - EPOCH) >>> 0) << 128n) | payload
  for (let index = ENCODED_LENGTH - 1; index >= 0; index--) {
    digits[index] = Number(value % 62n)
    value /= 62n
  }
}

const ksuids = new KsuidGenerator()

/** A new KSUID, in order with all others of this process. */
export function ksuid(now = Date.now()): string {
  return ksuids.next(now)
}

/** A new id such as `ak_2cFz…`. */
export function newId(prefix: string, now?: number): string {
  return `${prefix}_${ksuid(now)}`
}

const ID = /^([a-z0-9]+)_[0-9A-Za-z]{27}$/

/** The regular expression of ids with one of these prefixes. */
export function idPattern(prefixes: readonly string[]): string {
  return `^(?:${prefixes.join('|')})_[0-9A-Za-z]{27}$`
}

/** The prefix of a well-formed id; undefined for anything else. */
export function prefixOf(id: string): string | undefined {
  return ID.exec(id)?.[1]
}

/** The second of a well-formed id or KSUID, since the epoch. */
export function secondOf(id: string): number {
  let value = 0n
  for (const character of id.slice(-ENCODED_LENGTH)) value = value * 62n + BigInt(ALPHABET.indexOf(character))
  return Number(value >> 128n) + EPOCH
}
