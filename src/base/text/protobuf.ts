/** Bytes that are not a message in the wire format of Protocol Buffers. */
export class MalformedMessage extends Error {
  override name = 'MalformedMessage'
}

/** The types of values that a field can have on the wire; groups, which are obsolete, are rejected. */
const WireType = { varint: 0, bits64: 1, bytes: 2, bits32: 5 } as const

const MAX_VARINT_BYTES = 10
const MAX_FIELD_NUMBER = 2 ** 29 - 1

/** One field of a message: an integer, or bytes whose meaning the field's type tells. */
export interface WireField {
  readonly number: number
  readonly value: bigint | Buffer
  /** Whether `value` has a length of its own, as texts and messages do. */
  readonly isDelimited: boolean
}

/** Reads the fields of a message in their order; the receiver skips those it does not know. */
export function* readFields(message: Buffer): Generator<WireField> {
  let position = 0
  const takeVarint = (): bigint => {
    let value = 0n
    for (let index = 0; index < MAX_VARINT_BYTES && position < message.length; index++) {
      const byte = message[position++]!
      value |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return value
    }
    throw new MalformedMessage('a number has no end')
  }
  const takeBytes = (length: number): Buffer => {
    if (length > message.length - position) throw new MalformedMessage('a field is longer than its message')
    position += length
    return message.subarray(position - length, position)
  }
  while (position < message.length) {
    const tag = takeVarint()
    const number = Number(tag >> 3n)
    if (number === 0 || number > MAX_FIELD_NUMBER) throw new MalformedMessage('a field has no valid number')
    switch (Number(tag & 7n)) {
      case WireType.varint:
        yield { number, value: takeVarint(), isDelimited: false }
        break
      case WireType.bytes:
        yield { number, value: takeBytes(Number(takeVarint())), isDelimited: true }
        break
      case WireType.bits32:
        yield { number, value: takeBytes(4), isDelimited: false }
        break
      case WireType.bits64:
        yield { number, value: takeBytes(8), isDelimited: false }
        break
      default:
        throw new MalformedMessage('a field has an unknown type')
    }
  }
}

/** The bytes of a field that has a length of its own. */
export function bytesOf({ value, isDelimited }: WireField): Buffer {
  if (!isDelimited || typeof value === 'bigint') throw new MalformedMessage('a field has the wrong type')
  return value
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of a field. */
export function textOf(field: WireField): string {
  const bytes = bytesOf(field)
  try {
    return decoder.decode(bytes)
  } catch {
    throw new MalformedMessage('a text is not UTF-8')
  }
}

/** The integer of a field. */
export function integerOf({ value }: WireField): bigint {
  if (typeof value !== 'bigint') throw new MalformedMessage('a field has the wrong type')
  return value
}

/** Writes an integer. */
export function encodeVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Writes a text; an empty one, which is the default, is left out. */
export function encodeText(number: number, text: string): Buffer {
  return text === '' ? Buffer.alloc(0) : encodeBytes(number, Buffer.from(text))
}

/** Writes bytes, such as those of a message. */
export function encodeBytes(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([encodeVarint(number * 8 + WireType.bytes), encodeVarint(bytes.length), bytes])
}
