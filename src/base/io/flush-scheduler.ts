import { fanOut, type OnReceiverError, throwLater } from '../fan-out.ts'
import { BufferPool } from './buffer-pool.ts'

/** Large enough that a system call for each costs little, small enough that a slow reader's last one wastes little. */
const BLOCK_BYTES = 64 * 1024

/** Something that has writes to issue once everything of this turn has been read. */
export interface Flushable {
  flush(): void
}

/**
 * Two phases per turn of the event loop: all sockets are read first, then all that was collected is written.
 * Writing in one tight loop costs about half of writing as the reads come in.
 */
export class Turn {
  /** The blocks that everything of this turn is collected in. */
  readonly pool = new BufferPool(64, BLOCK_BYTES)
  #dirty: Flushable[] = []
  #spare: Flushable[] = []
  readonly #onError: OnReceiverError
  readonly #flushAll = (): void => {
    const list = this.#dirty
    // What a flush dirties again belongs to the next turn.
    this.#dirty = this.#spare
    this.#spare = list
    fanOut(list, flush, this.#onError)
    list.length = 0
  }

  constructor(onError: OnReceiverError = throwLater) {
    this.#onError = onError
  }

  /** Asks for one `flush` at the end of this turn; the caller remembers that it has asked. */
  add(writer: Flushable): void {
    if (this.#dirty.push(writer) === 1) setImmediate(this.#flushAll)
  }
}

function flush(writer: Flushable): void {
  writer.flush()
}
