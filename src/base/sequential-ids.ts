import { KsuidGenerator } from './id.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const COUNTER_LENGTH = 3
const BLOCK_SIZE = DIGITS.length ** COUNTER_LENGTH

/**
 * Ids for per-request objects such as events and operations. One KSUID serves a block of ids, which differ by a counter
 * in the last characters: cheap, but guessable, so never use them as secrets.
 */
export class SequentialIds {
  readonly #prefix: string
  // A separate generator: these ids may carry an earlier time and must not disturb the order of others.
  readonly #ksuids = new KsuidGenerator()
  #head = ''
  #second = -1
  #count = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  next(now: number): string {
    const second = Math.floor(now / 1000)
    if (second !== this.#second || this.#count === BLOCK_SIZE) {
      this.#head = `${this.#prefix}_${this.#ksuids.next(now).slice(0, -COUNTER_LENGTH)}`
      this.#second = second
      this.#count = 0
    }
    const count = this.#count++
    const high = (count / 3844) | 0
    const middle = ((count / 62) | 0) % 62
    return this.#head + DIGITS[high] + DIGITS[middle] + DIGITS[count % 62]
  }
}
