/** What the windows of one process may have in addition to their initial size. */
const PROCESS_WINDOW_BYTES = 128 * 1024 * 1024

/** The same for one session. */
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/** What a single stream may take of the bytes still free: the rest stays for the streams to come. */
const STREAM_SHARE = 1 / 4

/** With more unread bytes than this in the process, streams hold credit back. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024

/**
 * What a stream then holds back: a quarter of the initial window of agents. A reader that keeps up still empties the rest
 * fast enough for its window to grow.
 */
const HELD_BACK_BYTES = 64 * 1024

/**
 * Counts the bytes that the streams of a process received and their readers have not taken, and decides how much credit
 * a stream holds back for as long as that is much (decision 173).
 */
export class UnreadBytes {
  #bytes = 0

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** The credit that each stream holds back now. */
  get heldBack(): number {
    return this.#bytes > MAX_UNREAD_BYTES ? HELD_BACK_BYTES : 0
  }
}

/**
 * Bounds the bytes by which receive windows exceed their initial size, for one session or for the process (the parent of
 * its sessions).
 *
 * A window cannot be taken back from a peer that does not send, so a stream whose reader stopped holds on to its share.
 * That is why a share is a fraction of what is free: many held shares make the next ones smaller, and none uses up the
 * budget.
 */
export class WindowBudget {
  /** Shared with the sessions' budgets. */
  readonly unread: UnreadBytes
  /** Open streams of the session. */
  streams = 0
  readonly #parent: WindowBudget | undefined
  #free: number

  constructor(bytes = PROCESS_WINDOW_BYTES, parent?: WindowBudget) {
    this.#free = bytes
    this.#parent = parent
    this.unread = parent?.unread ?? new UnreadBytes()
  }

  /** The budget of one session, with all its connections, within that of the process. */
  forSession(): WindowBudget {
    return new WindowBudget(SESSION_WINDOW_BYTES, this)
  }

  get free(): number {
    return this.#free
  }

  /** Raises a share towards `target` as far as the budget allows. Returns the bytes added. */
  grow(share: number, target: number): number {
    const added = Math.floor(Math.min(target, this.#maxShare()) - share)
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
