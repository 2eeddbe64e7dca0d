import { hash } from 'node:crypto'

/** The parts of a ClientHello that tell clients apart. */
export interface ClientHello {
  readonly version: number
  readonly cipherSuites: Buffer
  readonly extensions: readonly { readonly type: number; readonly body: Buffer }[]
}

/** Types of extensions. */
export const SERVER_NAME = 0
const SIGNATURE_ALGORITHMS = 13
const ALPN = 16
const SUPPORTED_VERSIONS = 43

const VERSIONS: Readonly<Record<number, string>> = {
  772: '13',
  771: '12',
  770: '11',
  769: '10',
  768: 's3',
}

/** The bytes after a length field of `width` bytes at `offset`, undefined when the buffer is too short. */
export function readVector(bytes: Buffer, offset: number, width: 1 | 2): Buffer | undefined {
  if (offset + width > bytes.length) return undefined
  const length = bytes.readUIntBE(offset, width)
  return offset + width + length > bytes.length
    ? undefined
    : bytes.subarray(offset + width, offset + width + length)
}

/**
 * The JA4 fingerprint of a TLS client over TCP: its version and how many ciphers and extensions it offers, then hashes of
 * both lists. It is the same whatever order the client shuffles them into.
 */
export function ja4Of(hello: ClientHello): string {
  const ciphers = readNumbers(hello.cipherSuites)
  const types = hello.extensions.map(({ type }) => type).filter((type) => !isGrease(type))
  const bodyOf = (extension: number) => hello.extensions.find(({ type }) => type === extension)?.body
  const versions = readNumbers(readVector(bodyOf(SUPPORTED_VERSIONS) ?? Buffer.of(), 0, 1))
  const version = VERSIONS[versions.length > 0 ? Math.max(...versions) : hello.version] ?? '00'
  const hasName = types.includes(SERVER_NAME) ? 'd' : 'i'
  const signatures = readNumbers(readVector(bodyOf(SIGNATURE_ALGORITHMS) ?? Buffer.of(), 0, 2))
  const hashedTypes = types.filter((type) => type !== SERVER_NAME && type !== ALPN)
  return [
    `t${version}${hasName}${toCount(ciphers)}${toCount(types)}${alpnOf(bodyOf(ALPN))}`,
    toHash(toHexList(sorted(ciphers))),
    toHash([toHexList(sorted(hashedTypes)), toHexList(signatures)].filter((list) => list !== '').join('_')),
  ].join('_')
}

/** Values that clients add so that servers keep ignoring what they do not know (RFC 8701). */
const isGrease = (value: number) => (value & 0x0f0f) === 0x0a0a && value >> 8 === (value & 0xff)

function readNumbers(bytes: Buffer = Buffer.of()): number[] {
  const numbers: number[] = []
  for (let offset = 0; offset + 2 <= bytes.length; offset += 2) numbers.push(bytes.readUInt16BE(offset))
  return numbers.filter((value) => !isGrease(value))
}

/** The first and last character of the first protocol, of its hex form if they are no letters or digits. */
function alpnOf(body: Buffer = Buffer.of()): string {
  const protocol = readVector(readVector(body, 0, 2) ?? Buffer.of(), 0, 1)?.toString('latin1') ?? ''
  if (protocol === '') return '00'
  const ends = `${protocol.at(0)}${protocol.at(-1)}`
  if (/^[0-9A-Za-z]{2}$/.test(ends)) return ends
  const hex = Buffer.from(protocol, 'latin1').toString('hex')
  return `${hex.at(0)}${hex.at(-1)}`
}

// The order of numbers is that of their hex forms, and sorting them is cheap however many a client sends.
const sorted = (values: readonly number[]) => [...Uint16Array.from(values).sort()]

const toHexList = (values: readonly number[]) =>
  values.map((value) => value.toString(16).padStart(4, '0')).join()

const toCount = ({ length }: readonly unknown[]) => String(Math.min(length, 99)).padStart(2, '0')

const toHash = (text: string) => (text === '' ? '0'.repeat(12) : hash('sha256', text).slice(0, 12))
