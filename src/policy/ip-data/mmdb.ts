import { isIpv4Words } from './address-words.ts'

/** A value of the data section. Numbers beyond 2^53 lose digits. */
export type MmdbValue =
  | string
  | number
  | boolean
  | Buffer
  | MmdbValue[]
  | { readonly [key: string]: MmdbValue }

/** The file is not a database in MaxMind's format, or is damaged. */
export class MmdbError extends Error {
  override name = 'MmdbError'
}

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
/** The metadata stands within the last bytes of the file. */
const MAX_METADATA_BYTES = 128 * 1024
const SEPARATOR_BYTES = 16
const MAX_DEPTH = 16
/** Values in one record; real ones have about a hundred. A file may point to the same values again and again. */
const MAX_VALUES = 10_000

interface Tree {
  readonly nodeCount: number
  readonly recordBits: 24 | 28 | 32
  readonly ipVersion: 4 | 6
}

/**
 * Reads databases in MaxMind's format (MMDB 2): a binary tree of address bits whose leaves point into a section of data.
 * The file is used as it is, without a copy. Damaged files throw `MmdbError`, and no file makes it read elsewhere or loop.
 */
export class Mmdb {
  readonly databaseType: string
  /** Seconds since 1970. */
  readonly buildEpoch: number
  readonly #bytes: Buffer
  readonly #tree: Tree
  readonly #data: DataSection
  /** Where IPv4 addresses begin. */
  readonly #ipv4Start: number

  constructor(bytes: Buffer) {
    const start = bytes.lastIndexOf(MARKER)
    if (start === -1 || bytes.length - start > MAX_METADATA_BYTES)
      throw new MmdbError('it is not a database in MMDB format')
    const metadata = readMetadata(bytes.subarray(start + MARKER.length))
    this.databaseType = metadata.databaseType
    this.buildEpoch = metadata.buildEpoch
    this.#tree = metadata.tree
    this.#bytes = bytes
    const { nodeCount, recordBits } = metadata.tree
    const treeBytes = (nodeCount * recordBits) / 4
    if (treeBytes + SEPARATOR_BYTES > start) throw new MmdbError('its search tree is not complete')
    this.#data = new DataSection(bytes.subarray(treeBytes + SEPARATOR_BYTES, start))
    this.#ipv4Start = this.#findIpv4Start()
  }

  /** Where the record of an address is in the data; undefined when there is none. */
  find(words: Uint32Array): number | undefined {
    const { nodeCount, ipVersion } = this.#tree
    const isIpv4 = isIpv4Words(words)
    if (!isIpv4 && ipVersion === 4) return undefined
    let node = isIpv4 ? this.#ipv4Start : 0
    for (let bit = isIpv4 ? 96 : 0; bit < 128 && node < nodeCount; bit++)
      node = this.#child(node, (words[bit >>> 5]! >>> (31 - (bit & 31))) & 1)
    return node > nodeCount ? node - nodeCount - SEPARATOR_BYTES : undefined
  }

  /** Where the first records in the tree are, at most this many. */
  sample(count: number): number[] {
    const { nodeCount } = this.#tree
    const offsets = new Set<number>()
    const nodes = [0]
    for (let visits = 0; visits < MAX_VALUES && offsets.size < count; visits++) {
      const node = nodes.pop()
      if (node === undefined) break
      if (node < nodeCount) nodes.push(this.#child(node, 1), this.#child(node, 0))
      else if (node > nodeCount) offsets.add(node - nodeCount - SEPARATOR_BYTES)
    }
    return [...offsets]
  }

  /** Decodes the record at an offset that `find` returned. */
  read(offset: number): MmdbValue {
    return this.#data.read(offset)
  }

  #child(node: number, side: number): number {
    const bytes = this.#bytes
    switch (this.#tree.recordBits) {
      case 24: {
        const offset = node * 6 + side * 3
        return (bytes[offset]! << 16) | (bytes[offset + 1]! << 8) | bytes[offset + 2]!
      }
      case 28: {
        const offset = node * 7
        const middle = bytes[offset + 3]!
        return side === 0
          ? ((middle & 0xf0) << 20) | (bytes[offset]! << 16) | (bytes[offset + 1]! << 8) | bytes[offset + 2]!
          : ((middle & 0x0f) << 24) |
              (bytes[offset + 4]! << 16) |
              (bytes[offset + 5]! << 8) |
              bytes[offset + 6]!
      }
      case 32:
        return bytes.readUInt32BE(node * 8 + side * 4)
    }
  }

  #findIpv4Start(): number {
    const { nodeCount, ipVersion } = this.#tree
    if (ipVersion === 4) return 0
    let node = 0
    for (let bit = 0; bit < 96 && node < nodeCount; bit++) node = this.#child(node, 0)
    return node
  }
}

