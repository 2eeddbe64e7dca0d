import { parseCidr } from '../../src/base/values/cidr.ts'

/** A value of a database; whole numbers are written as uint32, others as double. */
export type Data = string | number | boolean | readonly Data[] | { readonly [key: string]: Data }

interface Options {
  readonly recordBits?: 24 | 28 | 32
  readonly ipVersion?: 4 | 6
  readonly databaseType?: string
}

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

type Node = [left: Node | number | undefined, right: Node | number | undefined]

/** Writes a database in MMDB format 2 with a record for each range; later ranges win. */
export function writeMmdb(
  records: readonly (readonly [cidr: string, record: Data])[],
  options: Options = {},
) {
  const { recordBits = 28, ipVersion = 6, databaseType = 'Test' } = options
  const root: Node = [undefined, undefined]
  const chunks: Buffer[] = []
  const offsets = new Map<string, number>()
  let length = 0
  for (const [cidr, record] of records) {
    const bytes = encode(record)
    const key = bytes.toString('latin1')
    if (!offsets.has(key)) {
      offsets.set(key, length)
      chunks.push(bytes)
      length += bytes.length
    }
    insert(root, bitsOf(cidr, ipVersion), offsets.get(key)!)
  }
  const { tree, nodeCount } = writeTree(root, recordBits)
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: databaseType,
    description: {},
    ip_version: ipVersion,
    languages: ['en'],
    node_count: nodeCount,
    record_size: recordBits,
  })
  return Buffer.concat([tree, Buffer.alloc(16), ...chunks, MARKER, metadata])
}

function bitsOf(cidr: string, ipVersion: 4 | 6): number[] {
  const { family, base, bits } = parseCidr(cidr)
  const width = family === 4 ? 32 : 128
  const own = Array.from({ length: bits }, (_, index) => Number((base >> BigInt(width - 1 - index)) & 1n))
  return family === 4 && ipVersion === 6 ? [...new Array<number>(96).fill(0), ...own] : own
}

function insert(root: Node, bits: readonly number[], offset: number): void {
  let node = root
  for (const bit of bits.slice(0, -1)) {
    const child = node[bit as 0 | 1]
    const next: Node = Array.isArray(child) ? child : [child, child]
    node[bit as 0 | 1] = next
    node = next
  }
  node[bits.at(-1) as 0 | 1] = offset
}

function writeTree(root: Node, recordBits: 24 | 28 | 32) {
  const numbers = new Map<Node, number>([[root, 0]])
  for (const [node] of numbers)
    for (const child of node) if (Array.isArray(child)) numbers.set(child, numbers.size)
  const nodeCount = numbers.size
  const tree = Buffer.alloc((nodeCount * recordBits) / 4)
  const recordValue = (child: Node | number | undefined) => {
    if (child === undefined) return nodeCount
    return Array.isArray(child) ? numbers.get(child)! : child + nodeCount + 16
  }
  for (const [node, number] of numbers)
    writeRecords(tree, (number * recordBits) / 4, recordBits, recordValue(node[0]), recordValue(node[1]))
  return { tree, nodeCount }
}

function writeRecords(tree: Buffer, offset: number, recordBits: 24 | 28 | 32, left: number, right: number) {
  if (recordBits !== 28) {
    tree.writeUIntBE(left, offset, recordBits / 8)
    tree.writeUIntBE(right, offset + recordBits / 8, recordBits / 8)
    return
  }
  tree.writeUIntBE(left & 0xffffff, offset, 3)
  tree[offset + 3] = ((left >>> 24) << 4) | (right >>> 24)
  tree.writeUIntBE(right & 0xffffff, offset + 4, 3)
}

function encode(value: Data): Buffer {
  if (typeof value === 'string') return field(2, Buffer.from(value))
  if (typeof value === 'boolean') return control(14, value ? 1 : 0)
  if (typeof value === 'number') return encodeNumber(value)
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, entry]) => [encode(key), encode(entry as Data)]),
  ])
}

function encodeNumber(value: number): Buffer {
  if (Number.isInteger(value) && value >= 0) {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return field(6, bytes)
  }
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return field(3, bytes)
}

const field = (type: number, bytes: Buffer) => Buffer.concat([control(type, bytes.length), bytes])

function control(type: number, size: number): Buffer {
  const first = type > 7 ? 0 : type << 5
  const extended = type > 7 ? [type - 7] : []
  if (size < 29) return Buffer.from([first | size, ...extended])
  if (size < 285) return Buffer.from([first | 29, ...extended, size - 29])
  return Buffer.from([first | 30, ...extended, (size - 285) >> 8, (size - 285) & 0xff])
}
