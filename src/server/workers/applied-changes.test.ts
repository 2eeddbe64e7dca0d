import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import type { Commit } from '../../store/index.ts'
import { AppliedChanges } from './applied-changes.ts'

/** A worker that applies when it is told to. */
function createWorker() {
  const calls: PromiseWithResolvers<void>[] = []
  const applied: (readonly Commit[] | null)[] = []
  return {
    calls,
    applied,
    apply(commits: readonly Commit[] | null) {
      const call = Promise.withResolvers<void>()
      calls.push(call)
      applied.push(commits)
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

test('a worker that does not keep up with many commits reads them by itself', async () => {
  const { calls, applied, apply } = createWorker()
  const changes = new AppliedChanges(apply)
  const position = { revision: 1, history: '' }
  const commit: Commit = { from: position, to: position, rows: undefined }
  for (let count = 0; count < 102; count++) changes.notify(commit)
  calls[0]!.resolve()
  await eventually(() => calls.length === 2)
  changes.notify(commit)
  calls[1]!.resolve()
  await eventually(() => calls.length === 3)

  assert.deepEqual(applied, [[commit], null, [commit]])
})

test('a worker that has ended is not waited for', async () => {
  const changes = new AppliedChanges(() => Promise.reject(new Error('The worker has exited.')))
  changes.notify()
  await changes.wait()
})
