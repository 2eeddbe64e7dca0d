import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { eventually } from '../../../test/support/eventually.ts'
import { collectWhenIdle } from './collect-when-idle.ts'

/** Keeps the event loop busy for this long, with turns in which timers run. */
async function keepBusy(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    const turnEnd = performance.now() + 5
    while (performance.now() < turnEnd);
    await setImmediate()
  }
}

test('garbage is collected as soon as the process is idle, not before', async (t) => {
  let collections = 0
  const collect = () => {
    collections++
  }
  t.after(collectWhenIdle({ collect, intervalMs: 20 }))
  // The timer does not keep the process alive.
  const keepAlive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(keepAlive))

  await keepBusy(200)
  assert.equal(collections, 0)

  await eventually(() => collections === 1)
})

test('garbage is collected again once the heap has grown to three times what was left', async (t) => {
  let bytes = 100
  const collections: number[] = []
  const collect = () => {
    collections.push(bytes)
    bytes /= 2
  }
  const keepAlive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(keepAlive))
  let checks = 0
  const heapBytes = () => {
    checks++
    return bytes
  }

  t.after(collectWhenIdle({ collect, heapBytes, intervalMs: 20 }))
  await eventually(() => collections.length === 1)
  bytes = 149
  const checksBefore = checks
  await eventually(() => checks >= checksBefore + 3)
  bytes = 150

  await eventually(() => collections.length === 2)
  assert.deepEqual(collections, [100, 150])
})

test('a heap whose collection would take long is left alone', async (t) => {
  let checks = 0
  const heapBytes = () => {
    checks++
    return 400 * 1024 * 1024
  }
  const keepAlive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(keepAlive))

  t.after(collectWhenIdle({ collect: () => assert.fail(), heapBytes, intervalMs: 20 }))

  await eventually(() => checks >= 3)
})

test('memory is given back', async (t) => {
  const garbage = Array.from({ length: 200_000 }, (_, index) => ({ index }))
  assert.equal(garbage.length, 200_000)
  garbage.length = 0
  const { heapTotal } = process.memoryUsage()
  const keepAlive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(keepAlive))

  t.after(collectWhenIdle({ intervalMs: 20 }))

  await eventually(() => process.memoryUsage().heapTotal < heapTotal)
})
