import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialStaggered } from './staggered-dial.ts'

const never = new AbortController().signal

test('the first success aborts the other attempts', async () => {
  const signals: AbortSignal[] = []

  const winner = await dialStaggered(
    (signal) => {
      signals.push(signal)
      // The first attempt hangs.
      return signals.length === 1 ? new Promise<number>(() => {}) : Promise.resolve(signals.length)
    },
    5,
    never,
  )

  assert.equal(winner, 2)
  assert.ok(signals.every((signal) => signal.aborted))
})

test('a failure counts when no other attempt is pending', async () => {
  let attempts = 0

  await assert.rejects(
    dialStaggered(() => Promise.reject(new Error(`attempt ${++attempts}`)), 50, never),
    /attempt 1/,
  )
  assert.equal(attempts, 1)
})

test('an abort reaches the attempts', async () => {
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
