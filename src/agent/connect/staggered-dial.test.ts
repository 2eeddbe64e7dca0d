import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialStaggered } from './staggered-dial.ts'

const never = new AbortController().signal

test('a success ends the others', async () => {
  const signals: AbortSignal[] = []

  const winner = await dialStaggered(
    (signal) => {
      signals.push(signal)
      // The first one is stuck.
      return signals.length === 1 ? new Promise<number>(() => {}) : Promise.resolve(signals.length)
    },
    5,
    never,
  )

  assert.equal(winner, 2)
  assert.ok(signals.every((signal) => signal.aborted))
})

test('a failure counts when nobody else is under way', async () => {
  let attempts = 0

  await assert.rejects(
    dialStaggered(() => Promise.reject(new Error(`attempt ${++attempts}`)), 50, never),
    /attempt 1/,
  )
  assert.equal(attempts, 1)
})

test('giving up reaches the attempts', async () => {
  const controller = new AbortController()
  const dialling = dialStaggered(
    (signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('given up'))),
      ),
    1000,
    controller.signal,
  )

  controller.abort()

  await assert.rejects(dialling, /given up/)
})
