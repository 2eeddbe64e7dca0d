import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { AgentIngress, TlsCertificate } from '../../resources/index.ts'
import { draftOf, recordOf, type Store, type Transaction } from '../../store/index.ts'
import { PLATFORM, type Subject, subjectOf } from './client/subject.ts'
import type { ChallengeRecords } from './dns/challenge-records.ts'
import { endManagement, forgetProviderRecords, unmanageCertificate } from './end-management.ts'
import type { CertificateRecord, IngressRecord, Inventory } from './inventory.ts'
import { AUTOMATIC_OFF, JOBS, type Job, newJob, offStatus, statusOf } from './job.ts'
import { FAILURES_KIND, resourceOf, type SubjectResource, systemAuditEntry } from './job-store.ts'
import { recentFailures } from './schedule.ts'

const RECONCILE_INTERVAL_MS = 60_000
const DEBOUNCE_MS = 50
const LEASE_RETRY_MS = 5000
const CLEANUP_TIMEOUT_MS = 30_000
const CLEANUP_LEASE_MS = 2 * CLEANUP_TIMEOUT_MS

/**
 * Reconciles the platform's own records with changes by users: detached policies, deleted domains, replaced
 * certificates, new regions. Each step checks again inside its transaction, so that several nodes may run at once.
 */
