import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { createWire, frame } from '../protocol/testing/wire.ts'
import { LineReader } from './json-lines.ts'

const SYN = 2

test('lines are read in chunks of any size, and the remaining bytes go to the next sink', async (t) => {
  const lines: unknown[] = []
  const remaining: string[] = []
  const wire = createWire(t, 'server', true, (stream) => {
    stream.sink = new LineReader(stream, (line) => {
      lines.push(line)
      if (lines.length < 3) return
      stream.sink = {
        onData: (chunk) => void remaining.push(chunk.toString()),
        onEnd() {},
        onDrain() {},
        onClose() {},
      }
    })
  })

  wire.send(frame(1, SYN, 3, Buffer.from('{"a":1}\n{"b"')))
  for (const byte of Buffer.from(':2}\n{"c":')) wire.send(frame(1, 0, 3, Buffer.from([byte])))
  wire.send(frame(1, 0, 3, Buffer.from('3}\nrest')))
  await eventually(() => remaining.length > 0, 'the rest')

  assert.deepEqual(lines, [{ a: 1 }, { b: 2 }, { c: 3 }])
  assert.deepEqual(remaining, ['rest'])
})

test('an incomplete line resets its stream after the timeout', async (t) => {
  const wire = createWire(t, 'server', true, (stream) => {
    stream.sink = new LineReader(
      stream,
      () => {},
      () => {},
      20,
    )
  })

  wire.send(frame(1, SYN, 3, Buffer.from('{"a":1}\n')))
  wire.send(frame(1, 0, 3, Buffer.from('{"b":')))
  await eventually(() => wire.frames.some(({ type }) => type === 0), 'the reset')

  assert.equal(wire.session.streamCount, 0)
})
