import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ByteStream, StreamSink } from '../../base/stream.ts'

/** Gathered bytes at which a write no longer waits for the end of the turn. */
const GATHER = 131_072

/** Writes of one turn of the event loop leave together: peers are woken once, and pieces go out in one system call. */
export class TurnFlusher {
  #dirty: SocketPipe[] = []
  #spare: SocketPipe[] = []

  add(pipe: SocketPipe): void {
    if (this.#dirty.length === 0) setImmediate(this.#run)
    this.#dirty.push(pipe)
  }

  readonly #run = (): void => {
    const pipes = this.#dirty
    this.#dirty = this.#spare
    this.#spare = pipes
    for (const pipe of pipes) pipe.flush()
    pipes.length = 0
  }
}

/**
 * Joins a proxied stream to the socket of its upstream: half-close and back-pressure go both ways, credit is given
 * for exactly what the kernel took, and an error on either side is one on the other.
 */
export class SocketPipe implements StreamSink {
  readonly #stream: ByteStream
  readonly #flusher: TurnFlusher
  readonly #onClosed: (error?: Error) => void
  #socket: Socket | undefined
  /** Pieces that came before the upstream was connected; at most one window. */
  #early: Buffer[] = []
  /** Bytes received and not yet reported as consumed. */
  #owed = 0
  #gathered = 0
  #corked = false
  #ended = false
  #closed = false

  /** `onClosed` is called once, when both sides are over, with the error that broke them if any. */
  constructor(stream: ByteStream, flusher: TurnFlusher, onClosed: (error?: Error) => void) {
    this.#stream = stream
    this.#flusher = flusher
    this.#onClosed = onClosed
    stream.sink = this
  }

  /** The upstream is there: what came early is written, what it sends is passed on. */
  connect(socket: Socket): void {
    if (this.#closed) {
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    this.#socket = socket
    socket.on('error', (error) => this.fail(error))
    if (socket instanceof TLSSocket) {
      socket.on('data', (chunk: Buffer) => {
        if (!this.received(chunk)) socket.pause()
      })
    }
    socket.on('end', () => this.#stream.end())
    socket.on('drain', () => this.#settle())
    socket.on('close', () => {
      // After a clean end of both directions this finds nothing left to do.
      if (!socket.readableEnded || !socket.writableFinished)
        this.fail(new Error('The upstream closed the connection.'))
    })
    const early = this.#early
    this.#early = []
    for (const piece of early) this.#write(socket, piece)
    if (this.#ended) this.#finish(socket)
  }

  /** Bytes of the upstream, in memory that is reused as soon as this returns. False: stop reading. */
  received(chunk: Buffer): boolean {
    return this.#stream.write(chunk)
  }

  onData(chunk: Buffer): void {
    this.#owed += chunk.length
    if (this.#socket) this.#write(this.#socket, chunk)
    else this.#early.push(chunk)
  }

  onEnd(): void {
    this.#ended = true
    if (this.#socket) this.#finish(this.#socket)
  }

  onDrain(): void {
    this.#socket?.resume()
  }

  onClose(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#early = []
    const socket = this.#socket
    if (socket) {
      this.#uncork(socket)
      if (error) abort(socket)
      else socket.destroySoon()
    }
    this.#onClosed(error)
  }

  /** The upstream cannot be reached and somebody else answers: gives credit for what came and lets go of the stream. */
  stepAside(): void {
    this.#closed = true
    this.#early = []
    this.#stream.consumed(this.#owed)
  }

  /** Breaks both sides: the upstream failed, or could not be reached at all. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#stream.reset(error)
    if (this.#socket) abort(this.#socket)
    this.#onClosed(error)
  }

  /** Sends what was gathered and gives credit for what the kernel took. */
  flush(): void {
    if (this.#socket) this.#uncork(this.#socket)
    this.#settle()
  }

  #write(socket: Socket, chunk: Buffer): void {
    if (!this.#corked) {
      this.#corked = true
      socket.cork()
      this.#flusher.add(this)
    }
    socket.write(chunk)
    this.#gathered += chunk.length
    if (this.#gathered >= GATHER) this.flush()
  }

  #finish(socket: Socket): void {
    this.#uncork(socket)
    socket.end()
  }

  #uncork(socket: Socket): void {
    if (!this.#corked) return
    this.#corked = false
    this.#gathered = 0
    socket.uncork()
  }

  #settle(): void {
    if (!this.#socket || this.#closed) return
    const taken = this.#owed - this.#socket.writableLength
    if (taken <= 0) return
    this.#owed -= taken
    this.#stream.consumed(taken)
  }
}

/** Ends a socket so that its peer sees an error, not an ordinary end that might pass for the whole message. */
function abort(socket: Socket): void {
  if (socket instanceof TLSSocket || socket.remoteFamily === undefined) socket.destroy()
  else socket.resetAndDestroy()
}
