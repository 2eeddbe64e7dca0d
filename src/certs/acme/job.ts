import { formatTimestamp } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import type { Draft, Row } from '../../store/index.ts'
import type { ManagedKeyType } from '../x509/keys.ts'
import type { DnsProblem } from './client/dns-preflight.ts'
import { PLATFORM, type Subject } from './client/subject.ts'
import type { ChallengeRecord } from './dns/challenge-records.ts'

/** The store kind of certificate jobs. */
export const JOBS = 'certificate_jobs'

/** A published challenge response. The authority may query any node for it. */
export type Challenge =
  | { readonly type: 'http-01'; readonly host: string; readonly token: string; readonly value: string }
  | { readonly type: 'dns-01'; readonly name: string; readonly value: string }

/** The certificate a job has obtained. */
export interface IssuedCertificate {
  readonly id: string
  readonly directory: string
  readonly keyType: ManagedKeyType
  readonly names: readonly string[]
  readonly notAfter: number
  readonly renewsAt: number
}

/**
 * The state of a certificate job, one for each subject. It is written before every step with an external effect, so that
 * any node can resume it under the subject's lease. The state follows from the fields:
 *
 *   state     startedAt  error  dueAt     order        meaning
 *   (no row)  -          -      -         -            nothing attempted yet
 *   ordering  set        null   now       null         key generated, the order is about to be placed
 *   ordered   set        null   now       set          order placed; `challenges` are set during validation
 *   waiting   set        set    a time    set or null  the attempt failed; the next one starts at `dueAt`
 *   given up  set        set    null      set or null  30 days of failures; a change of the subject wakes it
 *   issued    null       null   renewsAt  null         `certificate` is served until it is renewed
 *
 *   (no row)      waiting        issued          given up
 *       |            |              |                |
 *    at once    dueAt passed,  renewsAt passed,   owner updates
 *       |       or the owner   or the directory,  the subject
 *       |       updates the    key type or names     |
 *       |       subject        have changed          |
 *       +------------+------+-------+----------------+
 *                           |
 *                           |  IssueAttempt.run, under the lease
 *                           v
 *                  matching open order? --- yes ---------+
 *                           | no                         |
 *                           v                            |
 *            validation budget, DNS preflight            |
 *                           |                            |
 *                           v  #work saves               |
 *                       ordering                         |
 *                           |                            |
 *                           v  #newOrder saves           v  #work saves
 *                        ordered <-----------------------+
 *                           |
 *                           |  #validate saves the challenges; validation, finalize
 *                           v  #install saves, with the certificate
 *                        issued ---+
 *                           ^      |  RenewalPoller saves another renewsAt
 *                           +------+
 *
 * A failure of any step: #fail saves `waiting`, or `given up` after 30 days (not for the platform's own subjects). It
 * keeps the order when the order can still succeed, and clears the challenges. Retries back off from 1 min to 6 h (15 min
 * while only the DNS preflight fails), and start neither before the authority's Retry-After nor while four validations of
 * the name have failed within the hour (`schedule.ts`).
 *
 * A lost lease, a changed subject (`SupersededError`), an unavailable store or a stopping server saves nothing: a row that
 * is `ordering` or `ordered` stays due, and the next attempt resumes it. Records at a DNS provider are in the row before they
 * are created, and an attempt begins by removing those that an interrupted one left behind. Times written by a clock that was ahead count as
 * due (`hasFutureTimes`). The Reconciler deletes the row when its subject is deleted or requests no certificate any more,
 * after it has removed the row's records at the provider.
 */
export type Job = {
  readonly kind: Subject['kind']
  readonly subject: string
  /** The account of the subject. */
  readonly account: string
  readonly domain: string
  /** When the current issuance or renewal began; null while none is needed. */
  readonly startedAt: number | null
  /** When the job is due; null after giving up. */
  readonly dueAt: number | null
  /** A retry on request starts no earlier: the authority asked to wait, or validations of the name failed too often. */
  readonly notBefore: number
  readonly error: DnsProblem | null
  /** Failed attempts since the last success. */
  readonly attempts: number
  readonly failedSince: number | null
  /** The open order. It is dropped when it no longer matches the subject. */
  readonly order: {
    readonly url: string
    readonly directory: string
    readonly keyType: ManagedKeyType
    readonly names: readonly string[]
  } | null
  readonly challenges: readonly Challenge[]
  /** Records at the DNS provider that this job has to remove; stored before they are created. */
  readonly providerRecords: readonly ChallengeRecord[]
  readonly certificate: IssuedCertificate | null
  /** The subject's revision at the last write of the job, to detect that its owner has changed it since. */
  readonly subjectRevision: number
}

/** A job with the private key of its open order. */
export interface StoredJob {
  readonly job: Job
  readonly key: Secret | undefined
}

