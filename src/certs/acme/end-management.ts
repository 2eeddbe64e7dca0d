import { TlsCertificate } from '../../resources/index.ts'
import { draftOf, recordOf, type Transaction } from '../../store/index.ts'
import { JOBS, jobKey } from './job.ts'
import type { Subject } from './subject.ts'

/**
 * Ends the automatic management of a domain's certificate: deletes the job, and the certificate that the domain keeps
 * becomes an ordinary one of its owner. Returns whether there was a job.
 */
export async function endManagement(
  tx: Transaction,
  subject: Pick<Subject, 'kind' | 'id' | 'account'>,
  certificateId: string | null,
): Promise<boolean> {
  const { kind, account, id } = jobKey(subject)
  const removed = await tx.remove(kind, account, id)
  if (removed && certificateId !== null) await unmanageCertificate(tx, subject.account, certificateId)
  return removed
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
