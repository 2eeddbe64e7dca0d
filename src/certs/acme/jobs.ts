import { setMaxListeners } from 'node:events'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Store } from '../../store/index.ts'
import type { Acme } from './client.ts'
import type { Inventory } from './inventory.ts'
import { type IssueTools, IssueTurn } from './issue.ts'
import { dueAt } from './job.ts'
import type { Chance } from './schedule.ts'

const AT_ONCE = 8
// The wall clock may be set, so no timer is trusted for longer than this (P54).
const LONGEST_SLEEP_MS = 15_000
const STORE_RETRY_MS = 10_000
const NEWS_MS = 1000
const CLOCK_JUMP_MS = 60_000

/** Sees to it that every certificate is worked on when it is due, on one node at a time. */
export class Jobs {
  readonly #tools: IssueTools
  readonly #inventory: Inventory
  readonly #acme: Acme
  readonly #store: Store
  readonly #clock: Clock
  readonly #chance: Chance
  readonly #log: Logger
  readonly #holder: string
  readonly #leaseMs: number
  /** When each subject is to be looked at, by its id. */
  readonly #due = new Map<string, number>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #watch: { stop(): void } | undefined
  /** By how much the wall clock is ahead of the monotonic one; it changes only when the wall clock is set. */
  #ahead: number

  constructor(tools: IssueTools, options: { holder: string; leaseMs: number }) {
    this.#tools = tools
    this.#inventory = tools.inventory
    this.#acme = tools.acme
    this.#store = tools.store
    this.#clock = tools.clock
    this.#ahead = tools.clock.now() - tools.clock.monotonic()
    this.#chance = tools.chance
    this.#log = tools.log
    this.#holder = options.holder
    this.#leaseMs = options.leaseMs
    setMaxListeners(0, this.#stopping.signal)
  }

  start(): void {
    this.#watch = this.#inventory.onChange((ids) => {
      this.#plan(ids)
      this.#arm()
    })
    this.#plan(undefined)
    this.#arm()
  }

  /** Leaves what is under way where it is; whoever comes next goes on from there. */
  async stop(): Promise<void> {
    this.#watch?.stop()
    clearTimeout(this.#timer)
    this.#stopping.abort()
    await Promise.allSettled(this.#running.values())
  }

  /** Works on everything that is due now, and on what becomes due meanwhile; resolves when nothing is left. */
  async runDue(): Promise<void> {
    for (;;) {
      this.#startDue()
      if (this.#running.size === 0) return
      await Promise.race(this.#running.values())
    }
  }

  #plan(ids: readonly string[] | undefined): void {
    if (ids === undefined) this.#due.clear()
    for (const id of ids ?? this.#inventory.subjects.keys()) {
      const subject = this.#inventory.subjects.get(id)
      const due =
        subject &&
        dueAt(subject, this.#inventory.jobs.get(id), {
          directory: this.#acme.directoryUrl,
          subjectRevision:
            (this.#inventory.domains.get(id) ?? this.#inventory.ingresses.get(id))?.revision ?? 0,
          now: this.#clock.now(),
        })
      if (due === undefined) this.#due.delete(id)
      else this.#due.set(id, due)
    }
  }

  #arm(): void {
    if (this.#stopping.signal.aborted) return
    clearTimeout(this.#timer)
    let next = this.#clock.now() + LONGEST_SLEEP_MS
    for (const [id, due] of this.#due) if (due < next && !this.#running.has(id)) next = due
    const wait = this.#running.size >= AT_ONCE ? LONGEST_SLEEP_MS : Math.max(0, next - this.#clock.now())
    this.#timer = setTimeout(() => {
      this.#startDue()
      this.#arm()
    }, wait)
    this.#timer.unref()
  }

  /** Plans everything anew once the wall clock was set: times from before mean nothing now. */
  #noticeClock(): void {
    const ahead = this.#clock.now() - this.#clock.monotonic()
    if (Math.abs(ahead - this.#ahead) > CLOCK_JUMP_MS) this.#plan(undefined)
    this.#ahead = ahead
  }

  #startDue(): void {
    this.#noticeClock()
    const now = this.#clock.now()
    for (const [id, due] of this.#due) {
      if (this.#running.size >= AT_ONCE || this.#stopping.signal.aborted) return
      if (due > now || this.#running.has(id)) continue
      const turn = this.#run(id)
        .catch((error) => {
          this.#log.error({ err: error }, 'a certificate job could not be worked on')
          this.#due.set(id, this.#clock.now() + STORE_RETRY_MS)
        })
        .finally(() => {
          this.#running.delete(id)
          this.#arm()
        })
      this.#running.set(id, turn)
    }
  }

  async #run(id: string): Promise<void> {
    const subject = this.#inventory.subjects.get(id)
    if (subject === undefined) {
      this.#due.delete(id)
      return
    }
    // By name and for this subject alone: a name that was given up and reserved anew has two subjects for a moment.
    const holder = `${this.#holder} ${id}`
    const lease = await this.#store.lease(`certificates ${subject.domain}`, holder, this.#leaseMs)
    if (lease === undefined) {
      // Whoever has it is at work, or gone; a look after a while tells which.
      this.#due.set(id, this.#clock.now() + (this.#leaseMs / 2) * (1 + this.#chance()))
      return
    }
    const lost = new AbortController()
    const keeping = setInterval(() => {
      lease.renew().then(
        (held) => held || lost.abort(),
        () => {},
      )
    }, this.#leaseMs / 3)
    keeping.unref()
    try {
      const signal = AbortSignal.any([this.#stopping.signal, lost.signal])
      const revision = await new IssueTurn(this.#tools, subject, lease, signal).run()
      await this.#planAfter(id, revision, signal)
    } finally {
      clearInterval(keeping)
      await lease.release().catch(() => {})
    }
  }

  /** What was written comes back through the feed; deciding before that would decide by the past. */
  async #planAfter(id: string, revision: number, signal: AbortSignal): Promise<void> {
    if (revision === 0) {
      // There was nothing to do, and the news of why is still on its way.
      this.#due.set(id, this.#clock.now() + NEWS_MS)
      return
    }
    const patience = AbortSignal.any([signal, AbortSignal.timeout(NEWS_MS * 10)])
    await this.#inventory.reached(revision, patience).catch(() => {})
    this.#plan([id])
  }
}
