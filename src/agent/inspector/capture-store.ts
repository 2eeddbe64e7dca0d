import { BlockPool } from './block-pool.ts'
import { type MessageCopy, ownCopy } from './message-copy.ts'
import { redactHead } from './redact.ts'
import { createSortableIds } from './sortable-id.ts'

/** What a captured exchange costs beyond its bytes: objects, map entry, strings. */
const OVERHEAD = 1024

/** One captured exchange; `response` stays undefined until the upstream answers. */
export class Capture {
  readonly id: string
  readonly tunnelName: string
  readonly remoteAddr: string
  readonly startedAt: number
  readonly request: MessageCopy
  response: MessageCopy | undefined
  durationNs = 0
  /** Why there is no answer, when the connection ended without one. */
  error: string | undefined
  /** False once the exchange is over or was evicted: nothing is added any more. */
  open = true
  /** The next one in the order of arrival; a map alone gets slow at giving up its oldest entry again and again. */
  newer: Capture | undefined = undefined

  constructor(id: string, tunnelName: string, remoteAddr: string, startedAt: number, request: MessageCopy) {
    this.id = id
    this.tunnelName = tunnelName
    this.remoteAddr = remoteAddr
    this.startedAt = startedAt
    this.request = request
  }

  /** Only what was captured whole, and unaltered, can be sent again. */
  get replayable(): boolean {
    return !this.request.truncated && this.request.exact
  }
}

/** Told of every change; called on the path of traffic, so it must only take note. */
export type CaptureListener = (capture: Capture) => void

/** Captured exchanges, oldest out first once they weigh more than the limit in bytes. */
export class CaptureStore {
  readonly limit: number
  readonly #redact: ReadonlySet<string>
  readonly #nextId = createSortableIds('airt')
  readonly #captures = new Map<string, Capture>()
  readonly #pool = new BlockPool()
  readonly #listeners = new Set<CaptureListener>()
  readonly #clearListeners = new Set<() => void>()
  #oldest: Capture | undefined
  #newest: Capture | undefined
  #bytes = 0

  /** A limit of zero keeps nothing; header names in `redact` never have their values stored. */
  constructor(limit: number, redact: Iterable<string> = []) {
    this.limit = limit
    this.#redact = new Set(Array.from(redact, (name) => name.toLowerCase()))
  }

  get enabled(): boolean {
    return this.limit > 0
  }

  /** Bytes held, requests under way included. */
  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#captures.size
  }

  begin(tunnelName: string, remoteAddr: string, head: Buffer, now: number): Capture {
    const capture = new Capture(this.#nextId(now), tunnelName, remoteAddr, now, this.#copyOf(head))
    this.#captures.set(capture.id, capture)
    if (this.#newest) this.#newest.newer = capture
    else this.#oldest = capture
    this.#newest = capture
    this.#grow(OVERHEAD + capture.request.size)
    this.#tell(capture)
    return capture
  }

  requestBody(capture: Capture, piece: Buffer): void {
    if (capture.open) this.#add(capture.request, piece)
  }

  respond(capture: Capture, head: Buffer, durationNs: number): void {
    if (!capture.open) return
    capture.response = this.#copyOf(head)
    capture.durationNs = durationNs
    this.#grow(capture.response.size)
    this.#tell(capture)
  }

  responseBody(capture: Capture, piece: Buffer): void {
    if (capture.open && capture.response) this.#add(capture.response, piece)
  }

  /** The exchange is over; with an error when a message was cut short. */
  end(capture: Capture, durationNs: number, error?: string): void {
    if (!capture.open) return
    capture.open = false
    capture.durationNs = durationNs
    if (error !== undefined) {
      if (capture.response) capture.response.truncated = true
      capture.error = error
    }
    this.#tell(capture)
  }

  get(id: string): Capture | undefined {
    return this.#captures.get(id)
  }

  /** Newest first; only those that came before the one named, if one is. */
  list(limit = Number.POSITIVE_INFINITY, tunnelName?: string, beforeId?: string): Capture[] {
    const found: Capture[] = []
    const all = [...this.#captures.values()]
    for (let index = all.length - 1; index >= 0 && found.length < limit; index--) {
      const capture = all[index]!
      if (beforeId !== undefined && capture.id >= beforeId) continue
      if (tunnelName === undefined || capture.tunnelName === tunnelName) found.push(capture)
    }
    return found
  }

  clear(): void {
    for (const capture of this.#captures.values()) capture.open = false
    this.#captures.clear()
    this.#pool.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#bytes = 0
    for (const listener of this.#clearListeners) listener()
  }

  /** Follows every change until the function given back is called. */
  follow(onChange: CaptureListener, onClear: () => void = () => {}): () => void {
    this.#listeners.add(onChange)
    this.#clearListeners.add(onClear)
    return () => {
      this.#listeners.delete(onChange)
      this.#clearListeners.delete(onClear)
    }
  }

  #copyOf(head: Buffer): MessageCopy {
    return redactHead(ownCopy(head), this.#redact)
  }

  #add(message: MessageCopy, piece: Buffer): void {
    const before = message.size
    message.add(piece, this.#pool)
    this.#grow(message.size - before)
  }

  #grow(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.limit) return
    while (this.#oldest && this.#bytes > this.limit) {
      const evicted: Capture = this.#oldest
      this.#oldest = evicted.newer
      if (!this.#oldest) this.#newest = undefined
      this.#captures.delete(evicted.id)
      evicted.open = false
      // Whoever still holds it must not hold all that came after it.
      evicted.newer = undefined
      this.#bytes -= OVERHEAD + evicted.request.size + (evicted.response?.size ?? 0)
      evicted.request.release(this.#pool)
      evicted.response?.release(this.#pool)
    }
  }

  #tell(capture: Capture): void {
    for (const listener of this.#listeners) listener(capture)
  }
}
