/** What the windows of one process may have in addition to their initial size. */
const PROCESS_WINDOW_BYTES = 128 * 1024 * 1024

/** The same for one session. */
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/** What a single stream may take of the bytes still free: the rest stays for the streams to come. */
const STREAM_SHARE = 1 / 4

/**
 * Bounds the bytes by which receive windows exceed their initial size, for one session or for the process (the parent of
 * its sessions).
 *
 * A window cannot be taken back from a peer that does not send, so a stream whose reader stopped holds on to its share.
 * That is why a share is a fraction of what is free: many held shares make the next ones smaller, and none uses up the
 * budget.
 */
export class WindowBudget {
  readonly #parent: WindowBudget | undefined
  #free: number

  constructor(bytes = PROCESS_WINDOW_BYTES, parent?: WindowBudget) {
    this.#free = bytes
    this.#parent = parent
  }

  /** The budget of one session within that of the process. */
  forSession(): WindowBudget {
    return new WindowBudget(SESSION_WINDOW_BYTES, this)
  }

  get free(): number {
    return this.#free
  }

  /** Raises a share towards `wanted` as far as the budget allows. Returns the bytes added. */
  grow(share: number, wanted: number): number {
    const added = Math.floor(Math.min(wanted, this.#maxShare()) - share)
    if (added <= 0) return 0
    this.release(-added)
    return added
  }

  release(bytes: number): void {
    this.#free += bytes
    this.#parent?.release(bytes)
  }

  #maxShare(): number {
    const own = this.#free * STREAM_SHARE
    return this.#parent === undefined ? own : Math.min(own, this.#parent.#maxShare())
  }
}
