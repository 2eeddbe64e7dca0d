import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Row } from '../../store/index.ts'
import type { Subject } from './client/subject.ts'
import { type Job, newJob } from './job.ts'
import { describeCertificates, reportCertificates } from './report.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const now = Date.parse('2030-01-01T00:00:00Z')

function job(domain: string, change: Partial<Job>): Row {
  const subject = { kind: 'domain', id: `rd_${domain}`, account: 'ac_1', domain } as Subject
  const data = { ...newJob(subject), ...change }
  return row('certificate_jobs', `certificate_job_rd_${domain}`, { ...data })
}

function row(kind: string, id: string, data: Record<string, unknown>): Row {
  return { kind, id, account: 'ac_1', revision: 1, createdAt: 0, data, secrets: undefined }
}

const storeOf = (rows: Row[]) => ({
  scan: async <K extends string>(
    kind: K,
    { limit, after = '' }: { limit: number; after?: string | undefined },
  ) =>
    rows
      .filter((each) => each.kind === kind && each.id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit) as Row<K>[],
})

const certificate = {
  id: 'cert_1',
  directory: '',
  keyType: 'rsa',
  names: [],
  notAfter: now + 40 * DAY,
  renewsAt: now + 10 * DAY,
} as const
const error = { code: 'DNS_ERROR', msg: 'Point it here.' } as const

test('every job is reported in plain words, sorted by name', async () => {
  const rows = [
    job('d.example', { startedAt: now - HOUR, dueAt: null, error }),
    job('b.example', { startedAt: now - HOUR, dueAt: now + 2 * HOUR, error, attempts: 3 }),
    job('a.example', { certificate, dueAt: certificate.renewsAt }),
    job('c.example', { startedAt: now - 30_000, dueAt: now - 30_000 }),
    row('agent_ingresses', 'agin_1', { domain: 'e.example', certificate_management_policy: {} }),
    row('reserved_domains', 'rd_f', { domain: 'f.example', certificate_management_policy: null }),
  ]

  const text = describeCertificates(await reportCertificates(storeOf(rows), { now, acmeEnabled: true }))

  assert.deepEqual(text.split('\n'), [
    'a.example  valid        The current certificate is valid until 2030-02-10T00:00:00Z. It is renewed in 10 days.',
    'b.example  waiting      Point it here. Tried 3 times since 2029-12-31T23:00:00Z, next try in 2 hours. There is no certificate yet.',
    'c.example  in progress  Placing an order, started 30 seconds ago. There is no certificate yet.',
    'd.example  given up     Point it here. There is no certificate yet.',
    'e.example  in progress  Requested, not started yet.',
    '',
  ])
})

test('without an authority the report says what to set', async () => {
  const rows = [row('reserved_domains', 'rd_1', { domain: 'a.example', certificate_management_policy: {} })]

  const [report] = await reportCertificates(storeOf(rows), { now, acmeEnabled: false })

  assert.equal(report?.state, 'off')
  assert.match(report.says, /--acme-directory/)
})

test('an empty report says so', () => {
  assert.equal(describeCertificates([]), 'No certificate is managed automatically.\n')
})
