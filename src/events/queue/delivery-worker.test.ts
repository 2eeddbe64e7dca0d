import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { silentLog } from '../../base/process/log.ts'
import { type DeliveryOutcome, type DeliveryTarget, delivered, type OutboundEvent } from '../target.ts'
import { ManualClock } from '../testing/platform.ts'
import { type BatchResult, type DeliveryQueue, DeliveryWorker } from './delivery-worker.ts'
import { TrafficBuffer } from './traffic-buffer.ts'

function outboundEvent(id: string, time: number) {
  return { id, type: 'test_event.v0', time, body: '{}', quoted: '"{}"', size: 2 } satisfies OutboundEvent
}

function createWorker(queue: DeliveryQueue, clock: ManualClock, deliver: DeliveryTarget['deliver']) {
  const settlements: BatchResult[] = []
  const target: DeliveryTarget = {
    limits: { maxEvents: 10, maxBytes: 1000, maxEventBytes: 1000, lingerMs: 0 },
    deliver,
  }
  const worker = new DeliveryWorker({
    queue,
    destination: () => ({ id: 'ed_1', account: 'ac_1', revision: 1, target: () => target }),
    clock,
    random: () => 0,
    log: silentLog,
    onSettled: (result) => settlements.push(result),
  })
  return { worker, settlements }
}

function createBuffer(limit = 100): TrafficBuffer {
  return new TrafficBuffer({ bytesLeft: 100_000 }, limit)
}

test('a delivered event is not sent again when settling fails at first', async () => {
  const clock = new ManualClock()
  const buffer = createBuffer()
  let storeUnavailable = true
  const queue: DeliveryQueue = {
    goneRevision: undefined,
    take: (limits, now) => buffer.take(limits, now),
    async settle(settled) {
      if (storeUnavailable) throw new Error('the store is unavailable')
      await buffer.settle(settled)
    },
  }
  const sent: string[] = []
  const { worker } = createWorker(queue, clock, async (batch) => {
    sent.push(...batch.map(({ id }) => id))
    return batch.map(() => delivered)
  })
  buffer.push(outboundEvent('ev_1', clock.now()))
  clock.advance(1000)
  worker.wake()
  await eventually(() => sent.length === 1 && !worker.idle)
  buffer.push(outboundEvent('ev_2', clock.now()))
  clock.advance(1000)
  storeUnavailable = false

  worker.wake()

  await eventually(() => {
    worker.wake()
    return buffer.size === 0
  })
  assert.deepEqual(sent, ['ev_1', 'ev_2'])
})

test('only the failed events of a batch are sent again, as one batch', async () => {
  const clock = new ManualClock()
  const buffer = createBuffer()
  const batches: string[][] = []
  const busy: DeliveryOutcome = { delivered: false, error: 'busy' }
  const { worker } = createWorker(buffer, clock, async (batch) => {
    batches.push(batch.map(({ id }) => id))
    return batch.map(({ id }) => (batches.length === 1 && id < 'ev_3' ? busy : delivered))
  })
  for (const id of ['ev_1', 'ev_2', 'ev_3', 'ev_4']) buffer.push(outboundEvent(id, clock.now()))
  clock.advance(1000)
  worker.wake()
  await eventually(() => buffer.size === 2)
  clock.advance(5000)

  await eventually(() => {
    worker.wake()
    return buffer.size === 0
  })

  assert.deepEqual(batches, [
    ['ev_1', 'ev_2', 'ev_3', 'ev_4'],
    ['ev_1', 'ev_2'],
  ])
})

test('a receiver that answered 410 is not tried for a quarter of an hour', async () => {
  const clock = new ManualClock()
  const buffer = createBuffer()
  const sent: string[] = []
  const { worker } = createWorker(buffer, clock, async (batch) => {
    sent.push(...batch.map(({ id }) => id))
    return batch.map(() => ({ delivered: false, error: 'gone', final: true, gone: true }))
  })
  const offer = async (id: string) => {
    buffer.push(outboundEvent(id, clock.now()))
    clock.advance(1000)
    await eventually(() => {
      worker.wake()
      return buffer.size === 0
    })
  }

  await offer('ev_1')
  await offer('ev_2')
  clock.advance(15 * 60 * 1000)
  await offer('ev_3')

  assert.deepEqual(sent, ['ev_1', 'ev_3'])
})

test('a delivery aborted by our own shutdown counts neither as delivered nor as failed', async () => {
  const clock = new ManualClock()
  const buffer = createBuffer()
  const { worker, settlements } = createWorker(
    buffer,
    clock,
    (_batch, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  buffer.push(outboundEvent('ev_1', clock.now()))
  clock.advance(1000)
  worker.wake()

  await worker.stop(0)

  assert.deepEqual(
    settlements.map(({ delivered: deliveredIds, failed }) => ({ deliveredIds, failed })),
    [{ deliveredIds: [], failed: [] }],
  )
  assert.equal(buffer.size, 1)
})

test('a buffer drops and counts events over its limit; batches wait to be full or for a timeout', async () => {
  const clock = new ManualClock()
  const budget = { bytesLeft: 100 }
  const buffer = new TrafficBuffer(budget, 20)
  const limits = { maxEvents: 15, maxBytes: 1000, maxEventBytes: 1000, lingerMs: 0 }

  const offer = (index: number) => buffer.admit() && buffer.push(outboundEvent(`ev_${index}`, clock.now()))
  for (let index = 0; index < 14; index++) offer(index)
  assert.deepEqual(await buffer.take(limits, clock.now()), [])
  for (let index = 14; index < 30; index++) offer(index)

  assert.equal(buffer.size, 20)
  assert.equal(budget.bytesLeft, 20)
  const batch = await buffer.take(limits, clock.now())
  assert.equal(batch.length, 15)
  await buffer.settle({ now: clock.now(), delivered: batch.map(({ id }) => id), failed: [] })
  assert.equal(budget.bytesLeft, 80)
  assert.deepEqual(await buffer.take(limits, clock.now()), [])
  clock.advance(1000)
  assert.equal((await buffer.take(limits, clock.now())).length, 5)
  buffer.discard()
  assert.equal(budget.bytesLeft, 100)
  assert.deepEqual(buffer.takeCounts(), {
    delivered: 15,
    failed: 0,
    dropped: 15,
    error: undefined,
    goneRevision: undefined,
  })
})

test('a sink that accepts nothing gets backoff, however many events are queued', async () => {
  const clock = new ManualClock()
  const buffer = createBuffer()
  let attempts = 0
  const { worker } = createWorker(buffer, clock, async (batch) => {
    attempts += 1
    return batch.map(() => ({ delivered: false, error: 'down' }))
  })
  const wakeAfter = async (ms: number) => {
    clock.advance(ms)
    worker.wake()
    await eventually(() => worker.idle)
    return attempts
  }
  for (let index = 0; index < 50; index++) buffer.push(outboundEvent(`ev_${index}`, clock.now()))

  const counts = [await wakeAfter(1000), await wakeAfter(999), await wakeAfter(1), await wakeAfter(1999)]

  assert.deepEqual(counts, [1, 1, 2, 2])
  assert.equal(await wakeAfter(1), 3)
})
