import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Meter } from './metrics.ts'

function createMeter() {
  const time = { ms: 0 }
  const meter = new Meter({ now: () => time.ms, monotonic: () => time.ms })
  return { meter, time }
}

test('a meter counts events begun and shows those still open', () => {
  const { meter } = createMeter()

  const first = meter.begin()
  meter.begin()
  meter.end(first)

  assert.equal(meter.count, 2)
  assert.equal(meter.gauge, 1)
})

test('percentiles of durations are interpolated, in nanoseconds', () => {
  const { meter, time } = createMeter()

  for (const ms of [1, 2, 3, 4]) {
    const startedAt = meter.begin()
    time.ms += ms
    meter.end(startedAt)
  }

  const { p50, p99 } = meter.snapshot()
  assert.equal(p50, 2.5e6)
  assert.equal(p99, 4e6)
})

test('durations are whole nanoseconds, as API clients expect integers', () => {
  const { meter, time } = createMeter()
  const startedAt = meter.begin()
  time.ms += 0.123456789

  meter.end(startedAt)

  assert.equal(meter.snapshot().p50, 123_457)
})

test('rates start with the instant rate of the first five seconds and then decay towards zero', () => {
  const { meter, time } = createMeter()
  for (let events = 0; events < 50; events++) meter.begin()

  time.ms = 5000
  assert.equal(meter.snapshot().rate1, 10)

  time.ms = 65_000
  const { rate1, rate5, rate15 } = meter.snapshot()
  assert.ok(Math.abs(rate1 - 10 * Math.exp(-1)) < 1e-9, String(rate1))
  assert.ok(Math.abs(rate5 - 10 * Math.exp(-1 / 5)) < 1e-9)
  assert.ok(rate15 > rate5 && rate5 > rate1 && rate1 > 0)
})

test('recent durations outweigh old ones', () => {
  const { meter, time } = createMeter()
  const run = (times: number, ms: number) => {
    for (let n = 0; n < times; n++) {
      const startedAt = meter.begin()
      time.ms += ms
      meter.end(startedAt)
    }
  }
  run(2000, 1)
  time.ms += 3_600_000

  run(2000, 100)

  assert.equal(meter.snapshot().p50, 100e6)
})

test('a long run keeps a bounded sample with sensible percentiles', () => {
  const { meter, time } = createMeter()

  for (let n = 0; n < 50_000; n++) {
    const startedAt = meter.begin()
    time.ms += (n % 100) + 1
    meter.end(startedAt)
  }

  const { p50, p90 } = meter.snapshot()
  assert.ok(p50 > 40e6 && p50 < 60e6, String(p50))
  assert.ok(p90 > 80e6 && p90 < 97e6, String(p90))
})
