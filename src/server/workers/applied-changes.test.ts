import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { AppliedChanges } from './applied-changes.ts'

/** A worker that applies when it is told to. */
function createWorker() {
  const calls: PromiseWithResolvers<void>[] = []
  return {
    calls,
    apply() {
      const call = Promise.withResolvers<void>()
      calls.push(call)
      return call.promise
    },
  }
}

function watch(promise: Promise<void>): () => boolean {
  let isDone = false
  void promise.then(() => {
    isDone = true
  })
  return () => isDone
}

test('a commit during an application waits for the next one, which all such commits share', async () => {
  const { calls, apply } = createWorker()
  const changes = new AppliedChanges(apply)
  changes.notify()
  const first = watch(changes.wait())
  changes.notify()
  changes.notify()
  const second = watch(changes.wait())

  calls[0]!.resolve()
  await eventually(first)
  assert.equal(second(), false)
  await eventually(() => calls.length === 2)
  calls[1]!.resolve()
  await eventually(second)
  assert.equal(calls.length, 2)
})

test('nothing is waited for when everything is applied', async () => {
  const changes = new AppliedChanges(async () => {})
  await changes.wait()
  changes.notify()
  await changes.wait()
  await changes.wait()
})

test('a worker that takes too long is not waited for until it has caught up', async () => {
  const { calls, apply } = createWorker()
  const changes = new AppliedChanges(apply, { maxWaitMs: 1 })
  changes.notify()
  await changes.wait()
  changes.notify()
  await changes.wait()

  calls[0]!.resolve()
  await eventually(() => calls.length === 2)
  calls[1]!.resolve()
  await calls[1]!.promise
  changes.notify()
  await eventually(() => calls.length === 3)
  const waited = watch(changes.wait())
  calls[2]!.resolve()
  await eventually(waited)
})

test('a worker that has ended is not waited for', async () => {
  const changes = new AppliedChanges(() => Promise.reject(new Error('The worker has exited.')))
  changes.notify()
  await changes.wait()
})
