import { errorMessage } from '../../base/text/error-message.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import type { Store } from '../../store/index.ts'
import { type CertificatePaths, readCertificateFiles } from '../x509/certificate-files.ts'
import { PLATFORM } from './client/subject.ts'
import { AUTOMATIC_OFF, JOBS, type Job, readJob } from './job.ts'
import { scanAll } from './scan-all.ts'

/** The state of one managed certificate, for people. */
export interface CertificateReport {
  readonly domain: string
  readonly id: string
  readonly account: string
  readonly state: 'valid' | 'in progress' | 'waiting' | 'given up' | 'off' | 'file'
  /** A sentence about the current state and the next step. */
  readonly says: string
}

/** Reports the state of every managed certificate, directly from the store. */
export async function reportCertificates(
  store: Pick<Store, 'scan'>,
  { now, acmeEnabled }: { now: number; acmeEnabled: boolean },
): Promise<CertificateReport[]> {
  const jobs = new Map<string, Job>()
  for await (const row of scanAll(store, JOBS)) {
    const { job } = readJob(row)
    jobs.set(job.subject, job)
  }
  const reports = [...jobs.values()].map((job) => describeJob(job, now))
  for (const kind of ['reserved_domains', 'agent_ingresses'] as const)
    for await (const row of scanAll(store, kind)) {
      if (row.data.certificate_management_policy === null || jobs.has(row.id)) continue
      reports.push({
        domain: row.data.domain,
        id: row.id,
        account: row.account,
        state: acmeEnabled ? 'in progress' : 'off',
        says: acmeEnabled ? 'Requested, not started yet.' : AUTOMATIC_OFF,
      })
    }
  return reports.sort((a, b) => (a.domain < b.domain ? -1 : 1))
}

/** The state of the operator's certificate, for the report of all certificates. */
export async function reportCertificateFiles(
  paths: CertificatePaths,
  domain: string,
): Promise<CertificateReport> {
  const says = await readCertificateFiles(paths, domain).then(
    ({ names, notAfter }) =>
      `Read from ${paths.certFile}, for ${names.join(' and ')}, valid until ${formatTimestamp(notAfter)}.`,
    errorMessage,
  )
  return { domain, id: PLATFORM, account: PLATFORM, state: 'file', says }
}

/** Formats reports as lines for a terminal. */
export function describeCertificates(reports: readonly CertificateReport[]): string {
  if (reports.length === 0) return 'No certificate is managed automatically.\n'
  const width = Math.max(...reports.map(({ domain }) => domain.length))
  return reports
    .map(({ domain, state, says }) => `${domain.padEnd(width)}  ${state.padEnd(11)}  ${says}\n`)
    .join('')
}

function describeJob(job: Job, now: number): CertificateReport {
  const {
    domain,
    subject: id,
    account,
    startedAt,
    dueAt,
    error,
    certificate,
    order,
    attempts,
    providerRecords,
  } = job
  const common = { domain, id, account }
  const certificateState =
    certificate === null
      ? 'There is no certificate yet.'
      : `The current certificate is valid until ${formatTimestamp(certificate.notAfter)}.`
  if (startedAt === null)
    return {
      ...common,
      state: 'valid',
      says: `${certificateState} It is renewed ${formatRelative(certificate?.renewsAt ?? now, now)}.`,
    }
  if (error === null) {
    const step =
      providerRecords.length > 0
        ? 'Challenge records are published at the DNS provider'
        : order === null
          ? 'Placing an order'
          : 'An order is open at the authority'
    return {
      ...common,
      state: 'in progress',
      says: `${step}, started ${formatRelative(startedAt, now)}. ${certificateState}`,
    }
  }
  if (dueAt === null) return { ...common, state: 'given up', says: `${error.msg} ${certificateState}` }
  const attemptCount = attempts === 1 ? 'Tried once' : `Tried ${attempts} times`
  return {
    ...common,
    state: 'waiting',
    says: `${error.msg} ${attemptCount} since ${formatTimestamp(startedAt)}, next try ${formatRelative(dueAt, now)}. ${certificateState}`,
  }
}

const UNITS: readonly [number, string][] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
]

/** Formats a time relative to now: `in 3 days`, `2 minutes ago`. */
function formatRelative(time: number, now: number): string {
  const distance = Math.abs(time - now)
  const [unit, name] = UNITS.find(([length]) => distance >= length) ?? UNITS.at(-1)!
  const count = Math.round(distance / unit)
  if (count === 0) return 'now'
  const duration = `${count} ${name}${count === 1 ? '' : 's'}`
  return time > now ? `in ${duration}` : `${duration} ago`
}
