import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CleanupStack } from './cleanup-stack.ts'

test('steps of a cleanup run once, one after the other, in the reverse order', async () => {
  const cleanup = new CleanupStack()
  const events: string[] = []
  cleanup.defer(() => events.push('store closed'))
  cleanup.defer(async () => {
    events.push('listener stops')
    await Promise.resolve()
    events.push('listener stopped')
  })

  await cleanup.run()
  await cleanup.run()

  assert.deepEqual(events, ['listener stops', 'listener stopped', 'store closed'])
})

test('a step that fails does not keep the others from running, and its error is reported', async () => {
  const cleanup = new CleanupStack()
  const events: string[] = []
  cleanup.defer(() => events.push('store closed'))
  cleanup.defer(() => {
    throw new Error('the listener does not stop')
  })

  await assert.rejects(cleanup.run(), /the listener does not stop/)

  assert.deepEqual(events, ['store closed'])
})

test('the errors of several steps are reported together', async () => {
  const cleanup = new CleanupStack()
  for (const reason of ['first', 'second']) cleanup.defer(() => Promise.reject(new Error(reason)))

  await assert.rejects(cleanup.run(), (error: AggregateError) => {
    assert.deepEqual(error.errors.map(String), ['Error: second', 'Error: first'])
    return true
  })
})
