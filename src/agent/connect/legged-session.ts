import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import {
  type AgentSession,
  type AuthResponse,
  type BindMessage,
  type BindResponse,
  ErrorCode,
  type LabelRequest,
  type LabelResponse,
  MuxError,
  ProtocolError,
} from '../../protocol/index.ts'
import type { AgentLog } from '../log/log.ts'
import { Backoff } from './backoff.ts'
import type { ServerLocation } from './location.ts'

/** A leg this old resets the backoff of those that are opened next. */
const STABLE_LEG_MS = 10_000

/** The most that a server accepts. */
const MAX_LEGS = 16

/** How often a leg is dialled to reach another worker than the home; the first attempts follow each other at once. */
const MAX_ATTEMPTS = 12
const MAX_QUICK_ATTEMPTS = 8

/** One authenticated connection of the session. */
export interface AgentLeg {
  readonly number: number
  readonly location: ServerLocation
  readonly session: AgentSession
  latencyMs: number | undefined
  /** Resolves when the server asks for the next session, with the addresses to start it at; none means the same one. */
  readonly move: Promise<readonly string[]>
  /** Resolves when the connection ends, with the error unless it was closed cleanly. */
  readonly closed: Promise<Error | undefined>
}

export interface LeggedSessionOptions {
  readonly first: AgentLeg
  /** How many legs the session may have. */
  readonly maxLegs: number
  /** Whether a connection to the home's address may reach another process. */
  readonly isSpread: boolean
  /** Opens a leg; `failures` counts the attempts that failed so far. The home rejects one that has to end at another process. */
  open(number: number, failures: number, mustBeRemote: boolean): Promise<AgentLeg>
  readonly clock: Clock
  readonly log: AgentLog
  /** The longest wait before a lost leg is dialled again. */
  readonly maxBackoffMs?: number | undefined
  readonly random?: (() => number) | undefined
  /** A leg was opened or lost. */
  onChange(): void
}

/**
 * The agent's session over one leg or several. It begins with one; the first stream opens the others, because an agent
 * without visitors needs none of them. One of them ends at another worker than the first, if the server has several, so
 * that the loss of one does not end all. A leg that is lost is dialled again. The session ends with its last leg to its
 * home, the node where it began; remote legs go on serving until the node that they end at closes them.
 */
export class LeggedSession {
  readonly authResponse: AuthResponse
  /** Resolves when the last leg to the home has ended, with its error unless it was closed cleanly. */
  readonly ended: Promise<Error | undefined>
  /** As that of its legs. */
  readonly move: Promise<readonly string[]>
  readonly #options: LeggedSessionOptions
  readonly #end: (error: Error | undefined) => void
  readonly #requestMove: (addresses: readonly string[]) => void
  readonly #backoff: Backoff
  /** Each with the monotonic time when it was opened. */
  readonly #legs = new Map<AgentLeg, number>()
  /** Legs being opened, by their numbers; each aborts its wait. */
  readonly #opening = new Map<number, AbortController>()
  #desiredLegs = 1
  /** The number of the leg being opened that has to end at another process. */
  #seeking: number | undefined
  #closed = false

  constructor(options: LeggedSessionOptions) {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>()
    const move = Promise.withResolvers<readonly string[]>()
    this.#options = options
    this.move = move.promise
    this.#requestMove = move.resolve
    this.authResponse = options.first.session.authResponse
    this.ended = promise
    const { clock, random, maxBackoffMs } = options
    this.#backoff = new Backoff({ clock, random, ...(maxBackoffMs !== undefined && { maxMs: maxBackoffMs }) })
    this.#end = resolve
    this.#add(options.first)
  }

