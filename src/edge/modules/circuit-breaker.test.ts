import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttpsEdge } from '../testing/https-edge.ts'
import { Breaker } from './breaker.ts'

const settings = {
  tripped_duration: 10,
  rolling_window: 10,
  num_buckets: 10,
  volume_threshold: 10,
  error_threshold_percentage: 0.5,
}

/** Records responses at one moment. */
function record(breaker: Breaker, now: number, good: number, bad: number): void {
  for (let n = 0; n < good; n++) breaker.record(false, false, now)
  for (let n = 0; n < bad; n++) breaker.record(true, false, now)
}

test('a breaker trips when volume and error ratio within the window reach their thresholds', () => {
  const few = new Breaker(settings)
  const mostlyGood = new Breaker(settings)
  const spread = new Breaker(settings)
  const tripped = new Breaker(settings)

  record(few, 0, 0, 9)
  record(mostlyGood, 0, 20, 9)
  record(spread, 0, 0, 9)
  record(spread, 11_000, 0, 1)
  record(tripped, 0, 5, 4)
  record(tripped, 9_000, 0, 1)

  assert.deepEqual(
    [few, mostlyGood, spread, tripped].map((breaker) => breaker.decide(11_500, true)),
    ['allow', 'allow', 'allow', 'block'],
  )
})

test('an open breaker admits one probe at a time', () => {
  const breaker = new Breaker(settings)
  record(breaker, 0, 0, 10)

  assert.equal(breaker.decide(9_999, true), 'block')
  assert.equal(breaker.decide(10_000, false), 'block')
  assert.equal(breaker.decide(10_000, true), 'allow_while_open')
  assert.equal(breaker.decide(10_001, true), 'block')
  breaker.record(true, true, 10_500)
  assert.equal(breaker.decide(20_000, true), 'block')
  assert.equal(breaker.decide(20_500, true), 'allow_while_open')
  breaker.cancel(true)
  assert.equal(breaker.decide(20_600, true), 'allow_while_open')
  breaker.record(false, true, 20_700)
  assert.equal(breaker.decide(20_700, true), 'allow')
  record(breaker, 20_700, 0, 9)
  assert.equal(breaker.decide(20_700, true), 'allow')
})

test('failed connections count, Retry-After is set, and unrelated changes keep the counts', async (t) => {
  let now = 0
  const clock = { now: () => Date.now(), monotonic: () => now }
  let broken = true
  const { config, routeId, edgeId, sendRequest } = await startHttpsEdge(
    t,
    (request, response) => {
      if (broken) request.socket.destroy()
      else response.end('well again')
    },
    { dependencies: { clock } },
  )
  config.update(routeId, { circuit_breaker: { volume_threshold: 3, tripped_duration: 70 } })
  await config.waitUntilApplied()

  const statuses: number[] = []
  for (let n = 0; n < 4; n++) statuses.push((await sendRequest({ method: 'POST' })).status)
  config.update(edgeId, { metadata: 'changed' })
  config.update(routeId, { response_headers: { add: { x: 'y' } } })
  await config.waitUntilApplied()
  const open = await sendRequest()
  broken = false
  now = 70_000
  const probe = await sendRequest()
  const closed = await sendRequest()

  assert.deepEqual(statuses, [502, 502, 502, 503])
  assert.deepEqual(
    [open.status, open.headers['adit-error-code'], open.headers['retry-after']],
    [503, 'ERR_ADIT_3202', '70'],
  )
  assert.deepEqual([probe.text, closed.text], ['well again', 'well again'])
})
