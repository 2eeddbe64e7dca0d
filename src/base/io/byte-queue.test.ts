import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudgets } from './byte-budget.ts'
import { ByteQueue } from './byte-queue.ts'

test('what was pushed comes out in order, whatever the sizes of pushes and drops', () => {
  const queue = new ByteQueue()
  let pushed = 0
  let dropped = 0
  for (let step = 0; step < 2000; step++) {
    const size = (step * 7919) % 300
    queue.push(Buffer.from(Array.from({ length: size }, (_, at) => (pushed + at) & 255)))
    pushed += size
    const count = Math.min((step * 104_729) % 310, queue.length)
    const front = queue.bytes.subarray(0, count)
    for (let at = 0; at < count; at++) assert.equal(front[at], (dropped + at) & 255)
    queue.drop(count)
    dropped += count
    assert.equal(queue.length, pushed - dropped)
  }
})

test('a piece beyond the limit is refused and changes nothing', () => {
  const queue = new ByteQueue(4)

  const taken = [queue.push(Buffer.from('abc')), queue.push(Buffer.from('de')), queue.push(Buffer.from('d'))]

  assert.deepEqual(taken, [true, false, true])
  assert.equal(queue.bytes.toString(), 'abcd')
})

test('a whole message in one piece is not copied, and one in several is joined', () => {
  const queue = new ByteQueue()
  const whole = Buffer.from('whole')

  const first = queue.join(whole)
  queue.keep(queue.join(Buffer.from('in ')))
  queue.keep(queue.join(Buffer.from('two ')))

  assert.equal(first, whole)
  assert.equal(queue.join(Buffer.from('pieces')).toString(), 'in two pieces')
})

test('memory that was handed over outlives the queue', () => {
  const queue = new ByteQueue()
  queue.push(Buffer.alloc(20_000, 'x'))
  const taken = queue.take()
  queue.push(Buffer.alloc(20_000, 'y'))
  queue.clear()

  assert.equal(taken.length, 20_000)
  assert.equal(taken[19_999], 0x78)
})

test('a budget is charged for the memory of a queue, and gets all of it back', () => {
  const budgets = new ByteBudgets({ perConnection: 1000, perSource: 1500, total: 2000 })
  const queues = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((ip) => new ByteQueue(5000, budgets.of(ip)))

  const overConnection = queues[0]!.push(Buffer.alloc(1001))
  const taken = queues.map((queue) => queue.push(Buffer.alloc(900)))
  const held = budgets.total
  for (const queue of queues) queue.clear()

  assert.equal(overConnection, false)
  // The second would exceed what its source may hold.
  assert.deepEqual(taken, [true, false, true])
  assert.ok(held >= 1800 && held <= 2000)
  assert.equal(budgets.total, 0)
})

test('what is taken out of a queue is not charged any more', () => {
  const budgets = new ByteBudgets({ perConnection: 1000, perSource: 1000, total: 1000 })
  const queue = new ByteQueue(1000, budgets.of('2001:db8::1'))
  queue.push(Buffer.alloc(800))

  queue.take()

  assert.equal(budgets.total, 0)
  assert.equal(new ByteQueue(1000, budgets.of('2001:db8::ffff')).push(Buffer.alloc(1000)), true)
})
