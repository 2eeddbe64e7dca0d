import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { Copier } from './copier.ts'
import { type ScannedMessage, WebSocketScanner } from './websocket-scanner.ts'

/** Encodes one frame. */
function frame(
  opcode: number,
  payload: Buffer | string,
  options: { fin?: boolean; mask?: Buffer } = {},
): Buffer {
  const { fin = true, mask } = options
  const body = Buffer.from(payload as string)
  const lengthBytes = body.length > 65_535 ? 8 : body.length > 125 ? 2 : 0
  const head = Buffer.alloc(2 + lengthBytes)
  head[0] = (fin ? 0x80 : 0) | opcode
  head[1] = (mask ? 0x80 : 0) | (lengthBytes === 8 ? 127 : lengthBytes === 2 ? 126 : body.length)
  if (lengthBytes === 2) head.writeUInt16BE(body.length, 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(body.length), 2)
  if (!mask) return Buffer.concat([head, body])
  return Buffer.concat([head, mask, body.map((byte, index) => byte ^ mask[index % 4]!)])
}

function scan(masked: boolean, chunks: Iterable<Buffer>) {
  const messages: ScannedMessage[] = []
  let invalid = false
  const scanner = new WebSocketScanner(masked, new Copier(), {
    onMessage: (message) => messages.push(message),
    onInvalid: () => {
      invalid = true
    },
  })
  for (const chunk of chunks) scanner.push(chunk)
  return { messages, invalid }
}

const MASK = Buffer.from([1, 200, 3, 77])

test('messages are parsed and unmasked', () => {
  const bytes = [
    frame(1, 'grüße', { mask: MASK }),
    frame(2, Buffer.from([0, 255]), { mask: MASK }),
    frame(9, '', { mask: MASK }),
  ]

  const { messages } = scan(true, bytes)

  assert.deepEqual(
    messages.map(({ opcode, size, payload }) => [opcode, size, payload.toString('latin1')]),
    [
      [1, 7, Buffer.from('grüße').toString('latin1')],
      [2, 2, '\0\xff'],
      [9, 0, ''],
    ],
  )
})

test('fragments become one message, and control frames between them are emitted at once', () => {
  const bytes = [
    frame(1, 'one ', { fin: false }),
    frame(9, 'ping'),
    frame(0, 'two ', { fin: false }),
    frame(0, 'three'),
    frame(1, 'next'),
  ]

  const { messages } = scan(false, bytes)

  assert.deepEqual(
    messages.map(({ opcode, fragments, payload }) => `${opcode} ${fragments} ${payload}`),
    ['9 1 ping', '1 3 one two three', '1 1 next'],
  )
})

test('the messages do not depend on chunk boundaries', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  for (let round = 0; round < 50; round++) {
    const sizes = [0, 1, 125, 126, 1000, 65_535, 65_536, 70_000]
    const payloads = Array.from({ length: 5 }, () => Buffer.alloc(random.pick(sizes), random.bytes(7)))
    const bytes = Buffer.concat(payloads.map((payload) => frame(2, payload, { mask: random.bytes(4) })))
    const chunks: Buffer[] = []
    for (let offset = 0; offset < bytes.length; ) {
      const end = offset + 1 + random.below(round % 2 ? 20_000 : 2000)
      chunks.push(bytes.subarray(offset, end))
      offset = end
    }

    const { messages, invalid } = scan(true, chunks)

    assert.equal(invalid, false)
    assert.deepEqual(
      messages.map(({ size }) => size),
      payloads.map(({ length }) => length),
    )
    for (const [index, { payload }] of messages.entries())
      assert.ok(payload.equals(payloads[index]!.subarray(0, 16_384)))
  }
})

test('invalid frames stop the scanner', (t) => {
  for (const [masked, bytes] of [
    [true, frame(1, 'not masked')],
    [false, frame(1, 'masked', { mask: MASK })],
    [false, frame(3, 'reserved opcode')],
    [false, frame(9, 'x'.repeat(126))],
    [false, frame(9, 'cut', { fin: false })],
    [false, frame(0, 'nothing to continue')],
    [false, Buffer.concat([frame(1, 'a', { fin: false }), frame(1, 'b')])],
    [false, Buffer.from('HTTP/1.1 200 OK')],
    [false, Buffer.from([0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0])],
  ] as const) {
    const { messages, invalid } = scan(masked, [bytes, frame(1, 'later')])
    assert.ok(invalid, bytes.toString('latin1'))
    assert.equal(messages.length, 0)
  }
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const sample = Buffer.concat([
    frame(1, 'hello', { mask: MASK }),
    frame(2, Buffer.alloc(300), { mask: MASK }),
  ])
  for (const _ of rounds(5000)) {
    const damaged = mutate(random, sample)
    const { messages } = scan(true, [damaged])
    for (const { payload } of messages) assert.ok(payload.length <= damaged.length)
  }
})
