/** Something that has writes to issue once everything of this turn has been read. */
export interface Flushable {
  flush(): void
}

/**
 * Two phases per turn of the event loop: all sockets are read first, then all that was collected is written.
 * Writing in one tight loop costs about half of writing as the reads come in.
 */
export class Turn {
  #dirty: Flushable[] = []
  #spare: Flushable[] = []
  readonly #run = (): void => {
    const list = this.#dirty
    // What a flush dirties again belongs to the next turn.
    this.#dirty = this.#spare
    this.#spare = list
    for (const out of list) out.flush()
    list.length = 0
  }

  /** Asks for one `flush` at the end of this turn; the caller remembers that it has asked. */
  add(out: Flushable): void {
    if (this.#dirty.push(out) === 1) setImmediate(this.#run)
  }
}
