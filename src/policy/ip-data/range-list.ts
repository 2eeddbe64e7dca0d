import { errorMessage } from '../../base/text/error-message.ts'
import { parseAddress, parseCidr } from '../../base/values/cidr.ts'

/** A line of a list cannot be read. */
export class RangeListError extends Error {
  override name = 'RangeListError'
}

interface Range {
  readonly first: bigint
  readonly last: bigint
  readonly category: string
}

const MAX_RANGES = 4_000_000
const CATEGORY = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i
/** IPv4 stands among the IPv6 addresses as `::ffff:a.b.c.d`. */
const IPV4_BASE = 0xffff_0000_0000n

/**
 * Compiles a list of ranges to the bytes of a `RangeTable`. A line is a range in CIDR notation or two addresses, then
 * the category, divided by commas or blanks; lines without a category get `fallback`. Throws `RangeListError`.
 */
export function compileRangeList(text: string, fallback: string | undefined): Buffer {
  const ranges: Range[] = []
  let number = 0
  for (const line of text.split('\n')) {
    number++
    const comment = line.search(/[#;]/)
    const fields = (comment === -1 ? line : line.slice(0, comment))
      .trim()
      .split(/[,\s]+/)
      .map(unquote)
    if (fields[0] === '') continue
    const range = readRange(fields, number, fallback)
    if (range !== undefined) ranges.push(range)
    if (ranges.length > MAX_RANGES) throw new RangeListError(`it has more than ${MAX_RANGES} ranges`)
  }
  if (ranges.length === 0) throw new RangeListError('it has no ranges')
  return writeTable(ranges)
}

const unquote = (field: string) => field.replace(/^"(.*)"$/, '$1')

function readRange(
  [start = '', second = '', third]: readonly string[],
  line: number,
  fallback: string | undefined,
): Range | undefined {
  const end = parseAddress(second)
  // The first line may name the columns.
  if (line === 1 && parseAddress(start.replace(/\/\d+$/, '')) === undefined) return undefined
  try {
    const { first, last } = end === undefined ? rangeOfCidr(start) : rangeBetween(start, second)
    const category = (end === undefined ? second : third) || fallback
    if (category === undefined) throw new Error('it has no category; name one for the whole list')
    if (!CATEGORY.test(category))
      throw new Error(`"${category}" is not a category, such as blocklist or com.example.office`)
    return { first, last, category: category.toLowerCase() }
  } catch (error) {
    throw new RangeListError(`line ${line}: ${errorMessage(error)}`)
  }
}

function rangeOfCidr(text: string) {
  const { family, base, bits } = parseCidr(text)
  const first = family === 4 ? base + IPV4_BASE : base
  return { first, last: first + (1n << BigInt((family === 4 ? 32 : 128) - bits)) - 1n }
}

function rangeBetween(start: string, end: string) {
  const [first, last] = [start, end].map((text) => {
    const address = parseAddress(text)
    if (address === undefined) throw new Error(`"${text}" is not an IPv4 or IPv6 address.`)
    return address.family === 4 ? address.value + IPV4_BASE : address.value
  }) as [bigint, bigint]
  if (first > last) throw new Error(`${start} comes after ${end}`)
  return { first, last }
}

const MAGIC = Buffer.from('ADITIPR1')
const HEADER_BYTES = MAGIC.length + 8

/** Boundaries in order: from each on, the addresses have the categories of one set. */
function writeTable(ranges: readonly Range[]): Buffer {
  const { boundaries, sets, setIndexes } = flatten(ranges)
  const names = Buffer.from(JSON.stringify(sets))
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32LE(boundaries.length, MAGIC.length)
  header.writeUInt32LE(names.length, MAGIC.length + 4)
  const table = Buffer.alloc(boundaries.length * 20)
  for (const [index, boundary] of boundaries.entries()) {
    for (let word = 0; word < 4; word++)
      table.writeUInt32LE(Number((boundary >> BigInt(96 - 32 * word)) & 0xffff_ffffn), index * 16 + word * 4)
    table.writeUInt32LE(setIndexes[index]!, boundaries.length * 16 + index * 4)
  }
  return Buffer.concat([header, table, names])
}

function flatten(ranges: readonly Range[]) {
  const changes = ranges.flatMap(({ first, last, category }) => [
    { boundary: first, category, step: 1 },
    { boundary: last + 1n, category, step: -1 },
  ])
  changes.sort((a, b) => (a.boundary < b.boundary ? -1 : a.boundary > b.boundary ? 1 : 0))
  const active = new Map<string, number>()
  const setIds = new Map<string, number>([['', 0]])
  const boundaries: bigint[] = []
  const setIndexes: number[] = []
  for (const [index, { boundary, category, step }] of changes.entries()) {
    const count = (active.get(category) ?? 0) + step
    if (count === 0) active.delete(category)
    else active.set(category, count)
    if (changes[index + 1]?.boundary === boundary || boundary >> 128n !== 0n) continue
    const key = [...active.keys()].sort().join(' ')
    if (!setIds.has(key)) setIds.set(key, setIds.size)
    const set = setIds.get(key)!
    if (set === (setIndexes.at(-1) ?? 0)) continue
    boundaries.push(boundary)
    setIndexes.push(set)
  }
  const sets = [...setIds.keys()].map((key) => (key === '' ? [] : key.split(' ')))
  return { boundaries, sets, setIndexes }
}

/** The categories of addresses: a sorted table that a look-up searches by halves. */
export class RangeTable {
  readonly #words: Uint32Array
  readonly #setIndexes: Uint32Array
  readonly #sets: readonly (readonly string[])[]

  /** Takes what `compileRangeList` has written. */
  constructor(bytes: Buffer) {
    const count = bytes.length < HEADER_BYTES ? 0 : bytes.readUInt32LE(MAGIC.length)
    const end = HEADER_BYTES + count * 20
    if (!isRangeTable(bytes) || bytes.length !== end + bytes.readUInt32LE(MAGIC.length + 4))
      throw new RangeListError('it is not a compiled list of ranges')
    // A copy, because the words of a file may begin at an address that arrays of words cannot.
    const table = bytes.buffer.slice(bytes.byteOffset + HEADER_BYTES, bytes.byteOffset + end)
    this.#words = new Uint32Array(table, 0, count * 4)
    this.#setIndexes = new Uint32Array(table, count * 16, count)
    const sets = JSON.parse(bytes.toString('utf8', end)) as string[][]
    this.#sets = sets.map(withParents)
  }

  /** With those above: `com.github.hooks` is also `com` and `com.github`. */
  categoriesOf(words: Uint32Array): readonly string[] {
    let low = 0
    let high = this.#setIndexes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#isAfter(middle, words)) high = middle
      else low = middle + 1
    }
    return low === 0 ? NONE : (this.#sets[this.#setIndexes[low - 1]!] ?? NONE)
  }

  #isAfter(index: number, words: Uint32Array): boolean {
    for (let word = 0; word < 4; word++) {
      const boundary = this.#words[index * 4 + word]!
      const own = words[word]!
      if (boundary !== own) return boundary > own
    }
    return false
  }
}

const NONE: readonly string[] = []

/** Whether these are the bytes of a compiled list. */
export const isRangeTable = (bytes: Buffer): boolean => bytes.subarray(0, MAGIC.length).equals(MAGIC)

function withParents(categories: readonly string[]): readonly string[] {
  const all = categories.flatMap((category) => {
    const parts = category.split('.')
    return parts.map((_, index) => parts.slice(0, index + 1).join('.'))
  })
  return [...new Set(all)]
}
