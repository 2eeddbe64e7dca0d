import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TakeRateLease } from '../../services/rate-lease.ts'
import { LeasedCounter } from './leased-counter.ts'
import { RateLedger } from './rate-ledger.ts'

const WINDOW_MS = 60_000

/** A rate limit at several workers, with the process that counts for them. */
function createWorkers({ workers, capacity }: { workers: number; capacity: number }) {
  const time = { now: 0, asked: 0 }
  const clock = { monotonic: () => time.now }
  const ledger = new RateLedger(clock)
  const takeRateLease: TakeRateLease = async (request) => {
    time.asked++
    return ledger.lease(request)
  }
  const counters = Array.from(
    { length: workers },
    () => new LeasedCounter({ limit: 'a', capacity, windowMs: WINDOW_MS }, { takeRateLease, clock }),
  )
  return {
    time,
    /** Requests that reach the workers in turn, all at once; how many pass. */
    async send(requests: number, key = 'visitor'): Promise<number> {
      const results = await Promise.all(
        Array.from({ length: requests }, (_, index) => counters[index % workers]!.takeLeased(key)),
      )
      return results.filter((result) => result === undefined).length
    },
    retryAfter: () => counters[0]!.takeLeased('visitor'),
  }
}

test('workers admit together exactly what the limit allows, however many requests come at once', async () => {
  for (const capacity of [1, 7, 60]) {
    const limit = createWorkers({ workers: 4, capacity })

    assert.equal(await limit.send(capacity + 100), capacity)
    assert.equal(await limit.send(100), 0)
    assert.equal(await limit.send(1, 'another visitor'), 1)
  }
})

test('of a large limit, each worker may leave a hundredth unused', async () => {
  const capacity = 5000
  const limit = createWorkers({ workers: 4, capacity })
  const passed = await limit.send(2 * capacity)

  assert.ok(passed <= capacity && passed >= 0.96 * capacity, `${passed} requests passed`)
})

test('a worker that alone gets all requests admits all that the limit allows', async () => {
  const limit = createWorkers({ workers: 1, capacity: 100 })
  let passed = 0
  for (let request = 0; request < 150; request++) passed += await limit.send(1)

  assert.equal(passed, 100)
})

test('a limit that is reached is asked about again when a request may pass', async () => {
  const limit = createWorkers({ workers: 2, capacity: 10 })
  await limit.send(20)
  const retryAfterMs = (await limit.retryAfter())!
  const { asked } = limit.time
  await limit.send(100)
  assert.equal(limit.time.asked, asked)

  limit.time.now += retryAfterMs - 1
  assert.equal(await limit.send(2), 0)
  limit.time.now += 1
  assert.equal(await limit.send(2), 1)
})

test('a large limit is asked about rarely, and what a worker has not used expires', async () => {
  const limit = createWorkers({ workers: 1, capacity: 100_000 })
  for (let request = 0; request < 1000; request++) await limit.send(1)
  assert.ok(limit.time.asked <= 2, `${limit.time.asked} times`)

  const { asked } = limit.time
  limit.time.now += 1000
  await limit.send(1)
  assert.equal(limit.time.asked, asked + 1)
})

test('while the process that counts for all does not answer, a worker admits what the limit allows', async () => {
  const counter = new LeasedCounter(
    { limit: 'a', capacity: 3, windowMs: WINDOW_MS },
    { takeRateLease: () => new Promise(() => {}), clock: { monotonic: () => 0 } },
  )
  // Timers of a wait do not hold the process.
  const hold = setTimeout(() => {}, 60_000)
  const results = await Promise.all(Array.from({ length: 5 }, () => counter.takeLeased('visitor')))
  clearTimeout(hold)

  assert.equal(results.filter((result) => result === undefined).length, 3)
})
