import { setMaxListeners } from 'node:events'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { Store } from '../../store/index.ts'
import type { AcmeClient } from './client/client.ts'
import type { Inventory } from './inventory.ts'
import { IssueAttempt, type IssueContext } from './issue.ts'
import { jobDueAt } from './job.ts'
import type { Random } from './schedule.ts'

const MAX_RUNNING = 8
// The wall clock may be set, so no timer is trusted for longer than this (P54).
const MAX_SLEEP_MS = 15_000
const STORE_RETRY_MS = 10_000
const FEED_DELAY_MS = 1000
const CLOCK_JUMP_MS = 60_000

/** Runs every certificate job when it is due, on one node at a time. */
export class JobRunner {
  readonly #context: IssueContext
  readonly #inventory: Inventory
  readonly #acme: AcmeClient
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  readonly #log: Logger
  readonly #holder: string
  readonly #leaseMs: number
  /** When each subject is due, by its id. */
  readonly #due = new Map<string, number>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #subscription: { stop(): void } | undefined
  /** The wall clock minus the monotonic clock; changes only when the wall clock is set. */
  #clockOffset: number

  constructor(context: IssueContext, options: { holder: string; leaseMs: number }) {
    this.#context = context
    this.#inventory = context.inventory
    this.#acme = context.acme
    this.#store = context.store
    this.#clock = context.clock
    this.#clockOffset = context.clock.now() - context.clock.monotonic()
    this.#random = context.random
    this.#log = context.log
    this.#holder = options.holder
    this.#leaseMs = options.leaseMs
    setMaxListeners(0, this.#stopping.signal)
  }

  start(): void {
    this.#subscription = this.#inventory.onChange((ids) => {
      this.#plan(ids)
      this.#armTimer()
    })
    this.#plan(undefined)
    this.#armTimer()
  }

  /** Interrupts running jobs; the next node resumes them from their stored state. */
  async stop(): Promise<void> {
    this.#subscription?.stop()
    clearTimeout(this.#timer)
    this.#stopping.abort()
    await Promise.allSettled(this.#running.values())
  }

  /** Runs all jobs that are due or become due meanwhile; resolves when none is left. */
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
        jobDueAt(subject, this.#inventory.jobs.get(id), {
          directory: this.#acme.directoryUrl,
          subjectRevision:
            (this.#inventory.domains.get(id) ?? this.#inventory.ingresses.get(id))?.revision ?? 0,
          now: this.#clock.now(),
        })
      if (due === undefined) this.#due.delete(id)
      else this.#due.set(id, due)
    }
  }

  #armTimer(): void {
    if (this.#stopping.signal.aborted) return
    clearTimeout(this.#timer)
    let next = this.#clock.now() + MAX_SLEEP_MS
    for (const [id, due] of this.#due) if (due < next && !this.#running.has(id)) next = due
    const wait = this.#running.size >= MAX_RUNNING ? MAX_SLEEP_MS : Math.max(0, next - this.#clock.now())
    this.#timer = setTimeout(() => {
      this.#startDue()
      this.#armTimer()
    }, wait)
    this.#timer.unref()
  }

  /** Replans all jobs after the wall clock was set: planned times have lost their meaning. */
  #replanAfterClockJump(): void {
    const offset = this.#clock.now() - this.#clock.monotonic()
    if (Math.abs(offset - this.#clockOffset) > CLOCK_JUMP_MS) this.#plan(undefined)
    this.#clockOffset = offset
  }

  #startDue(): void {
    this.#replanAfterClockJump()
    const now = this.#clock.now()
    for (const [id, due] of this.#due) {
      if (this.#running.size >= MAX_RUNNING || this.#stopping.signal.aborted) return
      if (due > now || this.#running.has(id)) continue
      const run = this.#run(id)
        .catch((error) => {
          this.#log.error({ err: error }, 'certificate job could not run')
          this.#due.set(id, this.#clock.now() + STORE_RETRY_MS)
        })
        .finally(() => {
          this.#running.delete(id)
          this.#armTimer()
        })
      this.#running.set(id, run)
    }
  }

  async #run(id: string): Promise<void> {
    const subject = this.#inventory.subjects.get(id)
    if (subject === undefined) {
      this.#due.delete(id)
      return
    }
    // Leases are by name, holders by subject: a name that was released and reserved again has two subjects for a moment.
    const holder = `${this.#holder} ${id}`
    const lease = await this.#store.lease(`certificates ${subject.domain}`, holder, this.#leaseMs)
    if (lease === undefined) {
      // Another node holds the lease: it is working on the job, or its lease expires soon.
      this.#due.set(id, this.#clock.now() + (this.#leaseMs / 2) * (1 + this.#random()))
      return
    }
    const leaseLost = new AbortController()
    const renewTimer = setInterval(() => {
      lease.renew().then(
        (isHeld) => isHeld || leaseLost.abort(),
        () => {},
      )
    }, this.#leaseMs / 3)
    renewTimer.unref()
    try {
      const signal = AbortSignal.any([this.#stopping.signal, leaseLost.signal])
      const revision = await new IssueAttempt(this.#context, subject, lease, signal).run()
      await this.#planAfter(id, revision, signal)
    } finally {
      clearInterval(renewTimer)
      await lease.release().catch(() => {})
    }
  }

  /** Waits until the feed has delivered the attempt's writes, so that planning does not use stale state. */
  async #planAfter(id: string, revision: number, signal: AbortSignal): Promise<void> {
    if (revision === 0) {
      // Another node did the work; its write has not arrived through the feed yet.
      this.#due.set(id, this.#clock.now() + FEED_DELAY_MS)
      return
    }
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(FEED_DELAY_MS * 10)])
    await this.#inventory.waitForRevision(revision, timeout).catch(() => {})
    this.#plan([id])
  }
}
