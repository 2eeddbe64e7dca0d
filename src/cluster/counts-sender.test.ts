import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MuxStream } from '../protocol/index.ts'
import { CountsSender } from './counts-sender.ts'

test('what comes while the peer does not receive is dropped, and so is everything once it is gone', () => {
  const written: string[] = []
  let isBlocked = false
  const stream = {
    write(lines: Buffer) {
      written.push(String(lines))
      return !isBlocked
    },
  } as unknown as MuxStream
  const sender = new CountsSender(stream)
  const send = (...all: string[]) => {
    for (const lines of all) sender.send(Buffer.from(lines))
  }

  send('1', '2')
  isBlocked = true
  send('3', '4', '5')
  isBlocked = false
  sender.onDrain()
  send('6')
  sender.onClose()
  send('7')

  assert.deepEqual(written, ['1', '2', '3', '6'])
})
