import type { Writable } from 'node:stream'
import { BlockWriter } from './block-writer.ts'
import type { Flushable, FlushScheduler } from './flush-scheduler.ts'

/** The origin of the bytes written to a `CoalescingWriter`; it is credited when they have left our memory. */
export interface ByteSource {
  consumed(bytes: number): void
}

/** Up to this size output is collected as text, which needs no block and leaves in the cheapest kind of write (decision 151). */
const MAX_TEXT_BYTES = 4096
/** Above this the writer is congested and producers should pause. */
const MAX_BUFFERED_BYTES = 128 * 1024

/**
 * Coalesces the writes of one socket until the end of the event loop iteration and accounts for them exactly: the source
 * is credited with what the kernel has taken, so that a slow reader makes us buffer at most one window. Every chunk is
 * copied into reused blocks, so that the caller may reuse its memory at once and the garbage collector has nothing to
 * find (decision 96).
 */
export class CoalescingWriter implements Flushable {
  /** The source to credit; set while its bytes pass through. */
  source: ByteSource | undefined
  /** Called when the writer is no longer congested. */
  onDrain: (() => void) | undefined
  readonly #writable: Writable
  readonly #scheduler: FlushScheduler
  /** Created with the first block; most connections never need one. */
  #blockWriter: BlockWriter | undefined
  /** Collected output: first the text, whose characters are bytes, then the block. */
  #pendingText = ''
  #block: Buffer | undefined
  #filled = 0
  #uncredited = 0
  #flushScheduled = false
  #ended = false

  constructor(writable: Writable, scheduler: FlushScheduler) {
    this.#writable = writable
    this.#scheduler = scheduler
    writable.on('drain', () => this.#handleDrain())
  }

  /** Bytes in our memory that the kernel has not taken yet. */
  get pending(): number {
    return this.#buffered + this.#writable.writableLength
  }

  /** True when producers should wait for `onDrain`. */
  get congested(): boolean {
    return this.#writable.writableNeedDrain || this.#buffered > MAX_BUFFERED_BYTES
  }

  /** Writes text whose characters are bytes. */
  writeText(text: string): void {
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

  /** Accounts for bytes received from the source; they are credited as the kernel takes the output. */
  account(bytes: number): void {
    this.#uncredited += bytes
  }

  /** Credits the source with everything outstanding and detaches it. The caller bounds what is still pending. */
  creditAll(): void {
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
    // While a block is in flight, the next one can fill up.
    if (!this.#blockWriter?.busy) this.#writeBuffered()
    if (this.#uncredited > 0) this.credit()
  }

  /** Writes what is buffered and half-closes. Later calls do nothing: a second `end` of the socket allocates an error. */
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
    this.#scheduler.schedule(this)
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
    const block = this.#scheduler.pool.acquire()
    this.#block = block
    this.#filled = block.write(this.#pendingText, 'latin1')
    this.#pendingText = ''
    return block
  }

  #writeBuffered(): void {
    // A slow socket gets blocks, which fill up while they wait, instead of many small strings.
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
    if (!this.congested) this.onDrain?.()
  }
}