/** A job that has not started. */
export function newJob(subject: Subject): Job {
  return {
    kind: subject.kind,
    subject: subject.id,
    account: subject.account,
    domain: subject.domain,
    startedAt: null,
    dueAt: 0,
    notBefore: 0,
    error: null,
    attempts: 0,
    failedSince: null,
    order: null,
    challenges: [],
    providerRecords: [],
    certificate: null,
    subjectRevision: 0,
  }
}

/** The key of a subject's job in the store. Jobs that no account requested belong to the platform. */
export function jobKey({ kind, id, account }: Pick<Subject, 'kind' | 'id' | 'account'>) {
  return { kind: JOBS, account: kind === 'own' ? PLATFORM : account, id: `certificate_job_${id}` }
}

/** Rows of earlier releases lack some fields. */
type StoredFields = Omit<Job, 'notBefore' | 'providerRecords'> &
  Partial<Pick<Job, 'notBefore' | 'providerRecords'>>

export function readJob(row: Row): StoredJob {
  const key = row.secrets?.key
  const job = { notBefore: 0, providerRecords: [], ...(row.data as StoredFields) }
  return { job, key: key === undefined ? undefined : new Secret(key) }
}

export function toJobDraft(
  subject: Pick<Subject, 'kind' | 'id' | 'account'>,
  { job, key }: StoredJob,
): Draft {
  return {
    ...jobKey(subject),
    data: { ...job },
    secrets: key === undefined ? undefined : { key: key.reveal() },
    claims: [],
    // Prevents deletion of the certificate while it is served.
    references:
      job.certificate === null
        ? []
        : [{ field: 'certificate', target: job.certificate.id, onDelete: 'restrict' }],
  }
}

/** The state of certificate management as the API shows it. */
export interface CertificateStatus {
  readonly renews_at: string | null
  readonly provisioning_job: {
    readonly error_code: DnsProblem['code'] | null
    readonly msg: string
    readonly started_at: string
    readonly retries_at: string | null
  } | null
}

export const IN_PROGRESS = 'Managed certificate provisioning is in progress.'

/** The status message while no authority is configured. */
export const AUTOMATIC_OFF =
  'Automatic certificates are switched off on this server: no ACME directory is configured. Start it with --acme-directory and --acme-email to switch them on.'

/** The status of a job, derived from the stored state alone. */
export function statusOf({ startedAt, dueAt, error, certificate }: Job): CertificateStatus {
  const format = (time: number | null) => (time === null ? null : formatTimestamp(time))
  if (startedAt === null) return { renews_at: format(certificate?.renewsAt ?? null), provisioning_job: null }
  return {
    renews_at: certificate === null ? null : format(dueAt),
    provisioning_job: {
      error_code: error?.code ?? null,
      msg: error?.msg ?? IN_PROGRESS,
      started_at: formatTimestamp(startedAt),
      retries_at: error === null ? null : format(dueAt),
    },
  }
}

/** The status while no authority is configured. */
export function offStatus(since: number): CertificateStatus {
  return {
    renews_at: null,
    provisioning_job: {
      error_code: null,
      msg: AUTOMATIC_OFF,
      started_at: formatTimestamp(since),
      retries_at: null,
    },
  }
}

/** When a subject's job is due; undefined when only a change by its owner wakes it. */
export function jobDueAt(
  subject: Subject,
  job: Job | undefined,
  context: { directory: string; subjectRevision: number; now: number },
): number | undefined {
  if (job === undefined) return 0
  if (hasFutureTimes(job, context.now)) return 0
  const isChanged = context.subjectRevision > job.subjectRevision
  if (job.dueAt === null) return isChanged ? 0 : undefined
  // A running job keeps its time. One that waits to be retried does not when the owner updates the resource (decision 185).
  if (job.startedAt !== null)
    return isChanged && job.error !== null ? Math.min(job.dueAt, job.notBefore) : job.dueAt
  const { certificate } = job
  const isCurrent =
    certificate !== null &&
    certificate.directory === context.directory &&
    certificate.keyType === subject.keyType &&
    sameNames(certificate.names, subject.names)
  if (!isCurrent) return 0
  // What could not be removed at the DNS provider is tried again at `dueAt`.
  const cleanupAt = job.providerRecords.length > 0 ? job.dueAt : Number.POSITIVE_INFINITY
  return Math.min(certificate.renewsAt, cleanupAt)
}

/** Longer than any Retry-After of an authority. */
const MAX_WAIT_MS = 8 * 24 * 60 * 60 * 1000
const CLOCK_TOLERANCE_MS = 60_000

/** Whether a clock that was ahead wrote the times of a job: waiting for them could take years (P54). */
function hasFutureTimes({ startedAt, dueAt: next, certificate }: Job, now: number): boolean {
  if (startedAt !== null)
    return startedAt > now + CLOCK_TOLERANCE_MS || (next !== null && next > now + MAX_WAIT_MS)
  // Any renewal time the authority suggests lies within the lifetime of the certificate.
  return certificate !== null && certificate.renewsAt >= certificate.notAfter && now < certificate.notAfter
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}
