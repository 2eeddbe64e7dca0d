import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import { AgentIngress, ReservedDomain } from '../../resources/index.ts'
import {
  type AuditEntry,
  draftOf,
  type Lease,
  type Row,
  recordOf,
  type Store,
  type Transaction,
} from '../../store/index.ts'
import { PLATFORM, type Subject, type SubjectRow, subjectOf } from './client/subject.ts'
import { jobKey, newJob, readJob, type StoredJob, sameNames, statusOf, toJobDraft } from './job.ts'
import { recentFailures } from './schedule.ts'

/** The subject no longer requests this certificate. */
export class SupersededError extends Error {
  override name = 'SupersededError'
}

/** The store kind of failed validations, by name; they outlive the reservation of the name. */
export const FAILURES_KIND = 'certificate_failures'

/** The audit entry of an action of the platform itself. */
export function systemAuditEntry(
  clock: Clock,
  entry: Pick<AuditEntry, 'account' | 'action' | 'kind' | 'object'>,
): AuditEntry {
  return {
    ...entry,
    principal: undefined,
    credential: undefined,
    source: undefined,
    requestId: newId('op', clock.now()),
    outcome: 'done',
  }
}

export type SubjectResource = typeof AgentIngress | typeof ReservedDomain

/** The resource of a subject; the platform has none. */
export function resourceOf(subject: Pick<Subject, 'kind'>): SubjectResource | undefined {
  if (subject.kind === 'platform') return undefined
  return subject.kind === 'ingress' ? AgentIngress : ReservedDomain
}

/**
 * Reads and writes the state of one job. A write fails once the lease is lost or the subject has changed, so that a
 * stale worker can do no harm.
 */
export class JobStore {
  readonly #store: Store
  readonly #clock: Clock
  readonly #base: string
  readonly #subject: Subject
  readonly #lease: Pick<Lease, 'name' | 'fence'>

  constructor(options: { store: Store; clock: Clock; base: string; subject: Subject; lease: Lease }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#base = options.base
    this.#subject = options.subject
    this.#lease = options.lease
  }

  /** The current job and the subject's revision. */
  async read(): Promise<StoredJob & { subjectRevision: number; exists: boolean }> {
    const { kind, account, id } = jobKey(this.#subject)
    const subject = await this.#requireSubject(this.#store)
    const row = await this.#store.get(kind, account, id)
    const stored = row === undefined ? { job: newJob(this.#subject), key: undefined } : readJob(row)
    return { ...stored, subjectRevision: subject?.revision ?? 0, exists: row !== undefined }
  }

  /** Writes the job, and the subject's status if it has changed. Returns the store's revision. */
  save(stored: StoredJob): Promise<number> {
    return this.commit(stored, undefined)
  }

  /** Like `save`, in one transaction with the certificate that the subject uses from now on. */
  async commit(
    stored: StoredJob,
    issued: { certificateId: string; work(tx: Transaction): Promise<void> } | undefined,
  ): Promise<number> {
    const subject = this.#subject
    return this.#store.write({}, async (tx) => {
      await tx.requireLease(this.#lease)
      const row = await this.#requireSubject(tx)
      await issued?.work(tx)
      const subjectRow = await this.#updateStatus(tx, row, stored, issued?.certificateId)
      const draft = toJobDraft(subject, {
        ...stored,
        job: { ...stored.job, subjectRevision: subjectRow?.revision ?? 0 },
      })
      const exists = await tx.get(draft.kind, draft.account, draft.id)
      const saved = exists === undefined ? await tx.insert(draft) : await tx.update(draft)
      const deed = { action: issued === undefined ? 'certificate_progress' : 'issue_certificate' }
      await tx.audit(
        systemAuditEntry(this.#clock, {
          ...deed,
          // Progress is audited for the platform, a new certificate for the account.
          account: issued === undefined ? PLATFORM : subject.account,
          kind: resourceOf(subject)?.kind ?? 'platform',
          object: subject.id,
        }),
      )
      return saved.revision
    })
  }

  /** The times of recent failed validations of this name, for any reservation of it. */
  async failures(): Promise<number[]> {
    const row = await this.#store.get(FAILURES_KIND, PLATFORM, this.#failuresId())
    return recentFailures((row?.data.at as number[] | undefined) ?? [], this.#clock.now())
  }

  async recordFailure(): Promise<void> {
    const failures = [...(await this.failures()), this.#clock.now()]
    await this.#store.write({}, async (tx) => {
      await tx.requireLease(this.#lease)
      const id = this.#failuresId()
      const draft = {
        kind: FAILURES_KIND,
        account: PLATFORM,
        id,
        data: { at: failures },
        claims: [],
        references: [],
      }
      if ((await tx.get(FAILURES_KIND, PLATFORM, id)) === undefined) await tx.insert(draft)
      else await tx.update(draft)
      await tx.audit(
        systemAuditEntry(this.#clock, {
          account: PLATFORM,
          action: 'note_failure',
          kind: FAILURES_KIND,
          object: id,
        }),
      )
    })
  }

  #failuresId(): string {
    return `${FAILURES_KIND}_${this.#subject.domain.replace(/^\*\./, '')}`
  }

  /** The subject's row, if it has one. Throws when the subject requests something else by now. */
  async #requireSubject(reader: Pick<Store, 'get'>): Promise<SubjectRow | undefined> {
    const resource = resourceOf(this.#subject)
    if (resource === undefined) return undefined
    const { account, id, kind, keyType, names } = this.#subject
    const row = await reader.get(resource.kind, account, id)
    const current = row && subjectOf(row, this.#base)
    if (current?.kind !== kind || current.keyType !== keyType || !sameNames(current.names, names))
      throw new SupersededError()
    return row
  }

  async #updateStatus(
    tx: Transaction,
    row: SubjectRow | undefined,
    { job }: StoredJob,
    certificateId: string | undefined,
  ): Promise<Row | undefined> {
    const { kind, account, id } = this.#subject
    const resource = resourceOf(this.#subject)
    if (row === undefined || resource === undefined || kind === 'own') return row
    const record = {
      ...recordOf(row),
      certificate_management_status: statusOf(job),
      ...(kind === 'domain' && certificateId !== undefined ? { certificate_id: certificateId } : {}),
    }
    if (JSON.stringify(record) === JSON.stringify(recordOf(row))) return row
    return tx.update(draftOf(resource, id, account, record))
  }
}
