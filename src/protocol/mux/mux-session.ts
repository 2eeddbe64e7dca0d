import type { Duplex } from 'node:stream'
import { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import { noteExternalGarbage } from '../../base/io/memory/gc-pressure.ts'
import type { WindowBudget } from '../../base/io/memory/window-budget.ts'
import { RoundTrip } from '../../base/io/sockets/round-trip.ts'
import { BlockWriter } from '../../base/io/streams/block-writer.ts'
import { type Clock, systemClock } from '../../base/values/clock.ts'
import {
  ConnectionLost,
  ErrorCode,
  Flag,
  FrameType,
  HEADER_BYTES,
  MAX_DATA_BYTES,
  MAX_NOTE_BYTES,
  MAX_STREAM_ID,
  MAX_WINDOW,
  MuxError,
  NUDGE_STREAM_ID,
  WINDOW,
  writeHeader,
  writeUint32,
} from './frame.ts'
import { type FrameHandler, FrameParser } from './frame-parser.ts'
import { MuxStream } from './mux-stream.ts'
import { WindowGrowth } from './window-growth.ts'

/** Unsent bytes at which data waits in its streams, so that control frames can overtake it. */
const BACKLOG_HIGH_WATER_BYTES = 262_144

/** At this backlog the session ends: the peer causes responses and does not read. Data alone never reaches it. */
const MAX_BACKLOG_BYTES = 2 * 1024 * 1024

/** At this backlog notes are dropped: they have no flow control. */
const MAX_BACKLOG_FOR_NOTES_BYTES = 2 * BACKLOG_HIGH_WATER_BYTES

/** What a queued stream may send per round: one typical socket read. */
const QUANTUM_BYTES = 65_536

/** With less room than this a new block is started instead of splitting off a tiny frame. */
const MIN_SPLIT_BYTES = 2048

/** How long a closing session may take to flush. */
const CLOSE_TIMEOUT_MS = 1000

const MAX_GOAWAY_TEXT_BYTES = 1024

/** The codes of a connection that has ended. */
const LOST_CODES = new Set<number>([ErrorCode.RemoteGone, ErrorCode.SessionClosed, ErrorCode.PeerEof])

/** Two full DATA frames with headers, and room for some control frames. */
const BLOCK_BYTES = 2 * MAX_DATA_BYTES + 512

/** A pool of the blocks that sessions write frames into; sessions may share one. */
export function createLinkPool(maxBlocks: number): BufferPool {
  return new BufferPool(maxBlocks, BLOCK_BYTES)
}

/** Callbacks and dependencies of a mux session. */
export interface MuxOptions {
  /** Determines the parity of stream ids; agents are clients. */
  role: 'client' | 'server'
  /** The peer opened a stream; its sink must be set before this returns. */
  onStream(stream: MuxStream): void
  /** The session ended, with an error unless the end was clean. Called exactly once, after its streams closed. */
  onClose(error?: Error): void
  /** `count` streams closed in this tick, so there is capacity for new ones. */
  onStreamsClosed?(count: number): void
  /** A sink threw: a bug, already contained to its stream. */
  onInternalError?(error: unknown): void
  pool?: BufferPool
  clock?: Clock
  /** The first stream id; tests start near the end to cover the wrap. */
  firstId?: number
}

/**
 * Multiplexes streams over one transport. Everything composed in one tick of the event loop leaves in one write. While the
 * link is busy, data waits in its stream, and queued streams are served round-robin.
 */
export class MuxSession implements FrameHandler {
  /**
   * Answer received bytes with an empty frame when nothing else is sent. An agent with Nagle's algorithm enabled delays
   * its response until our kernel acknowledges, which otherwise takes 40 ms.
   */
  nudges = false
  /** Send FIN before every RST: the Rust SDKs do not wake their reader on RST alone. */
  finBeforeReset = false
  /** Whether the peer reads NOTE frames. */
  sendsNotes = false
  /** Concurrent streams the peer may open; further ones are rejected with RST 5. */
  maxIncoming = 4096
  /** Monotonic time of the last bytes from the peer. */
  lastReceivedAt: number
  /** What heartbeats and pings measure. */
  readonly roundTrip = new RoundTrip()
  /** Sizes receive windows; undefined without an agreement, when every window keeps its initial size. */
  windowGrowth: WindowGrowth | undefined
  /** What a stream may send ahead, whatever the peer grants. */
  maxSendWindow = WINDOW

  readonly #transport: Duplex
  readonly #options: MuxOptions
  readonly #pool: BufferPool
  readonly #writer: BlockWriter
  readonly #clock: Clock
  readonly #parser: FrameParser
  readonly #streams = new Map<number, MuxStream>()
  readonly #localParity: number
  readonly #lowestId: number
  #nextId: number
  #incoming = 0
  #lastRemoteId = 0

  #out: Buffer | undefined
  #outFilled = 0
  #backlog = 0
  #flushScheduled = false
  #received = false
  #sent = false

  #queueHead: MuxStream | undefined
  #queueTail: MuxStream | undefined
  #finQueue: MuxStream[] = []
  #closedStreams: MuxStream[] = []

  #current: MuxStream | undefined
  #currentFlags = 0
  #closed = false
  #closeNotified = false
  #endError: Error | undefined

  readonly #onFlush = (): void => this.#flush()

  constructor(transport: Duplex, options: MuxOptions) {
    this.#transport = transport
    this.#options = options
    this.#pool = options.pool ?? createLinkPool(4)
    this.#writer = new BlockWriter(transport, this.#pool, (bytes) => this.#onWritten(bytes))
    this.#clock = options.clock ?? systemClock
    this.#parser = new FrameParser(this)
    this.#localParity = options.role === 'client' ? 1 : 0
    this.#lowestId = options.role === 'client' ? 3 : 2
    this.#nextId = options.firstId ?? this.#lowestId
    this.lastReceivedAt = this.#clock.monotonic()
    if ('setNoDelay' in transport && typeof transport.setNoDelay === 'function') transport.setNoDelay(true)
    transport.on('data', (chunk: Buffer) => this.#receive(chunk))
    transport.on('end', () =>
      this.destroy(new MuxError(ErrorCode.PeerEof, 'The peer closed the connection.')),
    )
    transport.on('error', (error: Error) => this.destroy(error))
    transport.on('close', () => this.destroy(new MuxError(ErrorCode.PeerEof, 'The connection was lost.')))
  }

  /** Open streams of both sides. */
  get streamCount(): number {
    return this.#streams.size
  }

  /** Open streams that this side opened. */
  get openedCount(): number {
    return this.#streams.size - this.#incoming
  }

  /** True as soon as either side has ended the session. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether data may be composed now: the backlog is low and no stream is queued. */
  get hasCapacity(): boolean {
    return this.#queueHead === undefined && this.#backlog < BACKLOG_HIGH_WATER_BYTES
  }

  /**
   * Agrees on windows that grow with a peer that said which it accepts; ours share the budget of the session. Returns the
   * largest window from now on: the initial one when the peer said nothing.
   */
  agreeOnWindows(peerMaxWindow: unknown, budget: WindowBudget, measure?: () => void): number {
    if (typeof peerMaxWindow !== 'number' || peerMaxWindow <= WINDOW) return WINDOW
    const maxWindow = Math.min(peerMaxWindow, MAX_WINDOW)
    this.maxSendWindow = maxWindow
    this.windowGrowth = new WindowGrowth({
      clock: this.#clock,
      roundTrip: this.roundTrip,
      maxWindow,
      budget,
      measure,
    })
    return maxWindow
  }

  /** Reads the NOTE frames of a peer that was told so. */
  acceptNotes(): void {
    this.#parser.acceptsNotes = true
  }

  /** Opens a stream; its initial bytes (type and header) travel in the SYN frame. Throws when the session is closed. */
  open(initialBytes: Buffer): MuxStream {
    if (this.#closed) throw new MuxError(ErrorCode.SessionClosed, 'The session is closed.')
    if (initialBytes.length > WINDOW) throw new RangeError('The initial bytes of a stream exceed its window.')
    const stream = new MuxStream(this, this.#allocateId())
    this.#streams.set(stream.id, stream)
    stream.debitSendWindow(initialBytes.length)
    this.#composeData(stream.id, initialBytes, initialBytes.length, Flag.Syn)
    return stream
  }

  /** Sends GOAWAY with the reason, flushes and closes the connection. */
  close(code: number = ErrorCode.NoError, text = 'no error'): void {
    if (this.#closed) return
    this.#sendFins()
    const textBytes = Buffer.from(text).subarray(0, MAX_GOAWAY_TEXT_BYTES)
    const out = this.#reserve(HEADER_BYTES + 8 + textBytes.length)
    const offset = this.#outFilled - HEADER_BYTES - 8 - textBytes.length
    writeHeader(out, offset, 8 + textBytes.length, FrameType.GoAway, 0, 0)
    writeUint32(out, offset + HEADER_BYTES, this.#lastRemoteId)
    writeUint32(out, offset + HEADER_BYTES + 4, code)
    textBytes.copy(out, offset + HEADER_BYTES + 8)
    this.#writeBlock()
    this.#terminate(code === ErrorCode.NoError ? undefined : new MuxError(code, text))
    const transport = this.#transport
    this.#writer.finish()
    transport.end()
    const deadline = setTimeout(() => transport.destroy(), CLOSE_TIMEOUT_MS)
    deadline.unref()
    // Not destroyed on 'finish': closing with unread input sends a TCP reset that can overtake the last frame.
    transport.once('close', () => clearTimeout(deadline))
  }

  /** Drops the connection at once. */
  destroy(error?: Error): void {
    if (this.#closed) return
    this.#terminate(error)
    this.#transport.destroy()
  }

  // Called by streams.

  sendData(id: number, chunk: Buffer, bytes: number): void {
    if (!this.#closed) this.#composeData(id, chunk, bytes, 0)
  }

  sendFin(id: number): void {
    if (this.#closed) return
    this.#composeFin(id)
  }

  sendReset(id: number, code: number, finSent: boolean): void {
    if (this.#closed) return
    if (this.finBeforeReset && !finSent) this.sendFin(id)
    this.#composeControl(FrameType.Rst, id, code)
  }

  sendWindow(id: number, increment: number): void {
    if (!this.#closed) this.#composeControl(FrameType.WndInc, id, increment)
  }

  sendNote(id: number, payload: Buffer): void {
    const isTooMuch = payload.length > MAX_NOTE_BYTES || this.#backlog > MAX_BACKLOG_FOR_NOTES_BYTES
    if (this.#closed || payload.length === 0 || isTooMuch) return
    const out = this.#reserve(HEADER_BYTES + payload.length)
    const offset = this.#outFilled - HEADER_BYTES - payload.length
    writeHeader(out, offset, payload.length, FrameType.Note, 0, id)
    payload.copy(out, offset + HEADER_BYTES)
  }

  /** Appends a stream to the send queue. */
  enqueue(stream: MuxStream): void {
    if (stream.queued) return
    stream.queued = true
    if (this.#queueTail === undefined) this.#queueHead = stream
    else this.#queueTail.nextQueued = stream
    this.#queueTail = stream
    this.#scheduleFlush()
  }

  /** Sends the stream's FIN at the end of the tick. */
  scheduleFin(stream: MuxStream): void {
    this.#finQueue.push(stream)
    this.#scheduleFlush()
  }

  /** Removes a closed stream; its sink gets `onClose` at the end of the tick. */
  remove(stream: MuxStream): void {
    this.#streams.delete(stream.id)
    if ((stream.id & 1) !== this.#localParity) this.#incoming--
    this.#closedStreams.push(stream)
    this.#scheduleFlush()
  }

  reportError(error: unknown): void {
    this.#options.onInternalError?.(error)
  }

  // Called by the parser.

  onDataHeader(id: number, length: number, flags: number): void {
    this.#currentFlags = flags
    let stream = this.#streams.get(id)
    if ((flags & Flag.Syn) !== 0) {
      if ((id & 1) === this.#localParity || stream !== undefined) {
        throw new MuxError(ErrorCode.Protocol, `The peer may not open stream ${id}.`)
      }
      stream = this.#accept(id)
    } else if (stream === undefined && (length > 0 || (flags & Flag.Fin) === 0)) {
      this.#composeControl(FrameType.Rst, id, ErrorCode.StreamClosed)
    }
    if (stream !== undefined) {
      const errorCode = stream.debitReceiveWindow(length)
      if (errorCode !== 0) {
        stream.reset(
          new MuxError(errorCode, `The peer sent ${length} bytes that stream ${id} may not carry.`),
        )
        stream = undefined
      }
    }
    this.#current = stream
  }

  onDataChunk(chunk: Buffer): void {
    this.#current?.deliver(chunk)
  }

  onDataEnd(): void {
    const stream = this.#current
    this.#current = undefined
    if ((this.#currentFlags & Flag.Fin) !== 0) stream?.onRemoteEnd()
  }

  onReset(id: number, code: number): void {
    const error = new MuxError(code, `The peer reset the stream with code ${code}.`)
    // A node that relays the stream of an agent has lost its connection to it.
    this.#streams.get(id)?.abort(LOST_CODES.has(code) ? new ConnectionLost(error) : error)
  }

  onWindow(id: number, increment: number): void {
    this.#streams.get(id)?.creditSendWindow(increment)
  }

  onNote(id: number, payload: Buffer): void {
    this.#streams.get(id)?.deliverNote(payload)
  }

  onGoAway(_lastId: number, code: number, text: string): void {
    const reason = text.replace(/[^\x20-\x7e]/g, '').trim() || `code ${code}`
    this.destroy(
      new MuxError(
        code === ErrorCode.NoError ? ErrorCode.RemoteGone : code,
        `The peer ended the session: ${reason}`,
      ),
    )
  }

  #accept(id: number): MuxStream | undefined {
    if (this.#incoming >= this.maxIncoming) {
      this.#composeControl(FrameType.Rst, id, ErrorCode.StreamRefused)
      return undefined
    }
    this.#incoming++
    this.#lastRemoteId = id
    const stream = new MuxStream(this, id)
    this.#streams.set(id, stream)
    try {
      this.#options.onStream(stream)
    } catch (error) {
      stream.fail(error)
    }
    return stream
  }

  #receive(chunk: Buffer): void {
    if (this.#closed) return
    this.lastReceivedAt = this.#clock.monotonic()
    this.#received = true
    if (this.nudges) this.#scheduleFlush()
    // Decision 96: a TLS read buffer cannot be reused, so its garbage is reported.
    noteExternalGarbage(chunk)
    try {
      this.#parser.push(chunk)
    } catch (error) {
      // Errors of sinks are caught per stream, so this is a malformed frame or a bug in the session.
      if (!(error instanceof MuxError)) this.reportError(error)
      this.close(
        error instanceof MuxError ? error.code : ErrorCode.Internal,
        error instanceof MuxError ? error.message : 'internal error',
      )
    }
  }

  /** The next free id of our parity; wraps around and skips ids in use. */
  #allocateId(): number {
    for (let attempts = this.#streams.size + 2; attempts > 0; attempts--) {
      const id = this.#nextId
      this.#nextId = id + 2 > MAX_STREAM_ID ? this.#lowestId : id + 2
      if (id !== NUDGE_STREAM_ID && !this.#streams.has(id)) return id
    }
    throw new MuxError(ErrorCode.StreamsExhausted, 'No stream id is free.')
  }

  #composeControl(type: number, id: number, value: number): void {
    const out = this.#reserve(HEADER_BYTES + 4)
    const offset = this.#outFilled - HEADER_BYTES - 4
    writeHeader(out, offset, 4, type, 0, id)
    writeUint32(out, offset + HEADER_BYTES, value)
  }

  #composeFin(id: number): void {
    const out = this.#reserve(HEADER_BYTES)
    writeHeader(out, this.#outFilled - HEADER_BYTES, 0, FrameType.Data, Flag.Fin, id)
  }

  #composeData(id: number, chunk: Buffer, bytes: number, flags: number): void {
    let from = 0
    do {
      let size = Math.min(bytes - from, MAX_DATA_BYTES)
      if (flags === 0 && this.#out !== undefined) {
        // Fill the block; only the SYN frame, with type and header, is never split.
        const capacity = this.#out.length - this.#outFilled - HEADER_BYTES
        if (capacity >= MIN_SPLIT_BYTES) size = Math.min(size, capacity)
      }
      const out = this.#reserve(HEADER_BYTES + size)
      const offset = this.#outFilled - HEADER_BYTES - size
      writeHeader(out, offset, size, FrameType.Data, flags, id)
      chunk.copy(out, offset + HEADER_BYTES, from, from + size)
      from += size
      flags = 0
    } while (from < bytes)
  }

  /** Reserves bytes in the output block and returns it; they end at `#outFilled`. */
  #reserve(bytes: number): Buffer {
    if (this.#out !== undefined && this.#out.length - this.#outFilled < bytes) this.#writeBlock()
    this.#out ??= this.#pool.acquire()
    this.#outFilled += bytes
    this.#backlog += bytes
    this.#sent = true
    this.#scheduleFlush()
    return this.#out
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return
    this.#flushScheduled = true
    setImmediate(this.#onFlush)
  }

  /** Once per tick: sends FINs, serves the queue, writes everything composed in one write, and notifies closed streams. */
  #flush(): void {
    this.#flushScheduled = false
    if (!this.#closed) {
      this.#sendFins()
      this.#serveQueue()
      if (this.nudges && this.#received && !this.#sent) this.#composeFin(NUDGE_STREAM_ID)
      this.#received = false
      this.#sent = false
      if (this.#backlog > MAX_BACKLOG_BYTES) {
        this.destroy(new MuxError(ErrorCode.EnhanceYourCalm, 'The peer does not read its responses.'))
      } else if (!this.#writer.busy) this.#writeBlock()
    }
    this.#notifyClosed()
  }

  #sendFins(): void {
    if (this.#finQueue.length === 0) return
    const streams = this.#finQueue
    this.#finQueue = []
    for (const stream of streams) stream.sendFin()
  }

  #serveQueue(): void {
    // Streams queued meanwhile wait for the next tick or the next completed write.
    const last = this.#queueTail
    while (this.#queueHead !== undefined && this.#backlog < BACKLOG_HIGH_WATER_BYTES) {
      const stream = this.#queueHead
      this.#queueHead = stream.nextQueued
      if (this.#queueHead === undefined) this.#queueTail = undefined
      stream.nextQueued = undefined
      stream.queued = false
      if (stream.flush(QUANTUM_BYTES)) this.enqueue(stream)
      if (stream === last) return
    }
  }

  #notifyClosed(): void {
    if (this.#closedStreams.length > 0) {
      const closed = this.#closedStreams
      this.#closedStreams = []
      for (const stream of closed) stream.notifyClosed()
      if (!this.#closed) this.#options.onStreamsClosed?.(closed.length)
    }
    if (!this.#closed || this.#closeNotified) return
    this.#closeNotified = true
    this.#options.onClose(this.#endError)
  }

  #writeBlock(): void {
    if (this.#out === undefined) return
    const block = this.#out
    const size = this.#outFilled
    this.#out = undefined
    this.#outFilled = 0
    this.#writer.write(block, size)
  }

  #onWritten(bytes: number): void {
    if (this.#closed) return
    this.#backlog -= bytes
    if (!this.#writer.busy) this.#writeBlock()
    if (this.#queueHead !== undefined) this.#scheduleFlush()
  }

  #terminate(error: Error | undefined): void {
    this.#closed = true
    this.#endError = error
    this.#parser.stop()
    this.#out = undefined
    const reason = new ConnectionLost(error)
    for (const stream of this.#streams.values()) stream.abort(reason)
    this.#scheduleFlush()
  }
}
