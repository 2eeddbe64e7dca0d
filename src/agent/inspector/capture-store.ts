import { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import { fanOut, type OnReceiverError, rethrowAsync } from '../../base/limits/fan-out.ts'
import { KsuidSequence, secondOf } from '../../base/values/id.ts'
import { CaptureIndex } from './capture-index.ts'
import { Copier } from './copier.ts'
import { type CapturedFrame, FrameLog } from './frame-log.ts'
import { BLOCK_BYTES, MessageCopy } from './message-copy.ts'
import { ACTION_BYTES, type CapturedAction } from './policy-actions.ts'
import { redact } from './redact.ts'

/** The memory a captured exchange takes beyond its bytes: objects and strings. */
const CAPTURE_OVERHEAD_BYTES = 1024

/** More actions of policies are not kept. */
const MAX_ACTIONS = 60

/** Shared by captures without any. */
const NO_ACTIONS: readonly CapturedAction[] = []

/** Makes the id of a capture. */
type CaptureIds = Pick<KsuidSequence, 'idOf'>

/** One captured exchange; `response` is undefined until the upstream responds. */
export class Capture {
  /** What its id is made of: most captures are evicted before anyone asks for it. */
  readonly #ids: CaptureIds
  readonly #number: number
  readonly tunnelName: string
  readonly remoteAddr: string
  readonly startedAt: number
  readonly request: MessageCopy
  response: MessageCopy | undefined
  durationNs = 0
  /** When the request was complete and when the response began, since the start. */
  requestNs: number | undefined
  responseStartNs: number | undefined
  /** Why the exchange failed, if the connection ended before the response was complete. */
  error: string | undefined
  /** False once the exchange ended or was evicted: nothing more is added. */
  open = true
  /** False once the capture was evicted. */
  stored = true
  /** WebSocket messages or server-sent events, if there are any; they may continue after the exchange has ended. */
  frames: FrameLog | undefined
  /** What the server's traffic policies did with the request, in order. */
  actions: readonly CapturedAction[] = NO_ACTIONS
  /** Pinned captures are evicted last, and survive a clear that keeps them. */
  pinned = false
  /** What it counted towards the limit of pinned captures when it was pinned. */
  pinnedBytes = 0
  /** The next capture in the order of eviction. */
  next: Capture | undefined = undefined
  /** Where its index has it. */
  slot = 0

  constructor(
    ids: CaptureIds,
    number: number,
    {
      tunnelName,
      remoteAddr,
      startedAt,
      request,
    }: Pick<Capture, 'tunnelName' | 'remoteAddr' | 'startedAt' | 'request'>,
  ) {
    this.#ids = ids
    this.#number = number
    this.tunnelName = tunnelName
    this.remoteAddr = remoteAddr
    this.startedAt = startedAt
    this.request = request
  }

  get id(): string {
    return this.#ids.idOf(this.#number)
  }

  /** Only a request that was captured completely and unredacted can be replayed. */
  get replayable(): boolean {
    return !this.request.truncated && !this.request.arriving && this.request.exact
  }
}

/** A message of an exchange that an earlier run of the agent captured. */
export interface StoredMessage {
  readonly head: Buffer
  readonly body: Buffer
  readonly bodyBytes: number
  readonly truncated: boolean
  readonly exact: boolean
}

/** An exchange that an earlier run of the agent captured. */
export interface StoredCapture
  extends Pick<
    Capture,
    | 'id'
    | 'tunnelName'
    | 'remoteAddr'
    | 'startedAt'
    | 'durationNs'
    | 'requestNs'
    | 'responseStartNs'
    | 'error'
  > {
  readonly actions: readonly CapturedAction[]
  readonly request: StoredMessage
  readonly response: StoredMessage | undefined
}

/** Called on every change, in the traffic path: it must return quickly. */
export type CaptureListener = (capture: Capture) => void

/** Called when an exchange has new frames or its frames ended, in the traffic path: it must return quickly. */
export type FrameListener = (capture: Capture, log: FrameLog) => void

/** Stores captured exchanges and evicts the oldest ones once they exceed the limit in bytes. */
export class CaptureStore {
  readonly limit: number
  /** Allocates the memory of heads, small bodies and frames. */
  readonly copier = new Copier()
  readonly #redact: ReadonlySet<string>
  #ids: KsuidSequence | undefined
  #count = 0
  /** The second of the newest id of earlier runs. */
  #restoredSecond = 0
  readonly #captures = new CaptureIndex<Capture>()
  /** Blocks of evicted bodies are used again at once; `#account` bounds the free ones. */
  readonly #pool = new BufferPool(Number.POSITIVE_INFINITY, BLOCK_BYTES)
  readonly #listeners = new Set<CaptureListener>()
  readonly #clearListeners = new Set<() => void>()
  readonly #frameListeners = new Set<FrameListener>()
  readonly #onListenerError: OnReceiverError
  /** Pinned captures that have left the order of arrival, oldest first. */
  readonly #detached = new Set<Capture>()
  #pinnedBytes = 0
  #oldest: Capture | undefined
  #newest: Capture | undefined
  #bytes = 0

  /** A limit of zero disables capturing; values of the headers in `redact` are never stored. */
  constructor(limit: number, redact: Iterable<string> = [], onListenerError: OnReceiverError = rethrowAsync) {
    this.limit = limit
    this.#onListenerError = onListenerError
    this.#redact = new Set(Array.from(redact, (name) => name.toLowerCase()))
  }

  get enabled(): boolean {
    return this.limit > 0
  }

  /** Bytes in use, including exchanges in flight. */
  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#captures.size
  }

  begin(tunnelName: string, remoteAddr: string, head: Buffer, now: number): Capture {
    // Ids of the same second are in order only if they are of one sequence.
    this.#ids ??= new KsuidSequence('airt', Math.max(Math.floor(now / 1000), this.#restoredSecond + 1))
    const request = this.#copyHead(head)
    const capture = new Capture(this.#ids, this.#count++, { tunnelName, remoteAddr, startedAt: now, request })
    this.#captures.add(capture)
    this.#append(capture)
    this.#account(CAPTURE_OVERHEAD_BYTES + capture.request.size)
    this.#notify(capture)
    return capture
  }

  /** Adds a complete exchange of an earlier run. They come in the order of their ids, before any other. */
  restore(stored: StoredCapture): Capture {
    const { id } = stored
    this.#restoredSecond = secondOf(id)
    const request = this.#copyStored(stored.request)
    const capture = new Capture({ idOf: () => id }, this.#count++, { ...stored, request })
    if (stored.response) capture.response = this.#copyStored(stored.response)
    capture.durationNs = stored.durationNs
    capture.requestNs = stored.requestNs
    capture.responseStartNs = stored.responseStartNs
    capture.error = stored.error
    capture.actions = stored.actions
    capture.open = false
    this.#captures.add(capture)
    this.#append(capture)
    this.#account(sizeOf(capture))
    return capture
  }

  addRequestBody(capture: Capture, chunk: Buffer): void {
    if (capture.open) this.#add(capture.request, chunk)
  }

  addResponse(capture: Capture, head: Buffer, durationNs: number): void {
    if (!capture.open) return
    capture.response = this.#copyHead(head)
    capture.durationNs = durationNs
    capture.responseStartNs = durationNs
    this.#account(capture.response.size)
    this.#notify(capture)
  }

  addResponseBody(capture: Capture, chunk: Buffer): void {
    if (capture.open && capture.response) this.#add(capture.response, chunk)
  }

  /** Ends the exchange; with an error if a message was truncated. */
  end(capture: Capture, durationNs: number, error?: string): void {
    if (!capture.open) return
    capture.open = false
    capture.durationNs = durationNs
    if (error !== undefined) {
      if (capture.response) capture.response.truncated = true
      capture.error = error
    }
    this.#notify(capture)
  }

  /** Adds actions of traffic policies, also after the exchange has ended. */
  addActions(capture: Capture, actions: readonly CapturedAction[]): void {
    const added = actions.slice(0, MAX_ACTIONS - capture.actions.length)
    if (!capture.stored || added.length === 0) return
    capture.actions = [...capture.actions, ...added]
    this.#account(added.length * ACTION_BYTES)
    this.#notify(capture)
  }

  /** Starts to capture frames; `reservedBytes` is the memory that decoding them takes. */
  beginFrames(capture: Capture, reservedBytes = 0): void {
    if (!capture.stored) return
    capture.frames = new FrameLog(reservedBytes)
    this.#account(capture.frames.size)
    this.#notify(capture)
  }

  /** Adds a frame. Returns false if the exchange was evicted, so that the caller can stop scanning. */
  addFrame(capture: Capture, frame: Omit<CapturedFrame, 'index'>): boolean {
    const { frames } = capture
    if (!frames) return false
    const previousSize = frames.size
    frames.add(frame)
    this.#account(frames.size - previousSize)
    fanOut(this.#frameListeners, (listener) => listener(capture, frames), this.#onListenerError)
    return capture.stored
  }

  /** Ends the frames; with a reason if the connection continues but cannot be decoded. */
  endFrames(capture: Capture, stopReason?: string): void {
    const { frames } = capture
    if (!frames?.open) return
    const previousSize = frames.size
    frames.end(stopReason)
    this.#account(frames.size - previousSize)
    fanOut(this.#frameListeners, (listener) => listener(capture, frames), this.#onListenerError)
  }

  get(id: string): Capture | undefined {
    return this.#captures.get(id)
  }

  /** Lists captures, newest first; with `beforeId`, only older ones. */
  list(limit = Number.POSITIVE_INFINITY, tunnelName?: string, beforeId?: string): Capture[] {
    const captures: Capture[] = []
    const stored = beforeId === undefined ? this.#captures.oldestFirst() : this.#captures.before(beforeId)
    for (let index = stored.length - 1; index >= 0 && captures.length < limit; index--) {
      const capture = stored[index]!
      if (tunnelName === undefined || capture.tunnelName === tunnelName) captures.push(capture)
    }
    return captures
  }

  /**
   * Pins or unpins a capture. Returns false if the pinned captures would take more than half of the memory, so that
   * there is always room for new ones.
   */
  pin(capture: Capture, pinned: boolean): boolean {
    if (!capture.stored || capture.pinned === pinned) return true
    const bytes = sizeOf(capture)
    if (pinned && this.#pinnedBytes + bytes > this.limit / 2) return false
    this.#pinnedBytes += pinned ? bytes : -bytes
    capture.pinnedBytes = pinned ? bytes : 0
    capture.pinned = pinned
    if (!pinned && this.#detached.delete(capture)) this.#append(capture)
    this.#notify(capture)
    return true
  }

  /** Deletes all captures, or all but the pinned ones. */
  clear({ keepPinned = false } = {}): void {
    const pinnedCaptures: Capture[] = []
    for (const capture of this.#captures.oldestFirst())
      if (keepPinned && capture.pinned) pinnedCaptures.push(capture)
      else this.#release(capture)
    this.#captures.clear()
    this.#detached.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#bytes = 0
    this.#pinnedBytes = 0
    for (const capture of pinnedCaptures) {
      capture.next = undefined
      this.#captures.add(capture)
      this.#append(capture)
      this.#bytes += sizeOf(capture)
      this.#pinnedBytes += capture.pinnedBytes
    }
    this.#pool.trim(this.limit - this.#bytes)
    fanOut(this.#clearListeners, (listener) => listener(), this.#onListenerError)
    for (const capture of pinnedCaptures) this.#notify(capture)
  }

  /** Subscribes to changes; the returned function unsubscribes. */
  follow(
    onChange: CaptureListener,
    onClear: () => void = () => {},
    onFrames: FrameListener = () => {},
  ): () => void {
    this.#listeners.add(onChange)
    this.#clearListeners.add(onClear)
    this.#frameListeners.add(onFrames)
    return () => {
      this.#listeners.delete(onChange)
      this.#clearListeners.delete(onClear)
      this.#frameListeners.delete(onFrames)
    }
  }

  #copyHead(head: Buffer): MessageCopy {
    const redacted = redact(head, this.#redact)
    return new MessageCopy(redacted, redacted === head, this.copier)
  }

  #copyStored({ head, body, bodyBytes, truncated, exact }: StoredMessage): MessageCopy {
    const message = new MessageCopy(head, exact, this.copier)
    message.add(body, this.#pool, this.copier)
    message.bodyBytes = bodyBytes
    message.truncated = truncated
    return message
  }

  #add(message: MessageCopy, chunk: Buffer): void {
    const previousSize = message.size
    message.add(chunk, this.#pool, this.copier)
    this.#account(message.size - previousSize)
  }

  #account(bytes: number): void {
    this.#bytes += bytes
    this.#evict()
    // Free blocks count against the limit too.
    this.#pool.trim(this.limit - this.#bytes)
  }

  #evict(): void {
    if (this.#bytes <= this.limit) return
    while (this.#oldest && this.#bytes > this.limit) {
      const oldest: Capture = this.#oldest
      this.#oldest = oldest.next
      if (!this.#oldest) this.#newest = undefined
      oldest.next = undefined
      if (oldest.pinned) this.#detached.add(oldest)
      else this.#drop(oldest)
    }
    // Pinned exchanges in flight may outgrow the limit alone.
    for (const pinned of this.#detached) {
      if (this.#bytes <= this.limit) break
      this.#detached.delete(pinned)
      this.#drop(pinned)
    }
  }

  #drop(capture: Capture): void {
    this.#captures.delete(capture)
    this.#bytes -= sizeOf(capture)
    this.#pinnedBytes -= capture.pinnedBytes
    this.#release(capture)
  }

  /** Marks a capture as evicted, and leaves it nothing that a remaining reference would retain. */
  #release(capture: Capture): void {
    capture.open = false
    capture.stored = false
    capture.frames = undefined
    capture.next = undefined
    capture.request.release(this.#pool)
    capture.response?.release(this.#pool)
  }

  #append(capture: Capture): void {
    if (this.#newest) this.#newest.next = capture
    else this.#oldest = capture
    this.#newest = capture
  }

  #notify(capture: Capture): void {
    fanOut(this.#listeners, (listener) => listener(capture), this.#onListenerError)
  }
}

/** The memory of a capture, in bytes. */
function sizeOf({ request, response, frames, actions }: Capture): number {
  const messages = request.size + (response?.size ?? 0) + (frames?.size ?? 0)
  return CAPTURE_OVERHEAD_BYTES + messages + actions.length * ACTION_BYTES
}
