import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { AgentIngress, type Resource, TlsCertificate } from '../../resources/index.ts'
import { draftOf, recordOf, type Store, type Transaction } from '../../store/index.ts'
import type { Inventory, KnownCertificate, KnownIngress } from './inventory.ts'
import { AUTOMATIC_OFF, JOBS, type Job, jobPlace, newJob, offStatus, statusOf } from './job.ts'
import { FAILURES, ownDeed, resourceOf } from './job-store.ts'
import { recentFailures } from './schedule.ts'
import { domainSubject, ingressSubject, PLATFORM, type Subject } from './subject.ts'

const AGAIN_MS = 60_000
const COALESCE_MS = 50

/**
 * Brings what the platform keeps by itself into line with what its users have changed: detached policies, deleted
 * domains, exchanged certificates, new regions. Each step looks again inside its transaction, so that several nodes may
 * do it at once.
 */
export class Tidy {
  readonly #store: Store
  readonly #inventory: Inventory
  readonly #clock: Clock
  readonly #log: Logger
  /** Whether there is an authority to ask. */
  readonly #automatic: boolean
  #timer: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  #watch: { stop(): void } | undefined
  #working: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: {
    store: Store
    inventory: Inventory
    clock: Clock
    log: Logger
    automatic: boolean
  }) {
    this.#store = options.store
    this.#inventory = options.inventory
    this.#clock = options.clock
    this.#log = options.log
    this.#automatic = options.automatic
  }

  start(): void {
    this.#watch = this.#inventory.onChange(() => this.#soon())
    this.#again = setInterval(() => this.#soon(), AGAIN_MS)
    this.#again.unref()
    this.#soon()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#watch?.stop()
    clearTimeout(this.#timer)
    clearInterval(this.#again)
    await this.#working
  }

  /** Everything that is out of line now. */
  async run(): Promise<void> {
    const { subjects, jobs, certificates, domains, ingresses } = this.#inventory
    for (const [id, job] of jobs) if (subjects.get(id)?.kind !== job.kind) await this.#dropJob(job)
    const atWork = new Set([...jobs.values()].map((job) => job.certificate?.id))
    const attached = new Set([...domains.values()].map((domain) => domain.certificateId))
    for (const certificate of certificates.values()) {
      if (!certificate.managed || atWork.has(certificate.id)) continue
      if (attached.has(certificate.id)) await this.#handOver(certificate)
      else await this.#removeCertificate(certificate)
    }
    for (const ingress of ingresses.values()) await this.#addRegions(ingress)
    for (const [id, subject] of subjects) {
      if (subject.kind !== 'domain' && subject.kind !== 'ingress') continue
      const shown = (domains.get(id) ?? ingresses.get(id))?.statusMessage
      if ((shown === AUTOMATIC_OFF) === this.#automatic) await this.#tellWhetherOn(subject, jobs.get(id))
    }
    await this.#forgetFailures()
  }

  /** Changes that come one after the other are tidied up after together. */
  #soon(): void {
    if (this.#timer !== undefined || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#working = this.#working
        .then(() => this.run())
        .catch((error) => this.#log.warn({ err: error }, 'certificates will be tidied up after later'))
    }, COALESCE_MS)
    this.#timer.unref()
  }

  /** One transaction that says whether it changed anything; only then is there something to put on record. */
  async #write(
    deed: { action: string; kind: string; object: string },
    work: (tx: Transaction) => Promise<boolean>,
  ): Promise<void> {
    await this.#store.write({}, async (tx) => {
      if (await work(tx)) await tx.audit(ownDeed(this.#clock, { account: PLATFORM, ...deed }))
    })
  }

  /** The subject is gone, or its owner manages the certificate by hand now. */
  #dropJob(job: Job): Promise<void> {
    const { kind, account, subject: id } = job
    const resource = resourceOf(job)
    if (resource === undefined) return Promise.resolve()
    return this.#write({ action: 'drop_job', kind: JOBS, object: id }, async (tx) => {
      const row = await tx.get(resource.kind, account, id)
      const wanted =
        row && (kind === 'ingress' ? ingressSubject(row) : domainSubject(row, this.#inventory.base))
      if (wanted?.kind === kind) return false
      const place = jobPlace({ kind, id, account })
      const removed = await tx.remove(place.kind, place.account, place.id)
      const kept = row?.data.certificate_id
      if (removed && typeof kept === 'string') await handOver(tx, account, kept)
      return removed
    })
  }

  #removeCertificate({ id, account }: KnownCertificate): Promise<void> {
    return this.#write({ action: 'delete', kind: TlsCertificate.kind, object: id }, async (tx) =>
      (await tx.referrers(id, 1)).length > 0 ? false : tx.remove(TlsCertificate.kind, account, id),
    )
  }

  #handOver({ id, account }: KnownCertificate): Promise<void> {
    return this.#write({ action: 'hand_over', kind: TlsCertificate.kind, object: id }, (tx) =>
      handOver(tx, account, id),
    )
  }

  /** Every region that has come up has a name under every ingress; none is taken away, since agents may use it. */
  async #addRegions({ id, account, domain, regionDomains }: KnownIngress): Promise<void> {
    const names = this.#inventory.regions().map(({ region }) => `tunnel.${region}.${domain}`)
    if (names.every((name) => regionDomains.includes(name))) return
    await this.#write({ action: 'add_regions', kind: AgentIngress.kind, object: id }, async (tx) => {
      const row = await tx.get(AgentIngress.kind, account, id)
      const known = row?.data.region_domains as string[] | undefined
      const missing = names.filter((name) => !known?.includes(name)).sort()
      if (row === undefined || known === undefined || missing.length === 0) return false
      const record = { ...recordOf(row), region_domains: [...known, ...missing] }
      await tx.update(draftOf(AgentIngress as unknown as Resource, id, account, record))
      return true
    })
  }

  /** Says that automatic certificates are off where they are asked for, and takes that back once they are on. */
  #tellWhetherOn(subject: Subject, job: Job | undefined): Promise<void> {
    const { id, account } = subject
    const resource = resourceOf(subject)!
    const now = this.#clock.now()
    const status = this.#automatic ? statusOf(job ?? { ...newJob(subject), startedAt: now }) : offStatus(now)
    return this.#write({ action: 'certificate_progress', kind: resource.kind, object: id }, async (tx) => {
      const row = await tx.get(resource.kind, account, id)
      if (row === undefined || row.data.certificate_management_policy === null) return false
      const record = { ...recordOf(row), certificate_management_status: status }
      await tx.update(draftOf(resource, id, account, record))
      return true
    })
  }

  /** Failed validations count for an hour. */
  async #forgetFailures(): Promise<void> {
    const now = this.#clock.now()
    for (const row of await this.#store.scan(FAILURES, { limit: 500 }))
      if (recentFailures(row.data.at as number[], now).length === 0)
        await this.#write({ action: 'forget', kind: FAILURES, object: row.id }, (tx) =>
          tx.remove(FAILURES, PLATFORM, row.id),
        )
  }
}

/** After its policy was detached a domain keeps its last certificate, as one that its owner sees to. */
async function handOver(tx: Transaction, account: string, id: string): Promise<boolean> {
  const row = await tx.get(TlsCertificate.kind, account, id)
  const users = await tx.referrers(id, 100)
  if (row?.data.managed !== true || users.some(({ kind }) => kind === JOBS)) return false
  const record = { ...recordOf(row), managed: false }
  await tx.update(draftOf(TlsCertificate as unknown as Resource, id, account, record))
  return true
}
