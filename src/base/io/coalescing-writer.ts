import type { Writable } from 'node:stream'
import { BlockWriter } from './block-writer.ts'
import type { Flushable, Turn } from './flush-scheduler.ts'

/** Where the bytes written to an `Out` came from: it is told when they have left our memory. */
export interface Source {
  consumed(bytes: number): void
}

/** Up to this much is collected as text, which costs no block and leaves in the cheapest kind of write. */
const SMALL = 4096
/** So much may wait before whoever writes should pause. */
const MOST_HELD = 128 * 1024

/**
 * The deferred, gathered writes of one socket, with exact accounts: what the kernel took is granted to the source, so
 * that one window is the most a slow reader can make us hold. Everything is copied as it comes, into blocks that are
 * used again, so that whoever brings a piece may reuse its memory at once and nothing is left to the collector.
 */
export class Out implements Flushable {
  /** Whoever is granted what has been written; set for as long as its bytes pass through. */
  source: Source | undefined
  /** Called when a congested socket has room again. */
  onRoom: (() => void) | undefined
  readonly #writable: Writable
  readonly #turn: Turn
  /** Made with the first block: most connections never need one. */
  #writer: BlockWriter | undefined
  /** What was collected: first the text, whose characters are bytes, then the block. */
  #text = ''
  #block: Buffer | undefined
  #filled = 0
  #owed = 0
  #queued = false
  #ended = false

  constructor(writable: Writable, turn: Turn) {
    this.#writable = writable
    this.#turn = turn
    writable.on('drain', () => this.#onDrain())
  }

  /** Bytes in our memory that the socket has not taken yet. */
  get pending(): number {
    return this.#held + this.#writable.writableLength
  }

  /** True when more should not be added before `onRoom`. */
  get congested(): boolean {
    return this.#writable.writableNeedDrain || this.#held > MOST_HELD
  }

  /** Adds text whose characters are bytes. */
  text(text: string): void {
    if (this.#ended || text.length === 0) return
    if (this.#block === undefined && this.#text.length + text.length <= SMALL) this.#text += text
    else this.#gather(Buffer.from(text, 'latin1'))
    this.#ask()
  }

  write(piece: Buffer): void {
    if (this.#ended || piece.length === 0) return
    if (this.#block === undefined && this.#text.length + piece.length <= SMALL)
      this.#text += piece.toString('latin1')
    else this.#gather(piece)
    this.#ask()
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
    // While a block is being written, the next one may as well fill up.
    if (!this.#writer?.busy) this.#issue()
    if (this.#owed > 0) this.settle()
  }

  /** Writes what is held and half-closes. Later calls do nothing: a second `end` would build an error each time. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#writer?.finish()
    this.#issue()
    if (this.#owed > 0) this.settle()
    this.#writable.end()
  }

  get #held(): number {
    return this.#text.length + this.#filled + (this.#writer?.waiting ?? 0)
  }

  #ask(): void {
    if (this.#queued) return
    this.#queued = true
    this.#turn.add(this)
  }

  #gather(piece: Buffer): void {
    let from = 0
    do {
      const block = this.#block ?? this.#begin()
      const taken = piece.copy(block, this.#filled, from)
      from += taken
      this.#filled += taken
      if (this.#filled === block.length) this.#issue()
    } while (from < piece.length)
  }

  #begin(): Buffer {
    const block = this.#turn.pool.take()
    this.#block = block
    this.#filled = block.write(this.#text, 'latin1')
    this.#text = ''
    return block
  }

  #issue(): void {
    // A socket that is behind gets blocks, which fill up while they wait, instead of many small texts.
    if (this.#text !== '' && this.#writable.writableLength > 0) this.#begin()
    const block = this.#block
    if (block === undefined) {
      if (this.#text !== '') this.#writable.write(this.#text, 'latin1')
      this.#text = ''
      return
    }
    const filled = this.#filled
    this.#block = undefined
    this.#filled = 0
    this.#writer ??= new BlockWriter(this.#writable, this.#turn.pool, () => this.#onWritten())
    this.#writer.write(block, filled)
  }

  #onWritten(): void {
    if (!this.#writer?.busy) this.#issue()
    this.#onDrain()
  }

  #onDrain(): void {
    this.settle()
    if (!this.congested) this.onRoom?.()
  }
}
