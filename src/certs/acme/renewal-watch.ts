import { LeaseLost } from '../../store/index.ts'
import type { IssueTools } from './issue.ts'
import { Ledger, Superseded } from './job-store.ts'
import { suggestedAt } from './schedule.ts'
import type { Subject } from './subject.ts'

const HOUR = 60 * 60 * 1000
// RFC 9773 section 4.3: a few times a day, so that a revocation in the making is noticed in time.
const ASK_EVERY = 6 * HOUR
const LOOK_EVERY_MS = 60_000
const AT_ONCE = 20

/** Asks the authority from time to time whether certificates should be renewed earlier or later than planned. */
export class RenewalWatch {
  readonly #tools: IssueTools
  readonly #lease: { holder: string; leaseMs: number }
  /** When to ask about each subject next; spread over the first hours after the start. */
  readonly #askAt = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(tools: IssueTools, lease: { holder: string; leaseMs: number }) {
    this.#tools = tools
    this.#lease = lease
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#working = this.#working.then(() => this.run())
    }, LOOK_EVERY_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#working
  }

  /** Asks about some certificates whose turn it is. */
  async run(): Promise<void> {
    const { clock, chance, inventory, log } = this.#tools
    const now = clock.monotonic()
    let asked = 0
    for (const [id, job] of inventory.jobs) {
      if (asked >= AT_ONCE) return
      const subject = inventory.subjects.get(id)
      if (subject === undefined || job.certificate === null || job.startedAt !== null) continue
      const at = this.#askAt.get(id) ?? now + chance() * ASK_EVERY
      this.#askAt.set(id, at > now ? at : now + ASK_EVERY)
      if (at > now) continue
      asked += 1
      await this.#ask(subject).catch((error) => {
        if (error instanceof LeaseLost || error instanceof Superseded) return
        log.debug({ err: error, domain: subject.domain }, 'no renewal information')
      })
    }
  }

  async #ask(subject: Subject): Promise<void> {
    const { acme, clock, chance, inventory, store, log } = this.#tools
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
      const ledger = new Ledger({ store, clock, base: inventory.base, subject, lease })
      const { job, key } = await ledger.read()
      if (job.certificate?.id !== issued.id || job.startedAt !== null) return
      const renewsAt = suggestedAt(window, clock.now(), chance)
      await ledger.save({
        job: { ...job, dueAt: renewsAt, certificate: { ...job.certificate, renewsAt } },
        key,
      })
      log.info({ domain: subject.domain, renewsAt }, 'the authority suggests another time to renew')
    } finally {
      await lease.release()
    }
  }
}
