/** The types whose data begins with names, and how many; RFC 3597 section 4 forbids to compress those of newer types. */
const NAMES_IN_DATA: ReadonlyMap<number, number> = new Map([
  [2, 1], // NS
  [5, 1], // CNAME
  [6, 2], // SOA
])

const POINTER = 0xc000
const MAX_POINTER_TARGET = 0x3fff
const HEADER_BYTES = 12
/** Type, class, TTL and length of the data. */
const FIXED_BYTES = 10

/**
 * Replaces names that a message repeats by pointers (RFC 1035 section 4.1.4). The question of the message ends at
 * `recordsAt`, and its names contain no pointers yet.
 */
export function compressNames(message: Buffer, recordsAt: number): Buffer {
  const output = Buffer.alloc(message.length)
  /** Where each name and each of its ancestors is written, by their labels as bytes. */
  const written = new Map<string, number>()
  let from = HEADER_BYTES
  let to = HEADER_BYTES

  function copy(bytes: number): void {
    message.copy(output, to, from, from + bytes)
    from += bytes
    to += bytes
  }

  function copyName(): void {
    for (;;) {
      const length = message[from]!
      if (length === 0) {
        copy(1)
        return
      }
      const name = message.toString('latin1', from, endOfName(message, from))
      const target = written.get(name)
      if (target !== undefined) {
        to = output.writeUInt16BE(POINTER | target, to)
        from += name.length
        return
      }
      if (to <= MAX_POINTER_TARGET) written.set(name, to)
      copy(1 + length)
    }
  }

  message.copy(output, 0, 0, HEADER_BYTES)
  copyName()
  copy(recordsAt - from)
  while (from < message.length) {
    copyName()
    const type = message.readUInt16BE(from)
    const dataEnd = from + FIXED_BYTES + message.readUInt16BE(from + FIXED_BYTES - 2)
    copy(FIXED_BYTES)
    const dataStart = to
    for (let names = NAMES_IN_DATA.get(type) ?? 0; names > 0; names--) copyName()
    copy(dataEnd - from)
    output.writeUInt16BE(to - dataStart, dataStart - 2)
  }
  return output.subarray(0, to)
}

function endOfName(message: Buffer, start: number): number {
  let end = start
  while (message[end] !== 0) end += 1 + message[end]!
  return end + 1
}
