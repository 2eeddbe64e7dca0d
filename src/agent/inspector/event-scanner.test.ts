import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/support/random.ts'
import { EventScanner, type ScannedEvent } from './event-scanner.ts'

function scan(chunks: Iterable<Buffer>): ScannedEvent[] {
  const events: ScannedEvent[] = []
  const scanner = new EventScanner((event) => events.push(event))
  for (const chunk of chunks) scanner.push(chunk)
  return events
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

test('events are parsed as in a browser', () => {
  const events = scan([STREAM])

  assert.deepEqual(
    events.map(({ event, id, data }) => [event, id, data]),
    EVENTS,
  )
})

test('the events do not depend on chunk boundaries', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  for (let round = 0; round < 200; round++) {
    const chunks: Buffer[] = []
    for (let offset = 0; offset < STREAM.length; ) {
      const end = offset + 1 + random.below(6)
      chunks.push(STREAM.subarray(offset, end))
      offset = end
    }

    const events = scan(chunks)

    assert.deepEqual(
      events.map(({ event, id, data }) => [event, id, data]),
      EVENTS,
    )
  }
})

test('a long event is truncated and marked', () => {
  const endless = Buffer.from('x'.repeat(10_000))

  const events = scan([
    Buffer.from('data: '),
    ...Array.from({ length: 10 }, () => endless),
    Buffer.from('\n\ndata: short\n\n'),
  ])

  assert.deepEqual(
    events.map(({ data, size, truncated }) => [data.length, size, truncated]),
    [
      [16_384, 100_006, true],
      [5, 11, false],
    ],
  )
})
