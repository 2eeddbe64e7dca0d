import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { ByteBudgets } from '../../base/io/memory/byte-budget.ts'
import { createWire, frame, type Wire } from '../testing/wire.ts'
import { JsonReader, MAX_MESSAGE_BYTES } from './json-reader.ts'
import { CallReader, type MessageLimits } from './rpc.ts'
import { TypeReader } from './stream-type.ts'

const SYN = 2
const FIN = 1

/** A wire whose accepted streams are calls, answered with an echo of the message. */
function createCalls(t: TestContext, limits?: MessageLimits): Wire {
  return createWire(t, 'server', true, (stream) => {
    stream.sink = new CallReader(
      stream,
      (message) => ({ Got: message }),
      (error) => assert.fail(error as Error),
      limits,
    )
  })
}

function answer(wire: Wire): string {
  return Buffer.concat(wire.frames.filter(({ type }) => type === 1).map(({ payload }) => payload)).toString()
}

test('a call is answered without waiting for FIN, with JSON and FIN', async (t) => {
  const wire = createCalls(t)

  wire.send(frame(1, SYN, 3, Buffer.from('{"a":{"b":"}"}}')))
  await wire.waitForFrames(2)

  assert.equal(answer(wire), '{"Got":{"a":{"b":"}"}}}')
  assert.equal(wire.frames[1]!.flags, FIN)
})

test('a call in many chunks, with whitespace around and bytes after it, is answered once', async (t) => {
  const wire = createCalls(t)
  wire.send(frame(1, SYN, 3, Buffer.from(' \n')))

  for (const byte of Buffer.from('{"a":["\\\\\\"]",{}]}\n')) wire.send(frame(1, 0, 3, Buffer.from([byte])))
  wire.send(frame(1, 0, 3, Buffer.from('{"b":1}')))
  await wire.waitForFrames(2)
  wire.send(frame(1, FIN, 3))
  await eventually(() => wire.session.streamCount === 0, 'the end of the call')

  assert.equal(answer(wire), '{"Got":{"a":["\\\\\\"]",{}]}}')
})

const malformed: [what: string, bytes: Buffer, flags: number, pattern: RegExp][] = [
  ['half a message and FIN', Buffer.from('{"a":'), FIN, /ended before it was complete/],
  ['FIN alone', Buffer.alloc(0), FIN, /ended before it was complete/],
  ['something else than an object', Buffer.from('[1]'), 0, /not a JSON object/],
  ['brackets that match but make no JSON', Buffer.from('{a}'), 0, /cannot be read/],
  ['more bytes than a message may have', Buffer.from(`{"a":"${'x'.repeat(262_130)}`), 0, /exceeds/],
]

for (const [what, bytes, flags, pattern] of malformed) {
  test(`${what} is answered with an error and FIN, never with RST`, async (t) => {
    const wire = createCalls(t)

    wire.send(frame(1, SYN | flags, 3, bytes))
    if (bytes.length > 1000) wire.send(frame(1, 0, 3, Buffer.from('x'.repeat(64))))
    await eventually(() => wire.frames.some((f) => f.flags === FIN), 'the answer')

    assert.match(JSON.parse(answer(wire)).Error, pattern)
    assert.match(JSON.parse(answer(wire)).Error, /\n\nERR_NGROK_301\n$/)
    assert.ok(wire.frames.every(({ type }) => type !== 0))
  })
}

test('a message at the limit is accepted, one byte more is not', () => {
  const sized = (bytes: number) => Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`)

  const reader = new JsonReader()
  const complete = reader.push(sized(MAX_MESSAGE_BYTES))

  assert.equal(complete, true)
  assert.throws(() => new JsonReader().push(sized(MAX_MESSAGE_BYTES + 1)), RangeError)
  assert.throws(() => new JsonReader(10).push(Buffer.alloc(11, ' ')), RangeError)
})

test('an incomplete call is answered with an error after the timeout', async (t) => {
  const wire = createCalls(t, { timeoutMs: 20 })

  wire.send(frame(1, SYN, 3, Buffer.from('{"a":')))
  await eventually(() => wire.frames.some((f) => f.flags === FIN), 'the answer')

  assert.match(JSON.parse(answer(wire)).Error, /not complete within 20 ms/)
})

test('a call without a message is answered too', async (t) => {
  const wire = createCalls(t, { timeoutMs: 20 })

  wire.send(frame(1, SYN, 3))
  await eventually(() => wire.frames.some((f) => f.flags === FIN), 'the answer')

  assert.match(JSON.parse(answer(wire)).Error, /not complete within 20 ms/)
})

test('a stream without a type is reset after the timeout', async (t) => {
  const wire = createWire(t, 'server', true, (stream) => {
    stream.sink = new TypeReader(stream, () => assert.fail('it has a type'), 20)
  })

  wire.send(frame(1, SYN, 3, Buffer.from([0, 0, 0])))
  await eventually(() => wire.frames.some(({ type }) => type === 0), 'the reset')

  assert.equal(wire.session.streamCount, 0)
})

test('incomplete calls stay within their budget and return it when they end', async (t) => {
  const budgets = new ByteBudgets({ perConnection: 1000, perSource: 1000, total: 1000 })
  const wire = createCalls(t, { budget: budgets.forClient('192.0.2.1') })
  const begun = Buffer.from(`{"a":"${'x'.repeat(500)}`)

  wire.send(frame(1, SYN, 3, begun))
  wire.send(frame(1, SYN, 5, begun))
  await eventually(() => wire.frames.some((f) => f.flags === FIN), 'the answer to the second')
  const budgetUsed = budgets.total
  wire.send(frame(1, 0, 3, Buffer.from('"}')))
  await eventually(() => answer(wire).includes('"Got"'), 'the answer to the first')

  assert.ok(budgetUsed > 0 && budgetUsed <= 1000)
  assert.ok(wire.frames.filter(({ id, type }) => id === 5 && type === 1).length > 0)
  assert.match(answer(wire), /Too many incomplete messages/)
  assert.equal(budgets.total, 0)
})
