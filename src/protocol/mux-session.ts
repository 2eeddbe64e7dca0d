import type { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../base/clock.ts'
import { BlockWriter } from '../base/io/block-writer.ts'
import { BufferPool } from '../base/io/buffer-pool.ts'
import { litter } from '../base/io/gc-pressure.ts'
import {
  ErrorCode,
  Flag,
  FrameType,
  HEADER_BYTES,
  MAX_DATA,
  MAX_STREAM_ID,
  MuxError,
  NUDGE_STREAM_ID,
  WINDOW,
  writeHeader,
  writeUint32,
} from './frame.ts'
import { type FrameHandler, FrameParser } from './frame-parser.ts'
import { MuxStream } from './mux-stream.ts'

/** Bytes composed and not yet taken by the kernel at which data waits in its streams, so that control overtakes it. */
const BACKLOG_LIMIT = 262_144

/** A peer that makes us answer and reads nothing is cut at this backlog; data alone never gets here. */
const BACKLOG_KILL = 2 * 1024 * 1024

/** What a waiting stream may send when its turn comes: one read of a usual source. */
const TURN_BYTES = 65_536

/** Room below which a new buffer is begun rather than a frame split into a tiny one. */
const SMALLEST_SPLIT = 2048

/** How long a closing session may take to hand over its last bytes. */
const CLOSE_DEADLINE_MS = 1000

const GOAWAY_TEXT_LIMIT = 1024

/** Two full DATA frames with their headers and room for some control frames. */
const BLOCK_BYTES = 2 * MAX_DATA + 512

/** The blocks that any number of sessions write their frames into. */
export function createLinkPool(keep: number): BufferPool {
  return new BufferPool(keep, BLOCK_BYTES)
}

/** What a session needs to know of the program around it. */
export interface MuxOptions {
  /** Decides the parity of stream ids: agents are clients. */
  role: 'client' | 'server'
  /** A stream the peer opened; its sink must be set before this returns. */
  onStream(stream: MuxStream): void
  /** The session is over, with the error when the end was not clean. Called exactly once, after its streams' ends. */
  onClose(error?: Error): void
  /** So many streams ended in this turn, so there is room for new ones. */
  onFreed?(count: number): void
  /** Errors thrown by sinks: bugs of ours, each already contained to its stream. */
  onBug?(error: unknown): void
  pool?: BufferPool
  clock?: Clock
  /** The first id to use; tests start near the end to see the wrap. */
  firstId?: number
}

/**
 * Many streams over one byte stream. Everything written in one turn of the event loop leaves in one write; data that
 * finds the link busy waits in its stream, and waiting streams take turns.
 */
export class MuxSession implements FrameHandler {
  /**
   * Answer bytes that found nothing else to say with an empty frame. An agent that leaves Nagle's algorithm on holds
   * its answer back until our kernel acknowledges, which otherwise takes 40 ms.
   */
  nudges = false
  /** Send FIN ahead of every RST: the Rust SDKs do not wake their reader on RST alone. */
  finBeforeReset = false
  /** Streams the peer may have open at once; further ones are refused with RST 5. */
  maxIncoming = 4096
  /** Monotonic time of the last bytes from the peer: any byte is a sign of life. */
  lastHeard: number

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
  #armed = false
  #heard = false
  #spoke = false

  #lineHead: MuxStream | undefined
  #lineTail: MuxStream | undefined
  #finishing: MuxStream[] = []
  #closedStreams: MuxStream[] = []

  #current: MuxStream | undefined
  #currentFlags = 0
  #over = false
  #told = false
  #endError: Error | undefined

  readonly #onTurnEnd = (): void => this.#turnEnd()

  constructor(transport: Duplex, options: MuxOptions) {
    this.#transport = transport
    this.#options = options
    this.#pool = options.pool ?? createLinkPool(4)
    this.#writer = new BlockWriter(transport, this.#pool, (bytes) => this.#written(bytes))
    this.#clock = options.clock ?? systemClock
    this.#parser = new FrameParser(this)
    this.#localParity = options.role === 'client' ? 1 : 0
    this.#lowestId = options.role === 'client' ? 3 : 2
    this.#nextId = options.firstId ?? this.#lowestId
    this.lastHeard = this.#clock.monotonic()
    if ('setNoDelay' in transport && typeof transport.setNoDelay === 'function') transport.setNoDelay(true)
    transport.on('data', (chunk: Buffer) => this.#receive(chunk))
    transport.on('end', () =>
      this.destroy(new MuxError(ErrorCode.PeerEof, 'The peer closed the connection.')),
    )
    transport.on('error', (error: Error) => this.destroy(error))
    transport.on('close', () => this.destroy(new MuxError(ErrorCode.PeerEof, 'The connection was lost.')))
  }

  /** Streams open now, of both sides. */
  get streamCount(): number {
    return this.#streams.size
  }

  /** True from the moment the session ends, whoever ended it. */
  get over(): boolean {
    return this.#over
  }

  /** Whether data may be composed now: the link is not behind and nobody else waits for a turn. */
  get hasRoom(): boolean {
    return this.#lineHead === undefined && this.#backlog < BACKLOG_LIMIT
  }

  /** Opens a stream; its first bytes (type and header) travel in the opening frame. Throws when the session is over. */
  open(first: Buffer): MuxStream {
    if (this.#over) throw new MuxError(ErrorCode.SessionClosed, 'The session is over.')
    if (first.length > WINDOW) throw new RangeError('The first bytes of a stream exceed its window.')
    const stream = new MuxStream(this, this.#takeId())
    this.#streams.set(stream.id, stream)
    stream.book(first.length)
    this.#compose(stream.id, first, first.length, Flag.Syn)
    return stream
  }

  /** Tells the peer why, hands over what was composed and closes the connection. */
  close(code: number = ErrorCode.NoError, text = 'no error'): void {
    if (this.#over) return
    this.#sendFins()
    const words = Buffer.from(text).subarray(0, GOAWAY_TEXT_LIMIT)
    const at = this.#reserve(HEADER_BYTES + 8 + words.length)
    const out = this.#out!
    writeHeader(out, at, 8 + words.length, FrameType.GoAway, 0, 0)
    writeUint32(out, at + HEADER_BYTES, this.#lastRemoteId)
    writeUint32(out, at + HEADER_BYTES + 4, code)
    words.copy(out, at + HEADER_BYTES + 8)
    this.#push()
    this.#end(code === ErrorCode.NoError ? undefined : new MuxError(code, text))
    const transport = this.#transport
    this.#writer.finish()
    transport.end()
    const deadline = setTimeout(() => transport.destroy(), CLOSE_DEADLINE_MS)
    deadline.unref()
    // Not destroyed on 'finish': a close with unread input would send a TCP reset that can overtake the last frame.
    transport.once('close', () => clearTimeout(deadline))
  }

  /** Drops the connection at once. */
  destroy(error?: Error): void {
    if (this.#over) return
    this.#end(error)
    this.#transport.destroy()
  }

  // What streams call.

  sendData(id: number, chunk: Buffer, bytes: number): void {
    if (!this.#over) this.#compose(id, chunk, bytes, 0)
  }

  sendFin(id: number): void {
    if (this.#over) return
    const at = this.#reserve(HEADER_BYTES)
    writeHeader(this.#out!, at, 0, FrameType.Data, Flag.Fin, id)
  }

  sendReset(id: number, code: number, finSent: boolean): void {
    if (this.#over) return
    if (this.finBeforeReset && !finSent) this.sendFin(id)
    this.#control(FrameType.Rst, id, code)
  }

  sendWindow(id: number, increment: number): void {
    if (!this.#over) this.#control(FrameType.WndInc, id, increment)
  }

  /** Puts a stream at the end of the line of those that wait for a turn. */
  enqueue(stream: MuxStream): void {
    if (stream.queued) return
    stream.queued = true
    if (this.#lineTail === undefined) this.#lineHead = stream
    else this.#lineTail.nextQueued = stream
    this.#lineTail = stream
    this.#arm()
  }

  /** A stream has nothing more to send; its FIN goes out at the end of the turn. */
  finishLater(stream: MuxStream): void {
    this.#finishing.push(stream)
    this.#arm()
  }

  /** A stream is over: it leaves the table now, and its sink hears of it at the end of the turn. */
  forget(stream: MuxStream): void {
    this.#streams.delete(stream.id)
    if ((stream.id & 1) !== this.#localParity) this.#incoming--
    this.#closedStreams.push(stream)
    this.#arm()
  }

  report(error: unknown): void {
    this.#options.onBug?.(error)
  }

  // What the parser calls.

  onDataHeader(id: number, length: number, flags: number): void {
    this.#currentFlags = flags
    let stream = this.#streams.get(id)
    if ((flags & Flag.Syn) !== 0) {
      if ((id & 1) === this.#localParity || stream !== undefined) {
        throw new MuxError(ErrorCode.Protocol, `The peer may not open stream ${id}.`)
      }
      stream = this.#accept(id)
    } else if (stream === undefined && (length > 0 || (flags & Flag.Fin) === 0)) {
      this.#control(FrameType.Rst, id, ErrorCode.StreamClosed)
    }
    if (stream !== undefined) {
      const refused = stream.admit(length)
      if (refused !== 0) {
        stream.reset(new MuxError(refused, `The peer sent ${length} bytes that stream ${id} may not carry.`))
        stream = undefined
      }
    }
    this.#current = stream
  }

  onDataPiece(piece: Buffer): void {
    this.#current?.deliver(piece)
  }

  onDataEnd(): void {
    const stream = this.#current
    this.#current = undefined
    if ((this.#currentFlags & Flag.Fin) !== 0) stream?.remoteEnd()
  }

  onReset(id: number, code: number): void {
    this.#streams.get(id)?.abort(new MuxError(code, `The peer reset the stream with code ${code}.`))
  }

  onWindow(id: number, increment: number): void {
    this.#streams.get(id)?.widen(increment)
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
      this.#control(FrameType.Rst, id, ErrorCode.StreamRefused)
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
    if (this.#over) return
    this.lastHeard = this.#clock.monotonic()
    this.#heard = true
    if (this.nudges) this.#arm()
    litter(chunk)
    try {
      this.#parser.push(chunk)
    } catch (error) {
      // Sinks are guarded one by one, so this is a broken frame or a bug of the session itself.
      if (!(error instanceof MuxError)) this.report(error)
      this.close(
        error instanceof MuxError ? error.code : ErrorCode.Internal,
        error instanceof MuxError ? error.message : 'internal error',
      )
    }
  }

  /** The next id of our parity, starting over after the last; ids still in use are skipped. */
  #takeId(): number {
    for (let tries = this.#streams.size + 2; tries > 0; tries--) {
      const id = this.#nextId
      this.#nextId = id + 2 > MAX_STREAM_ID ? this.#lowestId : id + 2
      if (id !== NUDGE_STREAM_ID && !this.#streams.has(id)) return id
    }
    throw new MuxError(ErrorCode.StreamsExhausted, 'No stream id is free.')
  }

  #control(type: number, id: number, value: number): void {
    const at = this.#reserve(HEADER_BYTES + 4)
    writeHeader(this.#out!, at, 4, type, 0, id)
    writeUint32(this.#out!, at + HEADER_BYTES, value)
  }

  #compose(id: number, chunk: Buffer, bytes: number, flags: number): void {
    let from = 0
    do {
      let size = Math.min(bytes - from, MAX_DATA)
      if (flags === 0 && this.#out !== undefined) {
        // Fill the buffer up; only the opening frame, with type and header, stays in one piece.
        const room = this.#out.length - this.#outFilled - HEADER_BYTES
        if (room >= SMALLEST_SPLIT) size = Math.min(size, room)
      }
      const at = this.#reserve(HEADER_BYTES + size)
      writeHeader(this.#out!, at, size, FrameType.Data, flags, id)
      chunk.copy(this.#out!, at + HEADER_BYTES, from, from + size)
      from += size
      flags = 0
    } while (from < bytes)
  }

  /** Makes room in the output buffer and answers with the place to write at. */
  #reserve(bytes: number): number {
    if (this.#out !== undefined && this.#out.length - this.#outFilled < bytes) this.#push()
    this.#out ??= this.#pool.take()
    const at = this.#outFilled
    this.#outFilled += bytes
    this.#backlog += bytes
    this.#spoke = true
    this.#arm()
    return at
  }

  #arm(): void {
    if (this.#armed) return
    this.#armed = true
    setImmediate(this.#onTurnEnd)
  }

  /** Once per turn: closed streams are told, waiting ones get their turn, and what was composed leaves in one write. */
  #turnEnd(): void {
    this.#armed = false
    if (!this.#over) {
      this.#sendFins()
      this.#serveLine()
      if (this.nudges && this.#heard && !this.#spoke) {
        const at = this.#reserve(HEADER_BYTES)
        writeHeader(this.#out!, at, 0, FrameType.Data, Flag.Fin, NUDGE_STREAM_ID)
      }
      this.#heard = false
      this.#spoke = false
      if (this.#backlog > BACKLOG_KILL) {
        this.destroy(
          new MuxError(ErrorCode.EnhanceYourCalm, 'The peer does not read the answers it asks for.'),
        )
      } else if (!this.#writer.busy) this.#push()
    }
    this.#tellClosed()
  }

  #sendFins(): void {
    if (this.#finishing.length === 0) return
    const finishing = this.#finishing
    this.#finishing = []
    for (const stream of finishing) stream.sendFin()
  }

  #serveLine(): void {
    // Streams that join the line meanwhile wait for the next turn's end or the next completed write.
    const last = this.#lineTail
    while (this.#lineHead !== undefined && this.#backlog < BACKLOG_LIMIT) {
      const stream = this.#lineHead
      this.#lineHead = stream.nextQueued
      if (this.#lineHead === undefined) this.#lineTail = undefined
      stream.nextQueued = undefined
      stream.queued = false
      if (stream.takeTurn(TURN_BYTES)) this.enqueue(stream)
      if (stream === last) return
    }
  }

  #tellClosed(): void {
    if (this.#closedStreams.length > 0) {
      const closed = this.#closedStreams
      this.#closedStreams = []
      for (const stream of closed) stream.notifyClosed()
      if (!this.#over) this.#options.onFreed?.(closed.length)
    }
    if (!this.#over || this.#told) return
    this.#told = true
    this.#options.onClose(this.#endError)
  }

  #push(): void {
    if (this.#out === undefined) return
    const block = this.#out
    const size = this.#outFilled
    this.#out = undefined
    this.#outFilled = 0
    this.#writer.write(block, size)
  }

  #written(bytes: number): void {
    if (this.#over) return
    this.#backlog -= bytes
    if (!this.#writer.busy) this.#push()
    if (this.#lineHead !== undefined) this.#arm()
  }

  #end(error: Error | undefined): void {
    this.#over = true
    this.#endError = error
    this.#parser.stop()
    this.#out = undefined
    const reason = error ?? new MuxError(ErrorCode.SessionClosed, 'The session was closed.')
    for (const stream of this.#streams.values()) stream.abort(reason)
    this.#arm()
  }
}
