import type { Writable } from 'node:stream'
import type { Flushable, Turn } from './turn.ts'

/** Where the bytes written to an `Out` came from: it is told when they have left our memory. */
export interface Source {
  consumed(bytes: number): void
}

/** Pieces up to this size together are joined into one write; above it the kernel gathers them. */
const JOIN = 4096
/** This much is handed to the socket before the turn ends, so that a bulk transfer keeps both sides busy. */
const GATHER = 128 * 1024

/**
 * The deferred, gathered writes of one socket, with exact accounts: what the kernel took is granted to the source, so
 * that one window is the most a slow reader can make us hold.
 */
export class Out implements Flushable {
  /** Whoever is granted what has been written; set for as long as its bytes pass through. */
  source: Source | undefined
  /** Called when a congested socket has room again. */
  onRoom: (() => void) | undefined
  readonly #writable: Writable
  readonly #turn: Turn
  readonly #pieces: (Buffer | string)[] = []
  #held = 0
  #owed = 0
  #queued = false
  #ended = false

  constructor(writable: Writable, turn: Turn) {
    this.#writable = writable
    this.#turn = turn
    writable.on('drain', () => {
      this.settle()
      this.onRoom?.()
    })
  }

  /** Bytes in our memory that the socket has not taken yet. */
  get pending(): number {
    return this.#held + this.#writable.writableLength
  }

  /** True when more should not be added before `onRoom`. */
  get congested(): boolean {
    return this.#writable.writableNeedDrain || this.#held > GATHER
  }

  /** Adds text whose characters are bytes. */
  text(text: string): void {
    this.#add(text, text.length)
  }

  write(piece: Buffer): void {
    this.#add(piece, piece.length)
  }

  /** Notes bytes received from the source, to be granted as the socket takes what was made of them. */
  owe(bytes: number): void {
    this.#owed += bytes
  }

  /** Grants the source everything it is still owed and lets go of it; what is pending stays bounded by the caller. */
  release(): void {
    const owed = this.#owed
    const source = this.source
    this.#owed = 0
    this.source = undefined
    if (owed > 0) source?.consumed(owed)
  }

  settle(): void {
    const granted = this.#owed - this.pending
    if (granted <= 0) return
    this.#owed -= granted
    this.source?.consumed(granted)
  }

  flush(): void {
    this.#queued = false
    const size = this.#held
    if (size > 0) {
      this.#held = 0
      this.#issue(size)
    }
    if (this.#owed > 0) this.settle()
  }

  /** Writes what is held and half-closes. Later calls do nothing: a second `end` would build an error each time. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#held > 0) this.flush()
    this.#writable.end()
  }

  #add(piece: Buffer | string, size: number): void {
    if (this.#ended || size === 0) return
    this.#pieces.push(piece)
    this.#held += size
    if (this.#held >= GATHER) this.flush()
    else if (!this.#queued) {
      this.#queued = true
      this.#turn.add(this)
    }
  }

  #issue(size: number): void {
    const pieces = this.#pieces
    const writable = this.#writable
    if (pieces.length === 1) {
      const piece = pieces[0]!
      // A small piece that has to wait would keep the large block it was cut from.
      if (typeof piece === 'string') writable.write(piece, 'latin1')
      else writable.write(size < JOIN && writable.writableLength > 0 ? Buffer.from(piece) : piece)
    } else if (size <= JOIN) writable.write(join(pieces, size))
    else {
      writable.cork()
      for (const piece of pieces) writable.write(piece, 'latin1')
      writable.uncork()
    }
    pieces.length = 0
  }
}

function join(pieces: readonly (Buffer | string)[], size: number): Buffer {
  const joined = Buffer.allocUnsafe(size)
  let at = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') at += joined.write(piece, at, 'latin1')
    else at += piece.copy(joined, at)
  }
  return joined
}
