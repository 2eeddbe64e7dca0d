import { timestamp } from '../../base/clock.ts'
import { Secret } from '../../base/secret.ts'
import type { Draft, Row } from '../../store/index.ts'
import type { ManagedKeyType } from '../x509/keys.ts'
import type { DnsProblem } from './dns-preflight.ts'
import { PLATFORM, type Subject } from './subject.ts'

/** The kind under which the store keeps what is being done for a subject. */
export const JOBS = 'certificate_jobs'

/** What an authority must find while it validates a name; any node may be the one it asks. */
export type Challenge =
  | { readonly type: 'http-01'; readonly host: string; readonly token: string; readonly value: string }
  | { readonly type: 'dns-01'; readonly name: string; readonly value: string }

/** The certificate that a job has got. */
export interface IssuedCertificate {
  readonly id: string
  readonly directory: string
  readonly keyType: ManagedKeyType
  readonly names: readonly string[]
  readonly notAfter: number
  readonly renewsAt: number
}

/** Where a job stands; written before each step with an effect outside, so that any node can go on from there. */
export interface Job {
  readonly kind: Subject['kind']
  readonly subject: string
  /** The account of the subject. */
  readonly account: string
  readonly domain: string
  /** When the present attempt to get a certificate began; null while there is nothing to get. */
  readonly startedAt: number | null
  /** When to look at it again; null after giving up. */
  readonly dueAt: number | null
  readonly error: DnsProblem | null
  /** Attempts that failed since the last success. */
  readonly attempts: number
  readonly failedSince: number | null
  /** The order under way; what it is for must still be what is wanted. */
  readonly order: {
    readonly url: string
    readonly directory: string
    readonly keyType: ManagedKeyType
    readonly names: readonly string[]
  } | null
  readonly challenges: readonly Challenge[]
  readonly certificate: IssuedCertificate | null
  /** The subject's revision at the last write, to notice that its owner has touched it since. */
  readonly subjectRevision: number
}

/** A job as it is stored: with the private key of the order under way. */
export interface StoredJob {
  readonly job: Job
  readonly key: Secret | undefined
}

/** A job that has not begun. */
export function newJob(subject: Subject): Job {
  return {
    kind: subject.kind,
    subject: subject.id,
    account: subject.account,
    domain: subject.domain,
    startedAt: null,
    dueAt: 0,
    error: null,
    attempts: 0,
    failedSince: null,
    order: null,
    challenges: [],
    certificate: null,
    subjectRevision: 0,
  }
}

/** Where the row of a subject's job is kept. Jobs that no account asked for belong to the platform. */
export function jobKey({ kind, id, account }: Pick<Subject, 'kind' | 'id' | 'account'>) {
  return { kind: JOBS, account: kind === 'own' ? PLATFORM : account, id: `certificate_job_${id}` }
}

export function readJob(row: Row): StoredJob {
  const key = row.secrets?.key
  return { job: row.data as unknown as Job, key: key === undefined ? undefined : new Secret(key) }
}

export function toJobDraft(subject: Subject, { job, key }: StoredJob): Draft {
  return {
    ...jobKey(subject),
    data: { ...job },
    secrets: key === undefined ? undefined : { key: key.reveal() },
    claims: [],
    // Keeps the certificate from being deleted while it is served.
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

/** What to say where certificates are asked for and no authority is configured. */
export const AUTOMATIC_OFF =
  'Automatic certificates are switched off on this server: no ACME directory is configured. Start it with --acme-directory and --acme-email to switch them on.'

/** What is shown of a job; all of it follows from what is stored, so it cannot say anything else. */
export function statusOf({ startedAt, dueAt, error, certificate }: Job): CertificateStatus {
  const format = (time: number | null) => (time === null ? null : timestamp(time))
  if (startedAt === null) return { renews_at: format(certificate?.renewsAt ?? null), provisioning_job: null }
  return {
    renews_at: certificate === null ? null : format(dueAt),
    provisioning_job: {
      error_code: error?.code ?? null,
      msg: error?.msg ?? IN_PROGRESS,
      started_at: timestamp(startedAt),
      retries_at: error === null ? null : format(dueAt),
    },
  }
}

/** The same while no authority is configured. */
export function offStatus(since: number): CertificateStatus {
  return {
    renews_at: null,
    provisioning_job: {
      error_code: null,
      msg: AUTOMATIC_OFF,
      started_at: timestamp(since),
      retries_at: null,
    },
  }
}

/** When a subject's job is to be worked on; undefined when only its owner can bring it back to life. */
export function jobDueAt(
  subject: Subject,
  job: Job | undefined,
  context: { directory: string; subjectRevision: number; now: number },
): number | undefined {
  if (job === undefined) return 0
  if (hasFutureTimes(job, context.now)) return 0
  if (job.dueAt === null) return context.subjectRevision > job.subjectRevision ? 0 : undefined
  // While an attempt is under way or waits for its next try, that time counts, whatever is wanted by now.
  if (job.startedAt !== null) return job.dueAt
  const { certificate } = job
  const isCurrent =
    certificate !== null &&
    certificate.directory === context.directory &&
    certificate.keyType === subject.keyType &&
    sameNames(certificate.names, subject.names)
  return isCurrent ? certificate.renewsAt : 0
}

/** The longest that an authority asks to wait, and some more. */
const MAX_WAIT_MS = 8 * 24 * 60 * 60 * 1000
const CLOCK_TOLERANCE_MS = 60_000

/** Whether the times of a job were written under a clock that was ahead: waiting for them could take years (P54). */
function hasFutureTimes({ startedAt, dueAt: next, certificate }: Job, now: number): boolean {
  if (startedAt !== null)
    return startedAt > now + CLOCK_TOLERANCE_MS || (next !== null && next > now + MAX_WAIT_MS)
  // Whatever the authority suggests lies within the life of the certificate.
  return certificate !== null && certificate.renewsAt >= certificate.notAfter && now < certificate.notAfter
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}