function readMetadata(bytes: Buffer): { tree: Tree; databaseType: string; buildEpoch: number } {
  const metadata = new DataSection(bytes).read(0)
  if (!isMap(metadata)) throw new MmdbError('its metadata is no map')
  const {
    node_count: nodeCount,
    record_size: recordBits,
    ip_version: ipVersion,
    binary_format_major_version: version,
    database_type: databaseType = '',
    build_epoch: buildEpoch = 0,
  } = metadata
  if (version !== 2) throw new MmdbError('it is not of version 2 of the MMDB format')
  if (recordBits !== 24 && recordBits !== 28 && recordBits !== 32)
    throw new MmdbError('its records do not have 24, 28 or 32 bits')
  if (ipVersion !== 4 && ipVersion !== 6) throw new MmdbError('its IP version is not 4 or 6')
  if (typeof nodeCount !== 'number' || nodeCount < 1) throw new MmdbError('its search tree is empty')
  return {
    tree: { nodeCount, recordBits, ipVersion },
    databaseType: typeof databaseType === 'string' ? databaseType : '',
    buildEpoch: typeof buildEpoch === 'number' ? buildEpoch : 0,
  }
}

/** Whether a value is a map. */
export const isMap = (value: MmdbValue | undefined): value is { readonly [key: string]: MmdbValue } =>
  typeof value === 'object' && !Array.isArray(value) && !Buffer.isBuffer(value)

/** Added to the values of pointers, by their size. */
const POINTER_BASES = [0, 2048, 526_336, 0]
/** Added to sizes that one, two and three bytes hold. */
const SIZE_BASES = [29, 285, 65_821]

class DataSection {
  readonly #bytes: Buffer
  #position = 0
  #values = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  read(offset: number): MmdbValue {
    this.#position = offset
    this.#values = 0
    return this.#value(0)
  }

  #value(depth: number): MmdbValue {
    if (depth > MAX_DEPTH) throw new MmdbError('its data is nested too deeply')
    if (++this.#values > MAX_VALUES) throw new MmdbError('a record of it has too many values')
    const control = this.#uint(1)
    let type = control >>> 5
    if (type === 1) return this.#pointer(control, depth)
    if (type === 0) type = this.#uint(1) + 7
    const size = this.#size(control & 0x1f)
    switch (type) {
      case 2:
        return this.#text(size)
      case 3:
        return this.#exactly(size, 8).readDoubleBE()
      case 4:
        return this.#take(size)
      case 5:
      case 6:
      case 9:
      case 10:
        return this.#unsigned(size)
      case 8:
        return this.#unsigned(size) | 0
      case 7:
        return this.#map(size, depth)
      case 11:
        return Array.from({ length: this.#count(size) }, () => this.#value(depth + 1))
      case 14:
        return size !== 0
      case 15:
        return this.#exactly(size, 4).readFloatBE()
      default:
        throw new MmdbError(`its data has a value of the unknown type ${type}`)
    }
  }

  #map(size: number, depth: number): MmdbValue {
    const map: { [key: string]: MmdbValue } = {}
    for (let index = this.#count(size); index > 0; index--) {
      const key = this.#value(depth + 1)
      if (typeof key !== 'string' || key === '__proto__')
        throw new MmdbError('its data has a map with a key that cannot be used')
      map[key] = this.#value(depth + 1)
    }
    return map
  }

  #text(size: number): string {
    const start = this.#skip(size)
    return this.#bytes.toString('utf8', start, start + size)
  }

  /** Before memory is reserved: each value takes a byte at least. */
  #count(size: number): number {
    if (size > MAX_VALUES) throw new MmdbError('a record of it has too many values')
    return size
  }

  /** Reading goes on behind the pointer. A pointer must not lead to another. */
  #pointer(control: number, depth: number): MmdbValue {
    const length = (control >>> 3) & 3
    const high = length === 3 ? 0 : (control & 7) * 2 ** (8 * (length + 1))
    const target = high + this.#uint(length + 1) + POINTER_BASES[length]!
    const next = this.#position
    this.#position = target
    if (this.#peek() >>> 5 === 1) throw new MmdbError('its data has a pointer to a pointer')
    const value = this.#value(depth + 1)
    this.#position = next
    return value
  }

  #size(size: number): number {
    if (size < 29) return size
    const extra = size - 28
    return SIZE_BASES[extra - 1]! + this.#uint(extra)
  }

  #unsigned(size: number): number {
    if (size > 16) throw new MmdbError('its data has a number that is too large')
    return this.#uint(size)
  }

  #uint(length: number): number {
    const start = this.#skip(length)
    let value = 0
    for (let index = start; index < start + length; index++) value = value * 256 + this.#bytes[index]!
    return value
  }

  #exactly(size: number, expected: number): Buffer {
    if (size !== expected) throw new MmdbError('its data has a fraction of the wrong size')
    return this.#take(size)
  }

  #peek(): number {
    const byte = this.#bytes[this.#position]
    if (byte === undefined) throw new MmdbError('its data is not complete')
    return byte
  }

  #take(length: number): Buffer {
    const start = this.#skip(length)
    return this.#bytes.subarray(start, start + length)
  }

  /** Returns where the bytes begin that it passes over. */
  #skip(length: number): number {
    const start = this.#position
    if (start + length > this.#bytes.length || start < 0) throw new MmdbError('its data is not complete')
    this.#position = start + length
    return start
  }
}
