import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { JsonReader, MAX_MESSAGE_BYTES } from './json-reader.ts'
import { CallReader } from './rpc.ts'
import { createWire, frame, type Wire } from './testing/wire.ts'

const SYN = 2
const FIN = 1

/** A wire whose accepted streams are calls, answered with what they asked. */
function createCalls(t: TestContext): Wire {
  return createWire(t, 'server', true, (stream) => {
    stream.sink = new CallReader(
      stream,
      (message) => ({ Got: message }),
      (error) => assert.fail(error as Error),
    )
  })
}

function answer(wire: Wire): string {
  return Buffer.concat(wire.frames.filter(({ type }) => type === 1).map(({ payload }) => payload)).toString()
}

test('a call is answered without waiting for FIN, with JSON and FIN', async (t) => {
  const wire = createCalls(t)

  wire.send(frame(1, SYN, 3, Buffer.from('{"a":{"b":"}"}}')))
  await wire.seen(2)

  assert.equal(answer(wire), '{"Got":{"a":{"b":"}"}}}')
  assert.equal(wire.frames[1]!.flags, FIN)
})

test('a call in many pieces, with blanks around and more bytes behind, is answered once', async (t) => {
  const wire = createCalls(t)
  wire.send(frame(1, SYN, 3, Buffer.from(' \n')))

  for (const byte of Buffer.from('{"a":["\\\\\\"]",{}]}\n')) wire.send(frame(1, 0, 3, Buffer.from([byte])))
  wire.send(frame(1, 0, 3, Buffer.from('{"b":1}')))
  await wire.seen(2)
  wire.send(frame(1, FIN, 3))
  await eventually(() => wire.session.streamCount === 0, 'the end of the call')

  assert.equal(answer(wire), '{"Got":{"a":["\\\\\\"]",{}]}}')
})

const broken: [what: string, bytes: Buffer, flags: number, says: RegExp][] = [
  ['half a message and FIN', Buffer.from('{"a":'), FIN, /ended before it was complete/],
  ['FIN alone', Buffer.alloc(0), FIN, /ended before it was complete/],
  ['something else than an object', Buffer.from('[1]'), 0, /not a JSON object/],
  ['brackets that match but make no JSON', Buffer.from('{a}'), 0, /cannot be read/],
  ['more bytes than a message may have', Buffer.from(`{"a":"${'x'.repeat(262_130)}`), 0, /exceeds/],
]

for (const [what, bytes, flags, says] of broken) {
  test(`${what} is answered with an error and FIN, never with RST`, async (t) => {
    const wire = createCalls(t)

    wire.send(frame(1, SYN | flags, 3, bytes))
    if (bytes.length > 1000) wire.send(frame(1, 0, 3, Buffer.from('x'.repeat(64))))
    await eventually(() => wire.frames.some((f) => f.flags === FIN), 'the answer')

    assert.match(JSON.parse(answer(wire)).Error, says)
    assert.match(JSON.parse(answer(wire)).Error, /\n\nERR_NGROK_301\n$/)
    assert.ok(wire.frames.every(({ type }) => type !== 0))
  })
}

test('a message just within the limit is read, one byte more is not', () => {
  const sized = (bytes: number) => Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`)

  const reader = new JsonReader()
  const complete = reader.push(sized(MAX_MESSAGE_BYTES))

  assert.equal(complete, true)
  assert.throws(() => new JsonReader().push(sized(MAX_MESSAGE_BYTES + 1)), RangeError)
  assert.throws(() => new JsonReader(10).push(Buffer.alloc(11, ' ')), RangeError)
})
