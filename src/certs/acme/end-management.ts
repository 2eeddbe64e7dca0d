import { TlsCertificate } from '../../resources/index.ts'
import { draftOf, recordOf, type Transaction } from '../../store/index.ts'
import type { Subject } from './client/subject.ts'
import { JOBS, jobKey, readJob, toJobDraft } from './job.ts'

/**
 * Ends the automatic management of a domain's certificate: deletes the job, and the certificate that the domain keeps
 * becomes an ordinary one of its owner. A job that still has records at the DNS provider stays, without its certificate,
 * until the reconciler has removed them. Returns whether there was a job.
 */
export async function endManagement(
  tx: Transaction,
  subject: Pick<Subject, 'kind' | 'id' | 'account'>,
  certificateId: string | null,
): Promise<boolean> {
  const { kind, account, id } = jobKey(subject)
  const row = await tx.get(kind, account, id)
  const job = row && readJob(row).job
  const isDetached = job !== undefined && job.providerRecords.length > 0
  if (isDetached)
    await tx.update(
      toJobDraft(subject, {
        job: { ...job, certificate: null, order: null, challenges: [] },
        key: undefined,
      }),
    )
  const removed = isDetached || (await tx.remove(kind, account, id))
  if (removed && certificateId !== null) await unmanageCertificate(tx, subject.account, certificateId)
  return removed
}

/** Stores that nothing is left at the DNS provider. */
export async function forgetProviderRecords(
  tx: Transaction,
  subject: Pick<Subject, 'kind' | 'id' | 'account'>,
): Promise<void> {
  const { kind, account, id } = jobKey(subject)
  const row = await tx.get(kind, account, id)
  if (row === undefined) return
  const { job, key } = readJob(row)
  if (job.providerRecords.length > 0)
    await tx.update(toJobDraft(subject, { job: { ...job, providerRecords: [] }, key }))
}

/** Makes a managed certificate an ordinary one, unless a job still maintains it. */
export async function unmanageCertificate(tx: Transaction, account: string, id: string): Promise<boolean> {
  const row = await tx.get(TlsCertificate.kind, account, id)
  const users = await tx.referrers(id, 100)
  if (row?.data.managed !== true || users.some(({ kind }) => kind === JOBS)) return false
  const record = { ...recordOf(row), managed: false }
  await tx.update(draftOf(TlsCertificate, id, account, record))
  return true
}
