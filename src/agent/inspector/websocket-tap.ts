import { Opcode } from '../../base/http/websocket-frame.ts'
import { parseHeaderFields } from '../http1.ts'
import type { Copier } from './copier.ts'
import { type CapturedFrame, type FrameSource, MAX_PAYLOAD_BYTES } from './frame-log.ts'
import { MessageInflater } from './message-inflater.ts'
import { type ScannedMessage, WebSocketScanner } from './websocket-scanner.ts'

/** Limit for messages waiting to be decoded; beyond it, they are captured undecoded. */
const MAX_PENDING_BYTES = 128 * 1024

/** Memory for both windows, and for pending and incomplete messages. */
const RESERVED_BYTES = 256 * 1024

const KINDS: Readonly<Record<number, CapturedFrame['kind']>> = {
  [Opcode.text]: 'text',
  [Opcode.binary]: 'binary',
  [Opcode.close]: 'close',
  [Opcode.ping]: 'ping',
  [Opcode.pong]: 'pong',
}

/** Callbacks and dependencies of the tap. */
export interface WebSocketTapEvents {
  readonly copier: Copier
  now(): number
  /** Returns false if the capture was evicted. */
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
 * Observes both directions of a WebSocket connection. Compressed messages are decoded one per event loop iteration, to
 * leave time for traffic; if they arrive faster, they are captured undecoded.
 */
export class WebSocketTap {
  readonly #events: WebSocketTapEvents
  readonly #scanners: Readonly<Record<FrameSource, WebSocketScanner>>
  #inflaters: Readonly<Record<FrameSource, MessageInflater | undefined>>
  readonly #pending: PendingMessage[] = []
  #pendingBytes = 0
  #stopped = false

  /** `head` is the head of the 101 response, which negotiates compression. */
  constructor(head: Buffer, events: WebSocketTapEvents) {
    this.#events = events
    this.#scanners = {
      client: this.#createScanner('client', true),
      server: this.#createScanner('server', false),
    }
    this.#inflaters = createInflaters(head)
  }

  /** Memory that decompression may take. */
  get reservedBytes(): number {
    return this.#inflaters === NO_INFLATERS ? 0 : RESERVED_BYTES
  }

  push(from: FrameSource, chunk: Buffer): void {
    if (!this.#stopped) this.#scanners[from].push(chunk)
  }

  #createScanner(from: FrameSource, masked: boolean): WebSocketScanner {
    return new WebSocketScanner(masked, this.#events.copier, {
      onMessage: (message) => this.#enqueue({ from, time: this.#events.now(), message }),
      onInvalid: () => {
        this.#stopped = true
        this.#events.onInvalid()
      },
    })
  }

  #enqueue(pending: PendingMessage): void {
    const { compressed, payload } = pending.message
    // Preserves the order: messages queue up behind one that is being decoded.
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

/** True if a response upgrades its connection to WebSocket. */
export function isWebSocket(head: Buffer): boolean {
  return parseHeaderFields(head).some(
    ([name, value]) => name.toLowerCase() === 'upgrade' && value.toLowerCase() === 'websocket',
  )
}

/** RFC 7692 section 7.1: with context takeover, messages refer to earlier ones. */
function createInflaters(head: Buffer): Readonly<Record<FrameSource, MessageInflater | undefined>> {
  const extensions = parseHeaderFields(head)
    .filter(([name]) => name.toLowerCase() === 'sec-websocket-extensions')
    .map(([, value]) => value.toLowerCase())
    .join(',')
  if (!/(^|,)[ \t]*permessage-deflate[ \t]*(;|,|$)/.test(extensions)) return NO_INFLATERS
  return {
    client: new MessageInflater(!extensions.includes('client_no_context_takeover')),
    server: new MessageInflater(!extensions.includes('server_no_context_takeover')),
  }
}