export class Reconciler {
  readonly #store: Store
  readonly #inventory: Inventory
  readonly #clock: Clock
  readonly #log: Logger
  /** Whether an ACME authority is configured. */
  readonly #acmeEnabled: boolean
  readonly #challengeRecords: ChallengeRecords | undefined
  readonly #holder: string
  #timer: NodeJS.Timeout | undefined
  #interval: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #subscription: { stop(): void } | undefined
  #working: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: {
    store: Store
    inventory: Inventory
    clock: Clock
    log: Logger
    acmeEnabled: boolean
    /** Removes what jobs of deleted domains have left at the DNS provider. */
    challengeRecords: ChallengeRecords | undefined
    holder: string
  }) {
    this.#store = options.store
    this.#inventory = options.inventory
    this.#clock = options.clock
    this.#log = options.log
    this.#acmeEnabled = options.acmeEnabled
    this.#challengeRecords = options.challengeRecords
    this.#holder = options.holder
  }

  start(): void {
    this.#subscription = this.#inventory.onChange(() => this.#schedule())
    this.#interval = setInterval(() => this.#schedule(), RECONCILE_INTERVAL_MS)
    this.#interval.unref()
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#subscription?.stop()
    clearTimeout(this.#timer)
    clearTimeout(this.#retryTimer)
    clearInterval(this.#interval)
    await this.#working
  }

  /** Reconciles everything once. */
  async run(): Promise<void> {
    const { subjects, jobs, certificates, domains, ingresses } = this.#inventory
    for (const [id, job] of jobs) if (subjects.get(id)?.kind !== job.kind) await this.#dropJob(job)
    const inUse = new Set([...jobs.values()].map((job) => job.certificate?.id))
    const attached = new Set([...domains.values()].map((domain) => domain.certificateId))
    for (const certificate of certificates.values()) {
      if (!certificate.managed || inUse.has(certificate.id)) continue
      if (attached.has(certificate.id)) await this.#unmanage(certificate)
      else await this.#removeCertificate(certificate)
    }
    for (const ingress of ingresses.values()) await this.#addRegions(ingress)
    for (const [id, subject] of subjects) {
      const resource = resourceOf(subject)
      if (resource === undefined || subject.kind === 'own') continue
      const statusMessage = (domains.get(id) ?? ingresses.get(id))?.statusMessage
      if ((statusMessage === AUTOMATIC_OFF) === this.#acmeEnabled)
        await this.#updateStatus(resource, subject, jobs.get(id))
    }
    await this.#pruneFailures()
  }

  /** Schedules a run; a burst of changes is reconciled in one. */
  #schedule(): void {
    if (this.#timer !== undefined || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#working = this.#working
        .then(() => this.run())
        .catch((error) => this.#log.warn({ err: error }, 'certificate reconciliation failed'))
    }, DEBOUNCE_MS)
    this.#timer.unref()
  }

  #retry(): void {
    this.#retryTimer = undefined
    this.#schedule()
  }

  /** Runs one transaction, and audits it when `work` returns that it has changed something. */
  async #write(
    entry: { action: string; kind: string; object: string },
    work: (tx: Transaction) => Promise<boolean>,
  ): Promise<void> {
    await this.#store.write({}, async (tx) => {
      if (await work(tx)) await tx.audit(systemAuditEntry(this.#clock, { account: PLATFORM, ...entry }))
    })
  }

  /** Deletes the job of a subject that was deleted or no longer asks for a certificate. */
  async #dropJob(job: Job): Promise<void> {
    const { kind, account, subject: id } = job
    const resource = resourceOf(job)
    if (resource === undefined || !(await this.#removeProviderRecords(job))) return
    await this.#write({ action: 'drop_job', kind: JOBS, object: id }, async (tx) => {
      const row = await tx.get(resource.kind, account, id)
      const current = row && subjectOf(row, this.#inventory.base)
      if (current?.kind === kind) return false
      await forgetProviderRecords(tx, { kind, id, account })
      const certificateId = row?.kind === 'reserved_domains' ? row.data.certificate_id : null
      return endManagement(tx, { kind, id, account }, certificateId)
    })
  }

  /** Removes what the job has at the DNS provider. Returns false while it cannot; the next run tries again. */
  async #removeProviderRecords({ domain, providerRecords }: Job): Promise<boolean> {
    if (providerRecords.length === 0) return true
    if (this.#challengeRecords === undefined) {
      this.#log.warn({ domain }, 'challenge records left behind: no DNS provider configured')
      return true
    }
    // An attempt that holds the lease removes them itself when it ends.
    const lease = await this.#store.lease(
      `certificates ${domain}`,
      `${this.#holder} cleanup`,
      CLEANUP_LEASE_MS,
    )
    if (lease === undefined) {
      this.#retryTimer ??= setTimeout(() => this.#retry(), LEASE_RETRY_MS).unref()
      return false
    }
    try {
      const signal = AbortSignal.timeout(CLEANUP_TIMEOUT_MS)
      return (await this.#challengeRecords.remove(providerRecords, signal)).length === 0
    } catch (error) {
      this.#log.warn({ domain, err: error }, 'challenge records not removed')
      return false
    } finally {
      await lease.release().catch(() => {})
    }
  }

  #removeCertificate({ id, account }: CertificateRecord): Promise<void> {
    return this.#write({ action: 'delete', kind: TlsCertificate.kind, object: id }, async (tx) =>
      (await tx.referrers(id, 1)).length > 0 ? false : tx.remove(TlsCertificate.kind, account, id),
    )
  }

  #unmanage({ id, account }: CertificateRecord): Promise<void> {
    return this.#write({ action: 'hand_over', kind: TlsCertificate.kind, object: id }, (tx) =>
      unmanageCertificate(tx, account, id),
    )
  }

  /** Adds a name for every known region to an ingress. Names are never removed, since agents may use them. */
  async #addRegions({ id, account, domain, regionDomains }: IngressRecord): Promise<void> {
    const names = this.#inventory.regions().map(({ region }) => `tunnel.${region}.${domain}`)
    if (names.every((name) => regionDomains.includes(name))) return
    await this.#write({ action: 'add_regions', kind: AgentIngress.kind, object: id }, async (tx) => {
      const row = await tx.get(AgentIngress.kind, account, id)
      const existing = row?.data.region_domains
      const missing = names.filter((name) => !existing?.includes(name)).sort()
      if (row === undefined || existing === undefined || missing.length === 0) return false
      const record = { ...recordOf(row), region_domains: [...existing, ...missing] }
      await tx.update(draftOf(AgentIngress, id, account, record))
      return true
    })
  }

  /** Sets the status of a managed resource when automatic certificates were switched on or off. */
  #updateStatus(resource: SubjectResource, subject: Subject, job: Job | undefined): Promise<void> {
    const { id, account } = subject
    const now = this.#clock.now()
    const status = this.#acmeEnabled
      ? statusOf(job ?? { ...newJob(subject), startedAt: now })
      : offStatus(now)
    return this.#write({ action: 'certificate_progress', kind: resource.kind, object: id }, async (tx) => {
      const row = await tx.get(resource.kind, account, id)
      if (row === undefined || row.data.certificate_management_policy === null) return false
      const record = { ...recordOf(row), certificate_management_status: status }
      await tx.update(draftOf(resource, id, account, record))
      return true
    })
  }

  /** Deletes failed validations that no longer count. */
  async #pruneFailures(): Promise<void> {
    const now = this.#clock.now()
    for (const row of await this.#store.scan(FAILURES_KIND, { limit: 500 }))
      if (recentFailures(row.data.at as number[], now).length === 0)
        await this.#write({ action: 'forget', kind: FAILURES_KIND, object: row.id }, (tx) =>
          tx.remove(FAILURES_KIND, PLATFORM, row.id),
        )
  }
}
