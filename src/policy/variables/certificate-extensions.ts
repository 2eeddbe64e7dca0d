import type { X509Certificate } from 'node:crypto'
import { once } from './shape.ts'

/** An extension of a certificate (RFC 5280 section 4.1). */
export interface CertificateExtension {
  /** The object identifier, such as `2.5.29.17`. */
  readonly id: string
  readonly critical: boolean
  /** The DER encoding of what the extension holds. */
  readonly value: Uint8Array
}

const OBJECT_ID = 0x06
const BOOLEAN = 0x01
/** `[3]`, which holds the extensions of a certificate. */
const EXTENSIONS = 0xa3

/** Far more than any object identifier has; converting one takes the square of its length. */
const MAX_OBJECT_ID_BYTES = 128

/** The extensions of a certificate, which OpenSSL has parsed before; none where the encoding cannot be followed. */
export const readExtensions = once(({ raw }: X509Certificate): readonly CertificateExtension[] =>
  parseExtensions(raw),
)

function parseExtensions(raw: Buffer): CertificateExtension[] {
  try {
    const [outer] = elementsOf(raw)
    const [tbsCertificate] = elementsOf(outer!.content)
    const holder = elementsOf(tbsCertificate!.content).find(({ tag }) => tag === EXTENSIONS)
    const [list] = elementsOf(holder?.content ?? Buffer.alloc(0))
    return elementsOf(list?.content ?? Buffer.alloc(0)).map(({ content }) => {
      const parts = elementsOf(content)
      return {
        id: toObjectId(parts.find(({ tag }) => tag === OBJECT_ID)!.content),
        critical: parts.some(({ tag, content: [flag = 0] }) => tag === BOOLEAN && flag !== 0),
        value: Uint8Array.from(parts.at(-1)!.content),
      }
    })
  } catch {
    return []
  }
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

/** The DER elements that follow each other in these bytes. */
function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = []
  for (let position = 0; position < bytes.length; ) {
    const tag = bytes.readUInt8(position)
    const short = bytes.readUInt8(position + 1)
    const lengthBytes = short < 0x80 ? 0 : short & 0x7f
    const start = position + 2 + lengthBytes
    const length = lengthBytes === 0 ? short : bytes.readUIntBE(position + 2, lengthBytes)
    if (start + length > bytes.length) throw new RangeError('an element ends after its container')
    elements.push({ tag, content: bytes.subarray(start, start + length) })
    position = start + length
  }
  return elements
}

/** X.690 section 8.19: groups of seven bits, the first two numbers in one. */
function toObjectId(bytes: Buffer): string {
  if (bytes.length > MAX_OBJECT_ID_BYTES) throw new RangeError('an object identifier is too long')
  const numbers: bigint[] = []
  let number = 0n
  for (const byte of bytes) {
    number = (number << 7n) | BigInt(byte & 0x7f)
    if (byte & 0x80) continue
    numbers.push(number)
    number = 0n
  }
  const [first = 0n, ...rest] = numbers
  const root = first >= 80n ? 2n : first / 40n
  return [root, first - root * 40n, ...rest].join('.')
}
