/**
 * QR codes (ISO/IEC 18004) for URLs: byte mode, error correction level L, versions 1 to 10. A URL that a terminal
 * shows has at most 267 characters, which version 10 still holds.
 */

/** Rows of modules; true is dark. */
export type QrCode = readonly (readonly boolean[])[]

/** For each version, from 1: codewords of data, codewords of correction in a block, blocks, alignment positions. */
const VERSIONS: readonly (readonly [
  data: number,
  correction: number,
  blocks: number,
  ...alignment: number[],
])[] = [
  [19, 7, 1],
  [34, 10, 1, 6, 18],
  [55, 15, 1, 6, 22],
  [80, 20, 1, 6, 26],
  [108, 26, 1, 6, 30],
  [136, 18, 2, 6, 34],
  [156, 20, 2, 6, 22, 38],
  [194, 24, 2, 6, 24, 42],
  [232, 30, 2, 6, 26, 46],
  [274, 18, 4, 6, 28, 50],
]

const MASKS: readonly ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_row, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
]

/** Encodes a text in the smallest version that holds it; undefined when none does. */
export function encodeQrCode(text: string): QrCode | undefined {
  const bytes = Buffer.from(text)
  const index = VERSIONS.findIndex(
    ([capacity], position) => bytes.length + headerBytes(position + 1) <= capacity,
  )
  if (index === -1) return undefined
  const version = index + 1
  const codewords = interleave(toCodewords(bytes, version), version)
  const candidates = MASKS.map((_, mask) => draw(codewords, version, mask))
  return candidates.reduce((best, each) => (penaltyOf(each) < penaltyOf(best) ? each : best))
}

/** Mode (4 bits) and length (8 bits, from version 10 on 16), with the rest of the last byte for the terminator. */
function headerBytes(version: number): number {
  return version < 10 ? 2 : 3
}

function toCodewords(bytes: Buffer, version: number): number[] {
  const [capacity] = VERSIONS[version - 1]!
  const bits: number[] = []
  const append = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit--) bits.push((value >> bit) & 1)
  }
  append(0b0100, 4)
  append(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) append(byte, 8)
  append(0, 4)
  const codewords: number[] = []
  for (let start = 0; start < bits.length; start += 8)
    codewords.push(Number.parseInt(bits.slice(start, start + 8).join(''), 2))
  for (let pad = 0xec; codewords.length < capacity; pad ^= 0xec ^ 0x11) codewords.push(pad)
  return codewords
}

/** Splits the data into blocks, the longer ones last, and mixes their codewords, data before correction. */
function interleave(data: number[], version: number): number[] {
  const [capacity, correctionLength, count] = VERSIONS[version - 1]!
  const longBlocks = capacity % count
  const shortLength = Math.floor(capacity / count)
  const blocks: number[][] = []
  for (let index = 0, start = 0; index < count; index++) {
    const length = shortLength + (index >= count - longBlocks ? 1 : 0)
    blocks.push(data.slice(start, start + length))
    start += length
  }
  const corrections = blocks.map((block) => correctionOf(block, correctionLength))
  return [...columnsOf(blocks), ...columnsOf(corrections)]
}

function columnsOf(blocks: readonly number[][]): number[] {
  const length = Math.max(...blocks.map((block) => block.length))
  return Array.from({ length }, (_, column) =>
    blocks.flatMap((block) => (column < block.length ? [block[column]!] : [])),
  ).flat()
}

/** Reed-Solomon over GF(256) with the polynomial 0x11d. */
const EXPONENTS: readonly number[] = powersOfTwo()
const LOGARITHMS: readonly number[] = EXPONENTS.reduce<number[]>((logarithms, value, exponent) => {
  logarithms[value] ??= exponent
  return logarithms
}, [])

function powersOfTwo(): number[] {
  const powers = [1]
  while (powers.length < 255) {
    const next = powers.at(-1)! * 2
    powers.push(next < 256 ? next : next ^ 0x11d)
  }
  return powers
}

function multiply(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : EXPONENTS[(LOGARITHMS[a]! + LOGARITHMS[b]!) % 255]!
}

function correctionOf(data: readonly number[], length: number): number[] {
  let generator = [1]
  for (let root = 0; root < length; root++) {
    const next = [...generator, 0]
    for (const [index, coefficient] of generator.entries())
      next[index + 1]! ^= multiply(coefficient, EXPONENTS[root]!)
    generator = next
  }
  const remainder = [...data, ...new Array<number>(length).fill(0)]
  for (let index = 0; index < data.length; index++) {
    const factor = remainder[index]!
    for (const [offset, coefficient] of generator.entries())
      remainder[index + offset]! ^= multiply(coefficient, factor)
  }
  return remainder.slice(data.length)
}

/** Draws the patterns, the data under the mask, and what tells a reader version and mask. */
function draw(codewords: readonly number[], version: number, mask: number): boolean[][] {
  const size = 17 + 4 * version
  const modules: (boolean | undefined)[][] = Array.from({ length: size }, () =>
    new Array(size).fill(undefined),
  )
  const set = (row: number, column: number, dark: boolean) => {
    if (row >= 0 && row < size && column >= 0 && column < size) modules[row]![column] = dark
  }
  for (const [row, column] of [
    [3, 3],
    [3, size - 4],
    [size - 4, 3],
  ] as const)
    drawSquares(set, row, column, 4, [0, 1, 3])
  drawAlignment(modules, set, version)
  for (let index = 8; index < size - 8; index++) {
    set(6, index, index % 2 === 0)
    set(index, 6, index % 2 === 0)
  }
  drawFormat(set, size, mask)
  if (version >= 7) drawVersion(set, size, version)
  drawData(modules, codewords, MASKS[mask]!)
  return modules as boolean[][]
}

