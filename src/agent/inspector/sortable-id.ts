import { ksuid } from '../../base/id.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const COUNTED = 7

/**
 * Ids that sort in the order they were made: a KSUID per second whose last characters count. A whole KSUID for each
 * captured request would cost more than the rest of the capture.
 */
export function createSortableIds(prefix: string): (now: number) => string {
  let second = 0
  let base = ''
  let counter = 0

  return (now) => {
    const current = Math.max(Math.floor(now / 1000), second)
    if (current !== second) {
      second = current
      base = `${prefix}_${ksuid(current * 1000).slice(0, -COUNTED)}`
      counter = 0
    }
    let value = counter++
    let digits = ''
    for (let index = 0; index < COUNTED; index++) {
      digits = ALPHABET[value % 62] + digits
      value = Math.floor(value / 62)
    }
    return base + digits
  }
}
