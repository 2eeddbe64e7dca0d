import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/support/random.ts'
import { EventScanner, type ScannedEvent } from './event-scanner.ts'

function scan(pieces: Iterable<Buffer>): ScannedEvent[] {
  const found: ScannedEvent[] = []
  const scanner = new EventScanner((event) => found.push(event))
  for (const piece of pieces) scanner.push(piece)
  return found
}

const STREAM = Buffer.from(
  '\ufeff: comment\n\ndata: one\n\nevent: add\r\nid: 7\r\ndata:  two\r\ndata: lines\r\n\r\nretry: 10\n\ndata\n\nevent: none\n\ndata: grüße\rid\r\rdata: unfinished\n',
)
const EVENTS = [
  ['message', '', 'one'],
  ['add', '7', ' two\nlines'],
  ['message', '7', ''],
  ['message', '', 'grüße'],
]

test('events are found as a browser would find them', () => {
  const found = scan([STREAM])

  assert.deepEqual(
    found.map(({ event, id, data }) => [event, id, data]),
    EVENTS,
  )
})

test('however the bytes are cut, the same events are found', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  for (let round = 0; round < 200; round++) {
    const pieces: Buffer[] = []
    for (let at = 0; at < STREAM.length; ) {
      const end = at + 1 + random.below(6)
      pieces.push(STREAM.subarray(at, end))
      at = end
    }

    const found = scan(pieces)

    assert.deepEqual(
      found.map(({ event, id, data }) => [event, id, data]),
      EVENTS,
    )
  }
})

test('of a long event the beginning is kept, and it says so', () => {
  const endless = Buffer.from('x'.repeat(10_000))

  const found = scan([
    Buffer.from('data: '),
    ...Array.from({ length: 10 }, () => endless),
    Buffer.from('\n\ndata: short\n\n'),
  ])

  assert.deepEqual(
    found.map(({ data, size, truncated }) => [data.length, size, truncated]),
    [
      [16_384, 100_006, true],
      [5, 11, false],
    ],
  )
})
