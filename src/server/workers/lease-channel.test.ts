import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLeaseRequest } from '../../edge/index.ts'
import { LeaseChannel } from './lease-channel.ts'

const request = (key: string): RateLeaseRequest => ({
  ...{ limit: 'a', capacity: 10, windowMs: 60_000 },
  ...{ key, count: 1 },
})

/** Resolves after what was scheduled for this turn of the event loop. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('requests of one turn go in one message, and answers belong to them in order', async () => {
  const sent: (readonly RateLeaseRequest[])[] = []
  const channel = new LeaseChannel((requests) => sent.push(requests))
  const leases = [channel.take(request('one')), channel.take(request('two'))]
  await nextTurn()
  const later = channel.take(request('three'))
  await nextTurn()
  assert.deepEqual(
    sent.map((requests) => requests.map(({ key }) => key)),
    [['one', 'two'], ['three']],
  )

  const answers = [1, 2, 3].map((count) => ({ count, retryAfterMs: 0 }))
  channel.receive(answers.slice(0, 2))
  channel.receive(answers.slice(2))
  assert.deepEqual(await Promise.all([...leases, later]), answers)
})

test('a control process that does not answer is not sent ever more requests', async () => {
  let sent = 0
  const channel = new LeaseChannel((requests) => {
    sent += requests.length
  })
  for (let index = 0; index < 10_000; index++) void channel.take(request(`visitor ${index}`))

  assert.deepEqual(await channel.take(request('one more')), { count: 1, retryAfterMs: 0 })
  await nextTurn()
  assert.equal(sent, 10_000)
})
