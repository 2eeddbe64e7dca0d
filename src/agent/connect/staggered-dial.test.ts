import assert from 'node:assert/strict'
import { test } from 'node:test'
import { staggered } from './staggered-dial.ts'

const never = new AbortController().signal

test('a success ends the others', async () => {
  const signals: AbortSignal[] = []

  const winner = await staggered(
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
    staggered(() => Promise.reject(new Error(`attempt ${++attempts}`)), 50, never),
    /attempt 1/,
  )
  assert.equal(attempts, 1)
})

test('giving up reaches the attempts', async () => {
  const giveUp = new AbortController()
  const dialling = staggered(
    (signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('given up'))),
      ),
    1000,
    giveUp.signal,
  )

  giveUp.abort()

  await assert.rejects(dialling, /given up/)
})
