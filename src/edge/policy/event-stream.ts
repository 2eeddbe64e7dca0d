import { compose, type Duplex, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { PolicyFailure } from '../contracts/policy-failure.ts'

/** The longest message; a longer one ends the stream, since what a policy was to remove must not slip through. */
const MAX_MESSAGE_LENGTH = 1024 * 1024
const LINE_END = /\r\n|\n|\r/

/** A message of an event stream, as HTML's chapter on server-sent events defines it. */
export class EventMessage {
  readonly #lines: readonly string[]
  readonly #changed = new Map<string, string>()

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  /** The value of a field; several lines of it are one text. Undefined when the message does not have it. */
  get(field: string): string | undefined {
    const changed = this.#changed.get(field)
    if (changed !== undefined) return changed
    const values = this.#lines.filter((line) => nameOf(line) === field).map(contentOf)
    return values.length === 0 ? undefined : values.join('\n')
  }

  set(field: string, value: string): void {
    this.#changed.set(field, value)
  }

  /** Fields that were set take the place of their first line; all others stay as they are. */
  get text(): string {
    const written = new Set<string>()
    const lines = this.#lines.flatMap((line) => {
      const name = nameOf(line)
      const value = this.#changed.get(name)
      if (value === undefined) return [line]
      if (written.has(name)) return []
      written.add(name)
      return value.split(LINE_END).map((part) => `${name}: ${part}`)
    })
    return `${lines.join('\n')}\n\n`
  }
}

const nameOf = (line: string) => line.split(':', 1)[0]!
const contentOf = (line: string) => line.slice(nameOf(line).length + 1).replace(/^ /, '')

/** Divides a text that arrives in parts into messages. */
class MessageReader {
  #line = ''
  #lines: string[] = []
  #length = 0
  #afterReturn = false

  #extend(text: string): void {
    this.#line += text
    this.#length += text.length
    if (this.#length > MAX_MESSAGE_LENGTH)
      throw new PolicyFailure('a message of the event stream is too long')
  }

  /** The messages that this part completes. */
  *push(text: string): Generator<EventMessage> {
    // The second half of a CRLF ends no further line.
    const part = this.#afterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#afterReturn = text.endsWith('\r')
    const [first = '', ...others] = part.split(LINE_END)
    this.#extend(first)
    for (const start of others) {
      const isBlank = this.#line === ''
      if (!isBlank) this.#lines.push(this.#line)
      this.#line = ''
      if (isBlank) yield* this.end()
      this.#extend(start)
    }
  }

  /** What has no blank line behind it; clients differ in what they do with it. */
  *end(): Generator<EventMessage> {
    const lines = this.#line === '' ? this.#lines : [...this.#lines, this.#line]
    this.#line = ''
    this.#lines = []
    this.#length = 0
    if (lines.length > 0) yield new EventMessage(lines)
  }
}

/** Changes the messages of an event stream, one after the other. */
export function createEventTransform(
  change: (message: EventMessage) => Promise<unknown> | undefined,
): Transform {
  const decoder = new TextDecoder()
  const reader = new MessageReader()
  const pushAll = async (stream: Transform, messages: Iterable<EventMessage>) => {
    for (const message of messages) {
      await change(message)
      stream.push(message.text)
    }
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pushAll(this, reader.push(decoder.decode(chunk, { stream: true }))).then(() => done(), done)
    },
    flush(done) {
      pushAll(this, reader.end()).then(() => done(), done)
    },
  })
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** The transform behind one that decodes; undefined for a coding that cannot be read. */
export function decodeFirst(coding: string, transform: Transform): Duplex | undefined {
  if (coding === '' || coding === 'identity') return transform
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding]!() : undefined
  return decoder && compose(decoder, transform)
}
