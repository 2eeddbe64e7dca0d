import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker } from '../modules/breaker.ts'
import { RateCounter } from '../policy/rates/rate-counter.ts'
import { CountExchange, type SharedCounts } from './shared-counts.ts'

const NAME = 'policy ac_1 a'
const clock = { monotonic: () => 0 }

/** The same state at two processes, and a function that tells each what the other has counted. */
function createPair<T extends SharedCounts>(create: () => T): { first: T; second: T; exchange(): void } {
  const workers = [create(), create()].map((state) => {
    const exchange = new CountExchange(() => {}, clock)
    exchange.share(state, NAME)
    return { state, exchange }
  })
  const [one, two] = workers as [(typeof workers)[0], (typeof workers)[0]]
  const tell = (from: typeof one, to: typeof one) => {
    // Counts travel as JSON.
    const updates: ReturnType<CountExchange['take']> = JSON.parse(JSON.stringify(from.exchange.take()))
    return () => to.exchange.add(updates)
  }
  return {
    first: one.state,
    second: two.state,
    exchange() {
      for (const apply of [tell(one, two), tell(two, one)]) apply()
    },
  }
}

/** How many of these requests pass. */
function countPassed(counter: RateCounter, requests: number): number {
  const results = Array.from({ length: requests }, () => counter.take('visitor', 0))
  return results.filter((result) => result === undefined).length
}

test('processes that exchange their counts hold a rate limit together', () => {
  const { first, second, exchange } = createPair(() => new RateCounter(10, 60_000))
  assert.deepEqual([countPassed(first, 6), countPassed(second, 3)], [6, 3])
  exchange()
  assert.deepEqual([countPassed(first, 5), countPassed(second, 5)], [1, 1])
  exchange()

  assert.deepEqual([countPassed(first, 5), countPassed(second, 5)], [0, 0])
  assert.equal(first.take('another visitor', 0), undefined)
})

test('a breaker trips by the errors of all processes, and a probe at one of them closes it at all', () => {
  const settings = { rolling_window: 10, num_buckets: 10, tripped_duration: 5, volume_threshold: 10 }
  const { first, second, exchange } = createPair(
    () => new Breaker({ ...settings, error_threshold_percentage: 0.5 }),
  )
  for (let request = 0; request < 6; request++) {
    first.record(true, false, 0)
    second.record(true, false, 0)
  }
  assert.deepEqual([first.decide(0, true), second.decide(0, true)], ['allow', 'allow'])
  exchange()
  assert.deepEqual([first.decide(0, true), second.decide(0, true)], ['block', 'block'])

  assert.equal(first.decide(6000, true), 'allow_while_open')
  first.record(false, true, 6000)
  exchange()
  assert.deepEqual([first.decide(6000, true), second.decide(6000, true)], ['allow', 'allow'])
})

test('many keys are told in part, and a long one by its hash', () => {
  const { first, second, exchange } = createPair(() => new RateCounter(1, 60_000))
  const long = 'x'.repeat(10_000)
  for (const key of [long, ...Array.from({ length: 2000 }, (_, index) => `visitor ${index}`)])
    first.take(key, 0)
  const counts = first.takeCounts()
  assert.equal(counts.length, 1000)
  assert.ok(JSON.stringify(counts).length < 100_000)

  first.take(long, 120_000)
  exchange()
  assert.notEqual(second.take(long, 0), undefined)
})

test('only what was counted since the last exchange is told, and nothing where there are no other processes', () => {
  const exchange = new CountExchange(() => {}, clock)
  const counter = new RateCounter(10, 60_000)
  exchange.share(counter, NAME)
  countPassed(counter, 2)
  assert.deepEqual(exchange.take(), [{ name: NAME, counts: [['visitor', 2]] }])
  assert.deepEqual(exchange.take(), [])

  const alone = new CountExchange(undefined, clock)
  const unshared = new RateCounter(10, 60_000)
  alone.share(unshared, NAME)
  countPassed(unshared, 2)
  assert.deepEqual([alone.take(), unshared.takeCounts()], [[], []])
})
