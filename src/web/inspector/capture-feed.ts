import type { CaptureView } from '../../agent/local-api/page-data.ts'
import { listCaptures } from './api.ts'

/** A snapshot of the feed, for rendering. */
export interface FeedView {
  /** Newest first. */
  captures: readonly CaptureView[]
  /** The agent has older ones, which are loaded when they are asked for. */
  hasOlder: boolean
  /** The connection of this page to the agent. */
  state: 'connecting' | 'live' | 'lost'
  /** The connection of the agent to the server; empty until the agent has said. */
  session: string
  paused: boolean
  /** Captures that arrived while paused. */
  pendingCount: number
}

/** The limit of the list; the agent is limited by memory instead. */
const MAX_CAPTURES = 10_000
/** What a list shows at first, and then all else. */
const FIRST_PAGE_SIZE = 200
const PAGE_SIZE = 1000

/** Follows the captures of the agent: loads the existing ones, then applies updates from the event stream. */
export class CaptureFeed {
  readonly #byId = new Map<string, CaptureView>()
  readonly #listeners = new Set<() => void>()
  readonly #frameListeners = new Map<string, () => void>()
  #source: EventSource | undefined
  #view: FeedView = {
    captures: [],
    hasOlder: false,
    state: 'connecting',
    session: '',
    paused: false,
    pendingCount: 0,
  }
  #loadingOlder = false
  #pausedId: string | undefined
  #scheduled = false
  #loadCount = 0

  /** For `useSyncExternalStore`. */
  readonly view = (): FeedView => this.#view

  /** For `useSyncExternalStore`. */
  readonly follow = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls the listener when an exchange has or may have new frames. */
  followFrames(id: string, listener: () => void): () => void {
    this.#frameListeners.set(id, listener)
    return () => this.#frameListeners.delete(id)
  }

  start(): void {
    const source = new EventSource('/api/requests/http/stream')
    this.#source = source
    // Loading starts after the stream, so that no capture is missed in between.
    const load = () => {
      void this.#load()
      for (const listener of this.#frameListeners.values()) listener()
    }
    source.addEventListener('ready', load)
    source.addEventListener('lagged', load)
    source.addEventListener('status', (event) => {
      this.#update({ session: (JSON.parse(event.data as string) as { status: string }).status })
    })
    source.addEventListener('frames', (event) => {
      this.#frameListeners.get((JSON.parse(event.data as string) as { id: string }).id)?.()
    })
    source.addEventListener('clear', () => {
      this.#loadCount++
      this.#byId.clear()
      this.#update({ hasOlder: false })
      this.#pausedId = this.#pausedId === undefined ? undefined : ''
      this.#publish()
    })
    source.addEventListener('request', (event) => {
      const capture = JSON.parse(event.data as string) as CaptureView
      this.#byId.set(capture.id, capture)
      this.#publish()
    })
    source.addEventListener('error', () => {
      this.#update({ state: 'lost' })
      // EventSource does not reconnect after an error response, for example while the agent restarts.
      if (source.readyState === EventSource.CLOSED && this.#source === source) {
        setTimeout(() => {
          if (this.#source === source) this.start()
        }, 2000)
      }
    })
  }

  stop(): void {
    this.#source?.close()
    this.#source = undefined
  }

  /** While paused, new captures are held back; visible ones are still updated. */
  pause(paused: boolean): void {
    this.#pausedId = paused ? (this.#view.captures[0]?.id ?? '') : undefined
    this.#view = { ...this.#view, paused }
    this.#publish()
  }

  /** Loads what is older than the oldest that is known. */
  async loadOlder(): Promise<void> {
    if (this.#loadingOlder || !this.#view.hasOlder) return
    this.#loadingOlder = true
    const load = this.#loadCount
    try {
      for (let hasOlder = true; hasOlder && this.#byId.size < MAX_CAPTURES; ) {
        const page = await listCaptures(PAGE_SIZE, this.#oldestId(), true)
        if (load !== this.#loadCount) return
        for (const capture of page) this.#byId.set(capture.id, capture)
        hasOlder = page.length === PAGE_SIZE
        this.#publish()
      }
      this.#update({ hasOlder: false })
    } catch {
      this.#update({ state: 'lost' })
    } finally {
      this.#loadingOlder = false
    }
  }

  #oldestId(): string | undefined {
    return [...this.#byId.keys()].sort()[0]
  }

  /** Loads the newest; what the agent no longer has, after a restart or a missed `clear`, is forgotten with all older ones. */
  async #load(): Promise<void> {
    const load = ++this.#loadCount
    this.#update({ state: 'live' })
    try {
      const known = new Map(this.#byId)
      const page = await listCaptures(FIRST_PAGE_SIZE, undefined, true)
      if (load !== this.#loadCount) return
      // Updates from the stream are newer than the page just loaded.
      for (const [id, capture] of known) if (this.#byId.get(id) === capture) this.#byId.delete(id)
      for (const capture of page) {
        const existing = this.#byId.get(capture.id) ?? known.get(capture.id)
        this.#byId.set(capture.id, existing === undefined || existing.in_flight ? capture : existing)
      }
      this.#update({ hasOlder: page.length === FIRST_PAGE_SIZE })
      this.#publish()
    } catch {
      this.#update({ state: 'lost' })
    }
  }

  /** Batches the changes of about one animation frame into one new view. */
  #publish(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // Not requestAnimationFrame: it pauses in background tabs, where changes would pile up.
    setTimeout(() => {
      this.#scheduled = false
      const sorted = [...this.#byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
      for (const old of sorted.splice(MAX_CAPTURES)) this.#byId.delete(old.id)
      const pausedId = this.#pausedId
      const visible = pausedId === undefined ? sorted : sorted.filter(({ id }) => id <= pausedId)
      this.#update({ captures: visible, pendingCount: sorted.length - visible.length })
    }, 16)
  }

  #update(changes: Partial<FeedView>): void {
    this.#view = { ...this.#view, ...changes }
    for (const listener of this.#listeners) listener()
  }
}
