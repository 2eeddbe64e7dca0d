import { headerFields } from '../http1.ts'
import type { Copier } from './copier.ts'
import { type CapturedFrame, type FrameSource, MAX_PAYLOAD_BYTES } from './frame-log.ts'
import { MessageInflater } from './message-inflater.ts'
import { type ScannedMessage, WebSocketScanner } from './websocket-scanner.ts'

/** Compressed bytes that may wait to be decoded; what comes beyond that is shown as it came. */
const MAX_PENDING_BYTES = 128 * 1024

/** Both windows, and messages that wait or have not come whole. */
const RESERVED_BYTES = 256 * 1024

const KINDS: Readonly<Record<number, CapturedFrame['kind']>> = {
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
  onFrame(frame: Omit<CapturedFrame, 'index'>): boolean
  onInvalid(): void
}

const NO_INFLATERS = { client: undefined, server: undefined }

interface PendingMessage {
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
  readonly #pending: PendingMessage[] = []
  #pendingBytes = 0
  #stopped = false

  /** `head` is that of the 101 answer, which says how messages are compressed. */
  constructor(head: Buffer, events: WebSocketTapEvents) {
    this.#events = events
    this.#scanners = {
      client: this.#createScanner('client', true),
      server: this.#createScanner('server', false),
    }
    this.#inflaters = createInflaters(head)
  }

  /** Bytes that undoing compression may take. */
  get reservedBytes(): number {
    return this.#inflaters === NO_INFLATERS ? 0 : RESERVED_BYTES
  }

  push(from: FrameSource, chunk: Buffer): void {
    if (!this.#stopped) this.#scanners[from].push(chunk)
  }

  #createScanner(from: FrameSource, masked: boolean): WebSocketScanner {
    return new WebSocketScanner(masked, this.#events.copier, {
      message: (message) => this.#enqueue({ from, time: this.#events.now(), message }),
      broken: () => {
        this.#stopped = true
        this.#events.onInvalid()
      },
    })
  }

  #enqueue(pending: PendingMessage): void {
    const { compressed, payload } = pending.message
    // The order is kept: what comes while something is being decoded waits behind it.
    if (!compressed && this.#pending.length === 0) {
      this.#emit(pending, payload, false)
      return
    }
    this.#pendingBytes += payload.length
    this.#pending.push(pending)
    if (this.#pending.length === 1) setImmediate(() => this.#decodeNext())
    if (this.#pendingBytes > MAX_PENDING_BYTES) this.#flushUndecoded()
  }

  #decodeNext(): void {
    const pending = this.#pending.shift()
    if (!pending) return
    const { message, from } = pending
    this.#pendingBytes -= message.payload.length
    const inflater = message.compressed ? this.#inflaters[from] : undefined
    const complete = message.payload.length === message.size
    const decoded = complete ? inflater?.decode(message.payload) : undefined
    if (!complete) inflater?.skip()
    this.#emit(pending, decoded ?? message.payload, decoded !== undefined)
    if (this.#pending.length > 0) setImmediate(() => this.#decodeNext())
  }

  #flushUndecoded(): void {
    for (const pending of this.#pending.splice(0)) {
      if (pending.message.compressed) this.#inflaters[pending.from]?.skip()
      this.#emit(pending, pending.message.payload, false)
    }
    this.#pendingBytes = 0
  }

  #emit({ from, time, message }: PendingMessage, content: Buffer, decoded: boolean): void {
    const { opcode, fragments, size, compressed } = message
    const payload =
      content.length > MAX_PAYLOAD_BYTES ? Buffer.from(content.subarray(0, MAX_PAYLOAD_BYTES)) : content
    const accepted = this.#events.onFrame({
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
    if (accepted) return
    this.#stopped = true
    this.#inflaters = NO_INFLATERS
  }
}

/** True when an answer has upgraded its connection to WebSocket. */
export function isWebSocket(head: Buffer): boolean {
  return headerFields(head).some(
    ([name, value]) => name.toLowerCase() === 'upgrade' && value.toLowerCase() === 'websocket',
  )
}

/** RFC 7692 section 7.1: a side that keeps its context refers back to earlier messages. */
function createInflaters(head: Buffer): Readonly<Record<FrameSource, MessageInflater | undefined>> {
  const extensions = headerFields(head)
    .filter(([name]) => name.toLowerCase() === 'sec-websocket-extensions')
    .map(([, value]) => value.toLowerCase())
    .join(',')
  if (!/(^|,)[ \t]*permessage-deflate[ \t]*(;|,|$)/.test(extensions)) return NO_INFLATERS
  return {
    client: new MessageInflater(!extensions.includes('client_no_context_takeover')),
    server: new MessageInflater(!extensions.includes('server_no_context_takeover')),
  }
}
