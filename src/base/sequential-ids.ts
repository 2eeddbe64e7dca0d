import { KsuidGenerator } from './id.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const COUNTER_LENGTH = 3
const BLOCK_SIZE = DIGITS.length ** COUNTER_LENGTH

/**
 * Ids for what comes with every request, such as its event or the number of its call. A fresh id serves for a block of
 * them, told apart by counting in its last characters: they name things and keep nothing secret.
 */
export class RunningIds {
  readonly #prefix: string
  // Of its own: these may be made later than the time they tell, and must not disturb the order of others.
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
