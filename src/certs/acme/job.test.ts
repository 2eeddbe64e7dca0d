import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Subject } from './client/subject.ts'
import { IN_PROGRESS, type Job, jobDueAt, newJob, statusOf } from './job.ts'

const subject: Subject = {
  kind: 'domain',
  id: 'rd_1',
  account: 'ac_1',
  domain: 'shop.example.com',
  names: ['shop.example.com'],
  keyType: 'ecdsa',
  challenge: 'http-01',
  challengeAlias: undefined,
  cnameTarget: undefined,
}
const certificate: NonNullable<Job['certificate']> = {
  id: 'cert_1',
  directory: 'https://ca.example/dir',
  keyType: 'ecdsa',
  names: ['shop.example.com'],
  notAfter: 90_000,
  renewsAt: 60_000,
}
const issued: Job = { ...newJob(subject), dueAt: 60_000, certificate }
const context = { directory: 'https://ca.example/dir', subjectRevision: 1, now: 30_000 }
const error = { code: 'DNS_ERROR', msg: 'Point it here.' } as const

test('the status follows from the job alone', () => {
  const cases: [string, Job, unknown][] = [
    ['valid', issued, { renews_at: '1970-01-01T00:01:00Z', provisioning_job: null }],
    [
      'in progress for the first time',
      { ...newJob(subject), startedAt: 1000, dueAt: 1000 },
      {
        renews_at: null,
        provisioning_job: {
          error_code: null,
          msg: IN_PROGRESS,
          started_at: '1970-01-01T00:00:01Z',
          retries_at: null,
        },
      },
    ],
    [
      'a renewal that failed',
      { ...issued, startedAt: 60_000, dueAt: 120_000, error },
      {
        renews_at: '1970-01-01T00:02:00Z',
        provisioning_job: {
          error_code: 'DNS_ERROR',
          msg: 'Point it here.',
          started_at: '1970-01-01T00:01:00Z',
          retries_at: '1970-01-01T00:02:00Z',
        },
      },
    ],
    [
      'given up',
      { ...newJob(subject), startedAt: 1000, dueAt: null, error },
      {
        renews_at: null,
        provisioning_job: {
          error_code: 'DNS_ERROR',
          msg: 'Point it here.',
          started_at: '1970-01-01T00:00:01Z',
          retries_at: null,
        },
      },
    ],
  ]
  for (const [name, job, expected] of cases) assert.deepEqual(statusOf(job), expected, name)
})

test('a job is due at once when there is none, and when the subject requests something else', () => {
  assert.equal(jobDueAt(subject, undefined, context), 0)
  assert.equal(jobDueAt(subject, issued, context), 60_000)
  assert.equal(jobDueAt({ ...subject, keyType: 'rsa' }, issued, context), 0)
  assert.equal(jobDueAt({ ...subject, names: ['shop.example.com', 'more.example.com'] }, issued, context), 0)
  assert.equal(jobDueAt(subject, issued, { ...context, directory: 'https://other.example/dir' }), 0)
})

test('a waiting job is not due before its retry', () => {
  const { subjectRevision } = context
  const waiting = { ...issued, startedAt: 1, dueAt: 500, error, subjectRevision }

  assert.equal(jobDueAt({ ...subject, keyType: 'rsa' }, waiting, context), 500)
})

test('an update by the owner makes a waiting job due, but not before the authority allows it', () => {
  const waiting = { ...newJob(subject), startedAt: 1, dueAt: 500, error, subjectRevision: 5 }
  const changed = { ...context, subjectRevision: 6 }

  assert.equal(jobDueAt(subject, waiting, { ...context, subjectRevision: 5 }), 500)
  assert.equal(jobDueAt(subject, waiting, changed), 0)
  assert.equal(jobDueAt(subject, { ...waiting, notBefore: 400 }, changed), 400)
  assert.equal(jobDueAt(subject, { ...waiting, error: null }, changed), 500)
})

test('a finished job with records left at the DNS provider is due to remove them', () => {
  const providerRecords = [{ name: '_acme-challenge.example.com', value: 'v' }]

  assert.equal(jobDueAt(subject, { ...issued, dueAt: 700, providerRecords }, context), 700)
  assert.equal(jobDueAt(subject, { ...issued, dueAt: 700 }, context), 60_000)
})

test('a job that was given up wakes when its owner changes the resource', () => {
  const givenUp = { ...issued, startedAt: 1, dueAt: null, error, subjectRevision: 5 }

  assert.equal(jobDueAt(subject, givenUp, { ...context, subjectRevision: 5 }), undefined)
  assert.equal(jobDueAt(subject, givenUp, { ...context, subjectRevision: 6 }), 0)
})

test('times written by a clock far ahead are ignored once the clock is right', () => {
  const year = 365 * 24 * 60 * 60 * 1000
  const ahead = 10 * year
  const renewsLate = { ...issued, certificate: { ...certificate, renewsAt: ahead } }
  const { subjectRevision } = context
  const failed = { ...newJob(subject), startedAt: ahead, dueAt: ahead + 60_000, error, subjectRevision }
  const startedBefore = { ...failed, startedAt: 1000 }

  for (const job of [renewsLate, failed, startedBefore]) assert.equal(jobDueAt(subject, job, context), 0)
  // Under the clock that wrote them they are valid, so that the authority is not called repeatedly.
  assert.equal(jobDueAt(subject, renewsLate, { ...context, now: ahead }), ahead)
  assert.equal(jobDueAt(subject, failed, { ...context, now: ahead }), ahead + 60_000)
})
