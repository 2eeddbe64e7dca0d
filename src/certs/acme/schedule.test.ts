import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  earliestRenewalAt,
  nextValidationAt,
  recentFailures,
  renewalAt,
  retryAt,
  suggestedAt,
} from './schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const never = () => 0
const always = () => 0.999

test('retries back off by 1, 2, 4 … minutes, up to 6 hours', () => {
  const waits = [1, 2, 3, 4, 9, 10, 50].map(
    (attempts) => retryAt({ now: 0, attempts, failedSince: 0, pace: 'ordered' }, never)! / MINUTE,
  )

  assert.deepEqual(waits, [1, 2, 4, 8, 256, 360, 360])
})

test('retries have a jitter of up to a tenth', () => {
  const time = retryAt({ now: 0, attempts: 10, failedSince: 0, pace: 'ordered' }, always)!

  assert.ok(time > 6 * HOUR && time <= 6.6 * HOUR)
})

for (const [pace, first] of [
  ['preflight', MINUTE],
  ['unanswered', 5_000],
] as const) {
  test(`the wait after a DNS check (${pace}) doubles from ${first / 1000} seconds to 15 minutes`, () => {
    const waits = [1, 2, 3, 50].map((attempts) => retryAt({ now: 0, attempts, failedSince: 0, pace }, never))

    assert.deepEqual(waits, [first, 2 * first, 4 * first, 15 * MINUTE])
  })
}

test('a job is given up after 30 days', () => {
  const job = { attempts: 100, failedSince: 0, pace: 'ordered' as const }

  assert.ok(retryAt({ ...job, now: 30 * DAY - 1 }, never))
  assert.equal(retryAt({ ...job, now: 30 * DAY }, never), undefined)
})

test('a fifth failed validation waits until the first is an hour old', () => {
  const failures = [0, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE]

  assert.equal(nextValidationAt(failures.slice(1), 40 * MINUTE), 40 * MINUTE)
  assert.equal(nextValidationAt(failures, 40 * MINUTE), HOUR)
  assert.equal(nextValidationAt(failures, 61 * MINUTE), 61 * MINUTE)
})

test('failures in the future, from before the clock was set back, do not count', () => {
  assert.deepEqual(recentFailures([5 * HOUR, 30 * MINUTE], HOUR), [30 * MINUTE])
})

test('a certificate is renewed with a third of its lifetime left, or slightly earlier', () => {
  const certificate = { notBefore: 0, notAfter: 90 * DAY }

  assert.equal(renewalAt(certificate, never), 60 * DAY)
  assert.ok(renewalAt(certificate, always) > 57 * DAY - 1)
})

test('a window in the past means now', () => {
  assert.equal(suggestedAt({ start: 10, end: 20 }, 100, always), 100)
  assert.equal(
    suggestedAt({ start: 200, end: 300 }, 100, () => 0.5),
    250,
  )
})

test('a certificate that has just been issued is not due, however far ahead our clock is', () => {
  const certificate = { notBefore: 0, notAfter: 90 * DAY }

  assert.equal(earliestRenewalAt(certificate, 61 * DAY), 62 * DAY)
  assert.equal(earliestRenewalAt(certificate, 89 * DAY), 89 * DAY + 8 * HOUR)
  assert.equal(earliestRenewalAt(certificate, 1000 * DAY), 1001 * DAY)
})
