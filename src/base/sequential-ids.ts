import { Ksuids } from './id.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TAIL = 3
const BLOCK = DIGITS.length ** TAIL

/**
 * Ids for what comes with every request, such as its event or the number of its call. A fresh id serves for a block of
 * them, told apart by counting in its last characters: they name things and keep nothing secret.
 */
export class RunningIds {
  readonly #prefix: string
  // Of its own: these may be made later than the time they tell, and must not disturb the order of others.
  readonly #ksuids = new Ksuids()
  #head = ''
  #second = -1
  #count = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  next(at: number): string {
    const second = Math.floor(at / 1000)
    if (second !== this.#second || this.#count === BLOCK) {
      this.#head = `${this.#prefix}_${this.#ksuids.next(at).slice(0, -TAIL)}`
      this.#second = second
      this.#count = 0
    }
    const count = this.#count++
    const high = (count / 3844) | 0
    const middle = ((count / 62) | 0) % 62
    return this.#head + DIGITS[high] + DIGITS[middle] + DIGITS[count % 62]
  }
}
