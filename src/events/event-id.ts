import { newId } from '../base/id.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TAIL = 3
const BLOCK = DIGITS.length ** TAIL

/**
 * Ids of events. One is made for every request that anybody wants to hear of, so a fresh id serves for a block of them,
 * told apart by counting in its last characters; ids name events and keep nothing secret.
 */
export class EventIds {
  #head = ''
  #second = -1
  #count = 0

  next(at: number): string {
    const second = Math.floor(at / 1000)
    if (second !== this.#second || this.#count === BLOCK) {
      this.#head = newId('ev', at).slice(0, -TAIL)
      this.#second = second
      this.#count = 0
    }
    const count = this.#count++
    const [high, middle, low] = [Math.floor(count / 3844), Math.floor(count / 62) % 62, count % 62]
    return `${this.#head}${DIGITS[high]}${DIGITS[middle]}${DIGITS[low]}`
  }
}
