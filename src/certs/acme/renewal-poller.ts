import { LeaseLost } from '../../store/index.ts'
import type { Subject } from './client/subject.ts'
import type { IssueContext } from './issue.ts'
import { JobStore, SupersededError } from './job-store.ts'
import { suggestedAt } from './schedule.ts'

const HOUR = 60 * 60 * 1000
// RFC 9773 section 4.3: a few times a day, so that a planned revocation is noticed in time.
const POLL_INTERVAL_MS = 6 * HOUR
const CHECK_INTERVAL_MS = 60_000
const BATCH_SIZE = 20

/** Polls the authority's renewal information and moves renewals into the windows it suggests. */
export class RenewalPoller {
  readonly #context: IssueContext
  readonly #lease: { holder: string; leaseMs: number }
  /** When to poll for each subject; spread over the first hours after the start. */
  readonly #nextPoll = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(context: IssueContext, lease: { holder: string; leaseMs: number }) {
    this.#context = context
    this.#lease = lease
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#working = this.#working.then(() => this.run())
    }, CHECK_INTERVAL_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#working
  }

  /** Polls for a batch of certificates that are due. */
  async run(): Promise<void> {
    const { clock, random, inventory, log } = this.#context
    const now = clock.monotonic()
    let polled = 0
    for (const [id, job] of inventory.jobs) {
      if (polled >= BATCH_SIZE) return
      const subject = inventory.subjects.get(id)
      if (subject === undefined || job.certificate === null || job.startedAt !== null) continue
      const pollAt = this.#nextPoll.get(id) ?? now + random() * POLL_INTERVAL_MS
      this.#nextPoll.set(id, pollAt > now ? pollAt : now + POLL_INTERVAL_MS)
      if (pollAt > now) continue
      polled += 1
      await this.#poll(subject).catch((error) => {
        if (error instanceof LeaseLost || error instanceof SupersededError) return
        log.debug({ err: error, domain: subject.domain }, 'renewal information unavailable')
      })
    }
  }

  async #poll(subject: Subject): Promise<void> {
    const { acme, clock, random, inventory, store, log } = this.#context
    const issued = inventory.jobs.get(subject.id)?.certificate
    const pem = inventory.certificates.get(issued?.id ?? '')?.certPem
    if (!issued || pem === undefined) return
    const window = await acme.renewalWindow(pem)
    if (window === undefined || (window.start <= issued.renewsAt && issued.renewsAt <= window.end)) return
    const lease = await store.lease(
      `certificates ${subject.domain}`,
      `${this.#lease.holder} renewals`,
      this.#lease.leaseMs,
    )
    if (lease === undefined) return
    try {
      const jobStore = new JobStore({ store, clock, base: inventory.base, subject, lease })
      const { job, key } = await jobStore.read()
      if (job.certificate?.id !== issued.id || job.startedAt !== null) return
      const renewsAt = suggestedAt(window, clock.now(), random)
      await jobStore.save({
        job: { ...job, dueAt: renewsAt, certificate: { ...job.certificate, renewsAt } },
        key,
      })
      log.info({ domain: subject.domain, renewsAt }, 'renewal rescheduled by the authority')
    } finally {
      await lease.release()
    }
  }
}
