import { createHmac, timingSafeEqual } from 'node:crypto'

/** The MACs of RFC 8945 section 6 that are still recommended, by their name on the wire. */
export const TSIG_ALGORITHMS = {
  'hmac-sha256': 'sha256',
  'hmac-sha384': 'sha384',
  'hmac-sha512': 'sha512',
} as const

/** A key shared with a name server. */
export interface TsigKey {
  readonly name: string
  readonly algorithm: keyof typeof TSIG_ALGORITHMS
  readonly secret: Buffer
}

const HEADER_BYTES = 12
const ID_BYTES = 2
const ARCOUNT_OFFSET = 10
const TSIG = 250
const ANY = 255
const FUDGE_SECONDS = 300
const TIME_BYTES = 6

/** Why a server rejected the signature of a request (RFC 8945 section 3). */
const TSIG_ERRORS: Readonly<Record<number, string>> = {
  16: 'the secret or the algorithm of the key is not the one that the server has (BADSIG)',
  17: 'the server does not know the key (BADKEY)',
  18: 'the clocks of this machine and the server differ (BADTIME)',
  22: 'the server requires a longer signature (BADTRUNC)',
}

/** Appends a TSIG record to a message (RFC 8945). Returns its MAC too, which the response is signed with. */
export function signMessage(message: Buffer, key: TsigKey, now: number): { bytes: Buffer; mac: Buffer } {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(Math.floor(now / 1000), 0, TIME_BYTES)
  const mac = computeMac(key, [message, variables(key, time, FUDGE_SECONDS, 0, Buffer.alloc(0))])
  const rdata = Buffer.concat([
    encodeName(key.algorithm),
    time,
    uint16(FUDGE_SECONDS),
    uint16(mac.length),
    mac,
    message.subarray(0, ID_BYTES),
    uint16(0),
    uint16(0),
  ])
  const ttl = Buffer.alloc(4)
  const record = [encodeName(key.name), uint16(TSIG), uint16(ANY), ttl, uint16(rdata.length), rdata]
  const bytes = Buffer.concat([message, ...record])
  bytes.writeUInt16BE(message.readUInt16BE(ARCOUNT_OFFSET) + 1, ARCOUNT_OFFSET)
  return { bytes, mac }
}

/** Whether a message ends with a TSIG record. */
export function isSigned(message: Buffer): boolean {
  return findTsig(message) !== undefined
}

/** Verifies the signature of a response. Throws the reason when it is missing, wrong or says that ours was rejected. */
export function verifyResponse(response: Buffer, key: TsigKey, requestMac: Buffer, now: number): void {
  const record = findTsig(response)
  if (record === undefined) throw new Error('the response is not signed')
  const { start, time, fudge, mac, originalId, error, other } = record
  const rejection = TSIG_ERRORS[error]
  if (rejection !== undefined) throw new Error(rejection)
  // The message as it was before the record was added.
  const message = Buffer.from(response.subarray(0, start))
  originalId.copy(message)
  message.writeUInt16BE(message.readUInt16BE(ARCOUNT_OFFSET) - 1, ARCOUNT_OFFSET)
  const expected = computeMac(key, [
    uint16(requestMac.length),
    requestMac,
    message,
    variables(key, time, fudge, error, other),
  ])
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected))
    throw new Error('the signature of the response is wrong')
  const skewSeconds = Math.abs(time.readUIntBE(0, TIME_BYTES) - now / 1000)
  if (skewSeconds > fudge) throw new Error('the signature of the response has expired')
}

function computeMac({ algorithm, secret }: TsigKey, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(TSIG_ALGORITHMS[algorithm], secret)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

/** The fields of the TSIG record that the MAC covers (RFC 8945 section 4.3.3). */
function variables(key: TsigKey, time: Buffer, fudge: number, error: number, other: Buffer): Buffer {
  return Buffer.concat([
    encodeName(key.name),
    uint16(ANY),
    Buffer.alloc(4),
    encodeName(key.algorithm),
    time,
    uint16(fudge),
    uint16(error),
    uint16(other.length),
    other,
  ])
}

/** The TSIG record, which is the last one of a signed message. */
function findTsig(message: Buffer) {
  let offset = HEADER_BYTES
  for (let question = message.readUInt16BE(4); question > 0; question -= 1)
    offset = skipName(message, offset) + 4
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(ARCOUNT_OFFSET)
  let start = offset
  let type = 0
  let data = message.subarray(0, 0)
  for (let index = 0; index < records; index += 1) {
    start = offset
    const fields = skipName(message, offset)
    type = message.readUInt16BE(fields)
    const dataStart = fields + 10
    offset = dataStart + message.readUInt16BE(fields + 8)
    data = message.subarray(dataStart, offset)
  }
  if (type !== TSIG) return undefined
  const timeStart = skipName(data, 0)
  const macStart = timeStart + TIME_BYTES + 4
  const macEnd = macStart + data.readUInt16BE(macStart - 2)
  return {
    start,
    time: data.subarray(timeStart, timeStart + TIME_BYTES),
    fudge: data.readUInt16BE(timeStart + TIME_BYTES),
    mac: data.subarray(macStart, macEnd),
    originalId: data.subarray(macEnd, macEnd + ID_BYTES),
    error: data.readUInt16BE(macEnd + 2),
    other: data.subarray(macEnd + 6, macEnd + 6 + data.readUInt16BE(macEnd + 4)),
  }
}

/** The offset behind a name, which may end in a compression pointer. */
function skipName(message: Buffer, start: number): number {
  let offset = start
  for (;;) {
    const length = message.readUInt8(offset)
    if (length >= 0xc0) return offset + 2
    offset += 1 + length
    if (length === 0) return offset
  }
}

/** A name in wire format, in the canonical lower case. */
function encodeName(name: string): Buffer {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  return Buffer.concat([
    ...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1')),
    Buffer.alloc(1),
  ])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