  get legs(): readonly AgentLeg[] {
    return [...this.#legs.keys()]
  }

  /** True once the session is closing, or has no leg to its home. */
  get closed(): boolean {
    return this.#closed
  }

  bind(request: BindMessage): Promise<BindResponse> {
    return this.#first.bind(request)
  }

  startTunnelWithLabel(request: LabelRequest): Promise<LabelResponse> {
    return this.#first.startTunnelWithLabel(request)
  }

  unbind(id: string): Promise<void> {
    return this.#first.unbind(id)
  }

  /** There is traffic: opens the legs that are missing. */
  expand(): void {
    if (this.#legs.size + this.#opening.size >= this.#options.maxLegs) return
    this.#desiredLegs = this.#options.maxLegs
    this.#openMissing(0)
  }

  /** Opens a further leg, whose number leaves `index` when divided by the number of nodes: that is how legs find theirs. */
  openAlso(index: number, nodes: number): void {
    // Without traffic there is one leg.
    if (this.#closed || this.#desiredLegs === 1) return
    const numbers = this.#takenNumbers()
    let number = index
    while (numbers.has(number)) number += nodes
    if (number >= MAX_LEGS) return
    this.#desiredLegs = Math.max(this.#desiredLegs, numbers.size + 1)
    void this.#open(number, 0)
  }

  /** Another session has its tunnels: opens no more legs. Those that are open serve until the server closes them. */
  retire(): void {
    this.#stopOpening()
  }

  /** Closes every leg cleanly. */
  close(): void {
    this.#stopOpening()
    for (const { session } of this.#legs.keys()) session.close()
  }

  get #first(): AgentSession {
    const leg = this.legs.find((leg) => !isRemote(leg)) ?? this.#options.first
    return leg.session
  }

  #add(leg: AgentLeg): void {
    this.#legs.set(leg, this.#options.clock.monotonic())
    void leg.closed.then((error) => this.#remove(leg, error))
    void leg.move.then(this.#requestMove)
  }

  #remove(leg: AgentLeg, error: Error | undefined): void {
    const { clock, log, onChange } = this.#options
    if (clock.monotonic() - (this.#legs.get(leg) ?? 0) >= STABLE_LEG_MS) this.#backoff.reset()
    this.#legs.delete(leg)
    if (this.legs.every(isRemote)) {
      this.#stopOpening()
      this.#end(error)
    } else if (!this.#closed) {
      const err = error === undefined ? null : errorMessage(error)
      log.info('leg closed, the session goes on', { obj: 'tunnels.session', leg: leg.number, err })
      // The server closes legs that it does not need; the next stream opens them again.
      if (error instanceof MuxError && error.code === ErrorCode.RemoteGone) this.#desiredLegs = 1
      this.#openMissing(this.#backoff.next())
      onChange()
    }
  }

  #stopOpening(): void {
    this.#closed = true
    for (const abort of this.#opening.values()) abort.abort()
  }

  #openMissing(delayMs: number): void {
    if (this.#closed) return
    const numbers = this.#takenNumbers()
    const missing: number[] = []
    for (let number = 0; numbers.size + missing.length < this.#desiredLegs; number++)
      if (!numbers.has(number)) missing.push(number)
    if (this.#options.isSpread && !this.legs.some(isRemote)) this.#seeking ??= missing.at(-1)
    for (const number of missing) void this.#open(number, delayMs)
  }

  #takenNumbers(): Set<number> {
    return new Set([...this.legs.map(({ number }) => number), ...this.#opening.keys()])
  }

  /** Opens a leg after the delay, and tries again with backoff until it is open or not wanted any more. */
  async #open(number: number, delayMs: number): Promise<void> {
    const { open, log, onChange } = this.#options
    const abort = new AbortController()
    this.#opening.set(number, abort)
    for (let failures = 0; ; failures++) {
      if (delayMs > 0) await delay(delayMs, undefined, { signal: abort.signal, ref: false }).catch(() => {})
      if (this.#closed || this.#legs.size >= this.#desiredLegs) break
      try {
        const leg = await open(number, failures, this.#seeking === number)
        if (this.#closed) leg.session.close()
        else this.#add(leg)
        break
      } catch (error) {
        log.debug('leg not opened', { obj: 'tunnels.session', leg: number, err: errorMessage(error) })
        // The kernel chooses the worker: the next attempt may reach another one.
        const reachedHome = this.#seeking === number && error instanceof ProtocolError
        delayMs = reachedHome && failures < MAX_QUICK_ATTEMPTS ? 0 : this.#backoff.next()
        if (failures >= MAX_ATTEMPTS && this.#seeking === number) this.#seeking = undefined
      }
    }
    if (this.#seeking === number) this.#seeking = undefined
    this.#opening.delete(number)
    onChange()
  }
}

function isRemote({ session }: AgentLeg): boolean {
  return session.authResponse.Extra?.Elsewhere === true
}
