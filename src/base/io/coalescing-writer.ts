import type { Writable } from 'node:stream'
import { BlockWriter } from './block-writer.ts'
import type { Flushable, Turn } from './flush-scheduler.ts'

/** Where the bytes written to an `Out` came from: it is told when they have left our memory. */
export interface Source {
  consumed(bytes: number): void
}

/** Up to this much is collected as text, which costs no block and leaves in the cheapest kind of write. */
const MAX_TEXT_BYTES = 4096
/** So much may wait before whoever writes should pause. */
const MAX_BUFFERED_BYTES = 128 * 1024

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
  readonly #scheduler: Turn
  /** Made with the first block: most connections never need one. */
  #blockWriter: BlockWriter | undefined
  /** What was collected: first the text, whose characters are bytes, then the block. */
  #pendingText = ''
  #block: Buffer | undefined
  #filled = 0
  #uncredited = 0
  #flushScheduled = false
  #ended = false

  constructor(writable: Writable, scheduler: Turn) {
    this.#writable = writable
    this.#scheduler = scheduler
    writable.on('drain', () => this.#handleDrain())
  }

  /** Bytes in our memory that the socket has not taken yet. */
  get pending(): number {
    return this.#buffered + this.#writable.writableLength
  }

  /** True when more should not be added before `onRoom`. */
  get congested(): boolean {
    return this.#writable.writableNeedDrain || this.#buffered > MAX_BUFFERED_BYTES
  }

  /** Adds text whose characters are bytes. */
  text(text: string): void {
    if (this.#ended || text.length === 0) return
    if (this.#block === undefined && this.#pendingText.length + text.length <= MAX_TEXT_BYTES)
      this.#pendingText += text
    else this.#copyIntoBlocks(Buffer.from(text, 'latin1'))
    this.#scheduleFlush()
  }

  write(chunk: Buffer): void {
    if (this.#ended || chunk.length === 0) return
    if (this.#block === undefined && this.#pendingText.length + chunk.length <= MAX_TEXT_BYTES)
      this.#pendingText += chunk.toString('latin1')
    else this.#copyIntoBlocks(chunk)
    this.#scheduleFlush()
  }

  /** Notes bytes received from the source, to be granted as the socket takes what was made of them. */
  owe(bytes: number): void {
    this.#uncredited += bytes
  }

  /** Grants the source everything it is still owed and lets go of it; what is pending stays bounded by the caller. */
  release(): void {
    const uncredited = this.#uncredited
    const source = this.source
    this.#uncredited = 0
    this.source = undefined
    if (uncredited > 0) source?.consumed(uncredited)
  }

  credit(): void {
    const bytes = this.#uncredited - this.pending
    if (bytes <= 0) return
    this.#uncredited -= bytes
    this.source?.consumed(bytes)
  }

  flush(): void {
    this.#flushScheduled = false
    // While a block is being written, the next one may as well fill up.
    if (!this.#blockWriter?.busy) this.#writeBuffered()
    if (this.#uncredited > 0) this.credit()
  }

  /** Writes what is held and half-closes. Later calls do nothing: a second `end` would build an error each time. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#blockWriter?.finish()
    this.#writeBuffered()
    if (this.#uncredited > 0) this.credit()
    this.#writable.end()
  }

  get #buffered(): number {
    return this.#pendingText.length + this.#filled + (this.#blockWriter?.queuedBytes ?? 0)
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return
    this.#flushScheduled = true
    this.#scheduler.add(this)
  }

  #copyIntoBlocks(chunk: Buffer): void {
    let offset = 0
    do {
      const block = this.#block ?? this.#startBlock()
      const copied = chunk.copy(block, this.#filled, offset)
      offset += copied
      this.#filled += copied
      if (this.#filled === block.length) this.#writeBuffered()
    } while (offset < chunk.length)
  }

  #startBlock(): Buffer {
    const block = this.#scheduler.pool.take()
    this.#block = block
    this.#filled = block.write(this.#pendingText, 'latin1')
    this.#pendingText = ''
    return block
  }

  #writeBuffered(): void {
    // A socket that is behind gets blocks, which fill up while they wait, instead of many small texts.
    if (this.#pendingText !== '' && this.#writable.writableLength > 0) this.#startBlock()
    const block = this.#block
    if (block === undefined) {
      if (this.#pendingText !== '') this.#writable.write(this.#pendingText, 'latin1')
      this.#pendingText = ''
      return
    }
    const filled = this.#filled
    this.#block = undefined
    this.#filled = 0
    this.#blockWriter ??= new BlockWriter(this.#writable, this.#scheduler.pool, () => this.#onWritten())
    this.#blockWriter.write(block, filled)
  }

  #onWritten(): void {
    if (!this.#blockWriter?.busy) this.#writeBuffered()
    this.#handleDrain()
  }

  #handleDrain(): void {
    this.credit()
    if (!this.congested) this.onRoom?.()
  }
}
