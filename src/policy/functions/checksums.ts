const MASK = (1n << 64n) - 1n

/** CRC-64 with the polynomial of ISO 3309, as Go computes it. */
export function crc64(bytes: Uint8Array): string {
  let crc = MASK
  for (const byte of bytes) crc = CRC_TABLE[Number((crc ^ BigInt(byte)) & 0xffn)]! ^ (crc >> 8n)
  return hex(crc ^ MASK)
}

const CRC_TABLE = Array.from({ length: 256 }, (_, index) => {
  let crc = BigInt(index)
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1n) === 1n ? (crc >> 1n) ^ 0xd800000000000000n : crc >> 1n
  return crc
})

const P1 = 11400714785074694791n
const P2 = 14029467366897019727n
const P3 = 1609587929392839161n
const P4 = 9650029242287828579n
const P5 = 2870177450012600261n

const rotate = (value: bigint, bits: bigint) => ((value << bits) | (value >> (64n - bits))) & MASK
const round = (state: bigint, input: bigint) => (rotate((state + input * P2) & MASK, 31n) * P1) & MASK
const merge = (hash: bigint, state: bigint) => ((hash ^ round(0n, state)) * P1 + P4) & MASK

/** XXH64 with seed 0. */
export function xxhash64(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (offset: number) => view.getBigUint64(offset, true)
  let position = 0
  let hash = P5
  if (bytes.length >= 32) {
    const states = [(P1 + P2) & MASK, P2, 0n, (MASK + 1n - P1) & MASK]
    for (; position + 32 <= bytes.length; position += 32)
      for (let index = 0; index < 4; index++)
        states[index] = round(states[index]!, word(position + 8 * index))
    const [one, two, three, four] = states as [bigint, bigint, bigint, bigint]
    hash = (rotate(one, 1n) + rotate(two, 7n) + rotate(three, 12n) + rotate(four, 18n)) & MASK
    for (const state of states) hash = merge(hash, state)
  }
  hash = (hash + BigInt(bytes.length)) & MASK
  for (; position + 8 <= bytes.length; position += 8)
    hash = (rotate(hash ^ round(0n, word(position)), 27n) * P1 + P4) & MASK
  if (position + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(view.getUint32(position, true)) * P1) & MASK), 23n) * P2 + P3) & MASK
    position += 4
  }
  for (; position < bytes.length; position++)
    hash = (rotate(hash ^ ((BigInt(bytes[position]!) * P5) & MASK), 11n) * P1) & MASK
  hash = ((hash ^ (hash >> 33n)) * P2) & MASK
  hash = ((hash ^ (hash >> 29n)) * P3) & MASK
  return hex(hash ^ (hash >> 32n))
}

const hex = (value: bigint) => value.toString(16).padStart(16, '0')