type SetModule = (row: number, column: number, dark: boolean) => void

/** Concentric squares around a centre; `darkRings` are the distances from it that are dark. */
function drawSquares(
  set: SetModule,
  row: number,
  column: number,
  radius: number,
  darkRings: readonly number[],
): void {
  for (let dy = -radius; dy <= radius; dy++)
    for (let dx = -radius; dx <= radius; dx++)
      set(row + dy, column + dx, darkRings.includes(Math.max(Math.abs(dx), Math.abs(dy))))
}

function drawAlignment(modules: readonly (boolean | undefined)[][], set: SetModule, version: number): void {
  const [, , , ...positions] = VERSIONS[version - 1]!
  for (const row of positions)
    for (const column of positions)
      if (modules[row]![column] === undefined) drawSquares(set, row, column, 2, [0, 2])
}

/** Level L and the mask, protected by BCH(15,5), beside the finder patterns. */
function drawFormat(set: SetModule, size: number, mask: number): void {
  const bits = appendRemainder((0b01 << 3) | mask, 0b10100110111, 10) ^ 0b101010000010010
  for (let index = 0; index < 15; index++) {
    const dark = ((bits >> index) & 1) === 1
    // The copy at the top left goes around the corner and leaves the timing pattern out.
    if (index < 8) set(index < 6 ? index : index + 1, 8, dark)
    else set(8, index === 8 ? 7 : 14 - index, dark)
    if (index < 8) set(8, size - 1 - index, dark)
    else set(size - 15 + index, 8, dark)
  }
  set(size - 8, 8, true)
}

/** The version, protected by BCH(18,6), in two blocks of 3 by 6. */
function drawVersion(set: SetModule, size: number, version: number): void {
  const bits = appendRemainder(version, 0b1111100100101, 12)
  for (let index = 0; index < 18; index++) {
    const dark = ((bits >> index) & 1) === 1
    const [far, near] = [size - 11 + (index % 3), Math.floor(index / 3)]
    set(far, near, dark)
    set(near, far, dark)
  }
}

function appendRemainder(value: number, generator: number, length: number): number {
  let remainder = value << length
  for (let bit = 31 - Math.clz32(remainder); bit >= length; bit--)
    if ((remainder >> bit) & 1) remainder ^= generator << (bit - length)
  return (value << length) | remainder
}

/** Fills the free modules from the bottom right, in columns of two, upwards and downwards in turn. */
function drawData(
  modules: (boolean | undefined)[][],
  codewords: readonly number[],
  isInverted: (row: number, column: number) => boolean,
): void {
  const size = modules.length
  let position = 0
  for (let right = size - 1; right > 0; right -= 2) {
    // The timing pattern has a column of its own.
    if (right === 6) right = 5
    const upwards = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++) {
      const row = upwards ? size - 1 - step : step
      for (const column of [right, right - 1]) {
        if (modules[row]![column] !== undefined) continue
        const bit = ((codewords[position >> 3] ?? 0) >> (7 - (position & 7))) & 1
        position++
        modules[row]![column] = (bit === 1) !== isInverted(row, column)
      }
    }
  }
}

/** How hard a code is to read: runs, blocks, patterns that look like finders, and an uneven share of dark modules. */
function penaltyOf(modules: readonly (readonly boolean[])[]): number {
  const size = modules.length
  const lines = [
    ...modules.map((row) => row.map(Number).join('')),
    ...modules.map((_, column) => modules.map((row) => Number(row[column])).join('')),
  ]
  let penalty = 0
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2
    penalty += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length
  }
  let dark = 0
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const module = modules[row]![column]
      if (module) dark++
      if (
        row > 0 &&
        column > 0 &&
        module === modules[row - 1]![column] &&
        module === modules[row]![column - 1] &&
        module === modules[row - 1]![column - 1]
      )
        penalty += 3
    }
  return penalty + 10 * Math.floor(Math.abs((dark / size ** 2) * 20 - 10))
}

/** Light modules around the code. The standard asks for four; readers of screens are content with two. */
const QUIET_ZONE = 2

/**
 * Lines of half blocks, two rows of modules each. Light modules are drawn, so that the code is dark on light on a dark
 * terminal; the caller sets white on black for terminals of any colour.
 */
export function renderQrCode(code: QrCode): string[] {
  const size = code.length + 2 * QUIET_ZONE
  const isLight = (row: number, column: number) => !code[row - QUIET_ZONE]?.[column - QUIET_ZONE]
  const lines: string[] = []
  for (let row = 0; row < size; row += 2) {
    let line = ''
    for (let column = 0; column < size; column++) {
      const upper = isLight(row, column)
      const lower = row + 1 < size && isLight(row + 1, column)
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }
    lines.push(line)
  }
  return lines
}
