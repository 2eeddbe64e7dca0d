import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

// https://sqlite.org/fileformat2.html#walformat
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
const MAX_ATTEMPTS = 5

/**
 * The number of commits in a write-ahead log that SQLite would drop without a word, since something before them is damaged:
 * it reads up to the first frame that is not valid. A commit is flushed before the next one begins, so that two or more are
 * more than a power failure leaves; one alone may never have been confirmed. 0 without a log.
 */
export function countDroppedCommits(file: string): number {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
  try {
    for (let attempt = 1; ; attempt++) {
      const header = readAt(descriptor, 0, HEADER_BYTES)
      const dropped = scan(descriptor, header)
      // Another process may have begun the log anew meanwhile.
      if (attempt === MAX_ATTEMPTS || header.equals(readAt(descriptor, 0, HEADER_BYTES))) return dropped
    }
  } finally {
    closeSync(descriptor)
  }
}

function scan(descriptor: number, header: Buffer): number {
  // A file system may have made the file longer and lost its first bytes in a power failure: nothing was confirmed yet.
  if (header.length < HEADER_BYTES || header.every((byte) => byte === 0)) return 0
  const magic = header.readUInt32BE(0)
  const littleEndian = magic % 2 === 0
  let sums = checksum(header, 0, 24, littleEndian, [0, 0])
  let valid =
    magic - (magic % 2) === MAGIC &&
    sums[0] === header.readUInt32BE(24) &&
    sums[1] === header.readUInt32BE(28)
  const pageBytes = valid ? header.readUInt32BE(8) : DEFAULT_PAGE_BYTES
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const { size } = fstatSync(descriptor)
  // A damaged header does not say which frames are from before the log last began anew, but the first one is not.
  const salt = valid ? header.subarray(16, 24) : readAt(descriptor, HEADER_BYTES + 8, 8)
  let dropped = 0
  for (let offset = HEADER_BYTES; offset + frameBytes <= size; offset += frameBytes) {
    const frame = readAt(descriptor, offset, frameBytes)
    if (frame.length < frameBytes) break
    const isCurrent = frame.subarray(8, 16).equals(salt)
    if (valid) {
      sums = checksum(frame, 0, 8, littleEndian, sums)
      sums = checksum(frame, FRAME_HEADER_BYTES, frameBytes, littleEndian, sums)
      valid = isCurrent && sums[0] === frame.readUInt32BE(16) && sums[1] === frame.readUInt32BE(20)
    }
    const isCommit = frame.readUInt32BE(4) !== 0
    if (!valid && isCurrent && isCommit) dropped += 1
  }
  return dropped
}

/** SQLite's default, which our databases have. */
const DEFAULT_PAGE_BYTES = 4096

type Checksum = readonly [number, number]

function checksum(
  bytes: Buffer,
  start: number,
  end: number,
  littleEndian: boolean,
  [first, second]: Checksum,
): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [one, two] = [first, second]
  for (let offset = start; offset < end; offset += 8) {
    one = (one + view.getUint32(offset, littleEndian) + two) >>> 0
    two = (two + view.getUint32(offset + 4, littleEndian) + one) >>> 0
  }
  return [one, two]
}

/** Up to this many bytes; fewer at the end of the file. */
function readAt(descriptor: number, offset: number, length: number): Buffer {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset))
}
