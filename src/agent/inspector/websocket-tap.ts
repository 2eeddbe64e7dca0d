import { headerFields } from '../http1.ts'
import type { Copier } from './copier.ts'
import { type Frame, type FrameSource, MOST_PAYLOAD } from './frame-log.ts'
import { MessageInflater } from './message-inflater.ts'
import { type ScannedMessage, WebSocketScanner } from './websocket-scanner.ts'

/** Compressed bytes that may wait to be decoded; what comes beyond that is shown as it came. */
const MOST_WAITING = 128 * 1024

/** Both windows, and messages that wait or have not come whole. */
const RESERVE = 256 * 1024

const KINDS: Readonly<Record<number, Frame['kind']>> = {
  1: 'text',
  2: 'binary',
  8: 'close',
  9: 'ping',
  10: 'pong',
}

/** Where the messages go. */
export interface WebSocketTapEvents {
  readonly copier: Copier
  now(): number
  /** False when nobody keeps them any more. */
  frame(frame: Omit<Frame, 'index'>): boolean
  broken(): void
}

const NONE = { client: undefined, server: undefined }

interface Waiting {
  from: FrameSource
  time: number
  message: ScannedMessage
}

/**
 * Listens to both directions of an upgraded connection. Compressed messages are decoded between turns of traffic, and
 * not at all when they come faster than that.
 */
export class WebSocketTap {
  readonly #events: WebSocketTapEvents
  readonly #scanners: Readonly<Record<FrameSource, WebSocketScanner>>
  #inflaters: Readonly<Record<FrameSource, MessageInflater | undefined>>
  readonly #waiting: Waiting[] = []
  #waitingBytes = 0
  #over = false

  /** `head` is that of the 101 answer, which says how messages are compressed. */
  constructor(head: Buffer, events: WebSocketTapEvents) {
    this.#events = events
    this.#scanners = { client: this.#scanner('client', true), server: this.#scanner('server', false) }
    this.#inflaters = inflatersOf(head)
  }

  /** Bytes that undoing compression may take. */
  get reserve(): number {
    return this.#inflaters === NONE ? 0 : RESERVE
  }

  push(from: FrameSource, chunk: Buffer): void {
    if (!this.#over) this.#scanners[from].push(chunk)
  }

  #scanner(from: FrameSource, masked: boolean): WebSocketScanner {
    return new WebSocketScanner(masked, this.#events.copier, {
      message: (message) => this.#take({ from, time: this.#events.now(), message }),
      broken: () => {
        this.#over = true
        this.#events.broken()
      },
    })
  }

  #take(waiting: Waiting): void {
    const { compressed, payload } = waiting.message
    // The order is kept: what comes while something is being decoded waits behind it.
    if (!compressed && this.#waiting.length === 0) {
      this.#tell(waiting, payload, false)
      return
    }
    this.#waitingBytes += payload.length
    this.#waiting.push(waiting)
    if (this.#waiting.length === 1) setImmediate(() => this.#decodeNext())
    if (this.#waitingBytes > MOST_WAITING) this.#giveUp()
  }

  #decodeNext(): void {
    const waiting = this.#waiting.shift()
    if (!waiting) return
    const { message, from } = waiting
    this.#waitingBytes -= message.payload.length
    const inflater = message.compressed ? this.#inflaters[from] : undefined
    const whole = message.payload.length === message.size
    const decoded = whole ? inflater?.decode(message.payload) : undefined
    if (!whole) inflater?.skip()
    this.#tell(waiting, decoded ?? message.payload, decoded !== undefined)
    if (this.#waiting.length > 0) setImmediate(() => this.#decodeNext())
  }

  #giveUp(): void {
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.message.compressed) this.#inflaters[waiting.from]?.skip()
      this.#tell(waiting, waiting.message.payload, false)
    }
    this.#waitingBytes = 0
  }

  #tell({ from, time, message }: Waiting, content: Buffer, decoded: boolean): void {
    const { opcode, fragments, size, compressed } = message
    const payload = content.length > MOST_PAYLOAD ? Buffer.from(content.subarray(0, MOST_PAYLOAD)) : content
    const kept = this.#events.frame({
      time,
      from,
      kind: KINDS[opcode] ?? 'binary',
      opcode,
      fragments,
      size,
      payload,
      truncated: decoded ? payload.length < content.length : payload.length < size,
      ...(compressed ? { compressed, decoded } : {}),
    })
    if (kept) return
    this.#over = true
    this.#inflaters = NONE
  }
}

/** True when an answer has upgraded its connection to WebSocket. */
export function isWebSocket(head: Buffer): boolean {
  return headerFields(head).some(
    ([name, value]) => name.toLowerCase() === 'upgrade' && value.toLowerCase() === 'websocket',
  )
}

/** RFC 7692 section 7.1: a side that keeps its context refers back to earlier messages. */
function inflatersOf(head: Buffer): Readonly<Record<FrameSource, MessageInflater | undefined>> {
  const extensions = headerFields(head)
    .filter(([name]) => name.toLowerCase() === 'sec-websocket-extensions')
    .map(([, value]) => value.toLowerCase())
    .join(',')
  if (!/(^|,)[ \t]*permessage-deflate[ \t]*(;|,|$)/.test(extensions)) return NONE
  return {
    client: new MessageInflater(!extensions.includes('client_no_context_takeover')),
    server: new MessageInflater(!extensions.includes('server_no_context_takeover')),
  }
}
