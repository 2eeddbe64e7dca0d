import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudgets } from '../memory/byte-budget.ts'
import { ByteQueue } from './byte-queue.ts'

test('bytes come out in order, whatever the sizes of pushes and drops', () => {
  const queue = new ByteQueue()
  let pushed = 0
  let dropped = 0
  for (let step = 0; step < 2000; step++) {
    const size = (step * 7919) % 300
    queue.push(Buffer.from(Array.from({ length: size }, (_, index) => (pushed + index) & 255)))
    pushed += size
    const count = Math.min((step * 104_729) % 310, queue.length)
    const front = queue.bytes.subarray(0, count)
    for (let index = 0; index < count; index++) assert.equal(front[index], (dropped + index) & 255)
    queue.drop(count)
    dropped += count
    assert.equal(queue.length, pushed - dropped)
  }
})

test('a chunk beyond the limit is rejected and changes nothing', () => {
  const queue = new ByteQueue(4)

  const accepted = [
    queue.push(Buffer.from('abc')),
    queue.push(Buffer.from('de')),
    queue.push(Buffer.from('d')),
  ]

  assert.deepEqual(accepted, [true, false, true])
  assert.equal(queue.bytes.toString(), 'abcd')
})

test('a message in one chunk is not copied, and one in several chunks is joined', () => {
  const queue = new ByteQueue()
  const message = Buffer.from('whole')

  const first = queue.join(message)
  queue.retain(queue.join(Buffer.from('in ')))
  queue.retain(queue.join(Buffer.from('two ')))

  assert.equal(first, message)
  assert.equal(queue.join(Buffer.from('pieces')).toString(), 'in two pieces')
})

test('taken memory outlives the queue', () => {
  const queue = new ByteQueue()
  queue.push(Buffer.alloc(20_000, 'x'))
  const taken = queue.take()
  queue.push(Buffer.alloc(20_000, 'y'))
  queue.clear()

  assert.equal(taken.length, 20_000)
  assert.equal(taken[19_999], 0x78)
})

test('a budget is charged for the memory of a queue and refunded completely', () => {
  const budgets = new ByteBudgets({ perConnection: 1000, perSource: 1500, total: 2000 })
  const queues = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map(
    (ip) => new ByteQueue(5000, budgets.forClient(ip)),
  )

  const overConnectionLimit = queues[0]!.push(Buffer.alloc(1001))
  const accepted = queues.map((queue) => queue.push(Buffer.alloc(900)))
  const charged = budgets.total
  for (const queue of queues) queue.clear()

  assert.equal(overConnectionLimit, false)
  // The second exceeds the limit of its client.
  assert.deepEqual(accepted, [true, false, true])
  assert.ok(charged >= 1800 && charged <= 2000)
  assert.equal(budgets.total, 0)
})

test('bytes taken out of a queue are no longer charged', () => {
  const budgets = new ByteBudgets({ perConnection: 1000, perSource: 1000, total: 1000 })
  const queue = new ByteQueue(1000, budgets.forClient('2001:db8::1'))
  queue.push(Buffer.alloc(800))

  queue.take()

  assert.equal(budgets.total, 0)
  assert.equal(new ByteQueue(1000, budgets.forClient('2001:db8::ffff')).push(Buffer.alloc(1000)), true)
})
