import { type Clock, formatTimestamp } from '../../base/values/clock.ts'
import type { Row, Store } from '../../store/index.ts'
import { PLATFORM } from './client/subject.ts'
import { JOBS, type Job, readJob, toJobDraft } from './job.ts'
import { systemAuditEntry } from './job-store.ts'
import { scanAll } from './scan-all.ts'

/** What became of a request to retry a job. */
export interface RetryOutcome {
  readonly domain: string
  /** When the job starts; undefined when it has nothing to retry. */
  readonly dueAt: number | undefined
}

/**
 * Makes jobs that wait for a retry, or were given up, due now: all of them, or those of one domain. Running and finished
 * jobs are left alone. Nodes notice through the change feed.
 */
export async function retryCertificates(
  { store, clock }: { store: Pick<Store, 'scan' | 'write'>; clock: Clock },
  domain?: string,
): Promise<RetryOutcome[]> {
  const outcomes: RetryOutcome[] = []
  for await (const row of scanAll(store, JOBS)) {
    const { job } = readJob(row)
    if (domain !== undefined && job.domain !== domain) continue
    outcomes.push({
      domain: job.domain,
      dueAt: isWaiting(job) ? await retryJob(store, clock, row) : undefined,
    })
  }
  return outcomes
}

/** Formats the outcomes for a terminal. */
export function describeRetries(outcomes: readonly RetryOutcome[], now: number): string {
  const lines = outcomes.flatMap(({ domain, dueAt }) => {
    if (dueAt === undefined) return []
    if (dueAt <= now) return [`${domain}: the job runs now.`]
    return [
      `${domain}: the job runs at ${formatTimestamp(dueAt)}; the limits of the authority or the DNS provider allow it no earlier.`,
    ]
  })
  return lines.length === 0 ? 'No job is waiting for a retry.\n' : `${lines.join('\n')}\n`
}

function isWaiting({ startedAt, error }: Job): boolean {
  return startedAt !== null && error !== null
}

/** Reads the job again inside the transaction: a node may have taken it up meanwhile. */
async function retryJob(
  store: Pick<Store, 'write'>,
  clock: Clock,
  { kind, account, id }: Row,
): Promise<number | undefined> {
  let dueAt: number | undefined
  await store.write({}, async (tx) => {
    const row = await tx.get(kind, account, id)
    const { job, key } = row ? readJob(row) : {}
    if (job === undefined || !isWaiting(job)) return
    dueAt = Math.max(clock.now(), job.notBefore)
    const subject = { kind: job.kind, id: job.subject, account: job.account }
    await tx.update(toJobDraft(subject, { job: { ...job, dueAt }, key }))
    await tx.audit(
      systemAuditEntry(clock, { account: PLATFORM, action: 'retry_job', kind: JOBS, object: job.subject }),
    )
  })
  return dueAt
}
