import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../test/support/random.ts'
import {
  type MessageEvents,
  MessageScanner,
  parseHeaderFields,
  requestFraming,
  responseFraming,
} from './http1.ts'

interface Recorded {
  heads: string[]
  bodies: string[]
  raw: string
  ends: number
}

function scan(text: string, chunkSize: number, framing: 'request' | 'response', method = 'GET') {
  const recorded: Recorded = { heads: [], bodies: [], raw: '', ends: 0 }
  const events: MessageEvents = {
    head(bytes, head) {
      recorded.heads.push(bytes.toString('latin1'))
      recorded.bodies.push('')
      return framing === 'request' ? requestFraming(head) : responseFraming(head, method)
    },
    body: (bytes) => {
      recorded.bodies[recorded.bodies.length - 1] += bytes.toString('latin1')
    },
    end: () => {
      recorded.ends++
    },
    raw: (bytes) => {
      recorded.raw += bytes.toString('latin1')
    },
  }
  const scanner = new MessageScanner(events)
  const bytes = Buffer.from(text, 'latin1')
  for (let offset = 0; offset < bytes.length; offset += chunkSize)
    scanner.push(bytes.subarray(offset, offset + chunkSize))
  return { recorded, clean: scanner.finish() }
}

const GET = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n'
const POST = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n'
const CHUNKED_HEAD = 'POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'
const CHUNKED_BODY = '5;ext=1\r\nhello\r\n0A\r\n0123456789\r\n0\r\nTrailer: yes\r\n\r\n'

for (const chunkSize of [1, 2, 3, 7, 1000]) {
  test(`requests on one connection are separated in chunks of ${chunkSize}`, () => {
    const { recorded, clean } = scan(
      `${GET}${POST}hello${CHUNKED_HEAD}${CHUNKED_BODY}${GET}`,
      chunkSize,
      'request',
    )

    assert.deepEqual(recorded.heads, [GET, POST, CHUNKED_HEAD, GET])
    assert.deepEqual(recorded.bodies, ['', 'hello', CHUNKED_BODY, ''])
    assert.equal(recorded.ends, 4)
    assert.equal(recorded.raw, '')
    assert.ok(clean)
  })

  test(`interim responses, empty bodies and a body that ends with the connection in chunks of ${chunkSize}`, () => {
    const text = [
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\n',
    ]

    const { recorded, clean } = scan(`${text.join('')}until the end`, chunkSize, 'response')

    assert.deepEqual(recorded.heads, text)
    assert.equal(recorded.bodies.at(-1), 'until the end')
    assert.equal(recorded.ends, 4)
    assert.ok(clean)
  })

  test(`bytes after an upgrade belong to no message in chunks of ${chunkSize}`, () => {
    const { recorded } = scan(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u0081\u0005hello',
      chunkSize,
      'response',
    )

    assert.equal(recorded.raw, '\u0081\u0005hello')
    assert.equal(recorded.ends, 0)
  })
}

test('a response to HEAD has no body whatever its Content-Length', () => {
  const { recorded } = scan('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 1000, 'response', 'HEAD')

  assert.equal(recorded.ends, 1)
})

test('a truncated body is reported', () => {
  assert.equal(scan(`${POST}hel`, 1000, 'request').clean, false)
  assert.equal(scan('GET / HT', 1000, 'request').clean, false)
})

const NONSENSE = [
  'SSH-2.0-OpenSSH\r\n\r\n',
  'POST / HTTP/1.1\r\nContent-Length: x\r\n\r\nbody',
  'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nbody',
  'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n',
  `GET /${'a'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
]

for (const text of NONSENSE) {
  test(`malformed input stops scanning and loses no byte: ${JSON.stringify(text.slice(0, 60))}`, () => {
    for (const chunkSize of [1, 1000]) {
      const { recorded } = scan(text, chunkSize, 'request')

      const all = recorded.heads.join('') + recorded.bodies.join('') + recorded.raw
      assert.equal(all, text)
      assert.equal(recorded.ends, 0)
    }
  })
}

test('every byte of any input, in any chunks, is reported exactly once and in order', () => {
  const { seed, below: random } = createRandom()
  const corpus = `${GET}${POST}hello${CHUNKED_HEAD}${CHUNKED_BODY}${GET}`
  const fragments = ['\r\n', '\n', '0\r\n\r\n', 'Content-Length: 3\r\n', ':', ' ', '\0', 'ff']

  for (const round of rounds(2000)) {
    let text = corpus
    for (let edits = random(4); edits > 0; edits--) {
      const position = random(text.length)
      text = text.slice(0, position) + fragments[random(fragments.length)] + text.slice(position + random(6))
    }
    let recorded = ''
    const scanner = new MessageScanner({
      head(bytes, head) {
        recorded += bytes.toString('latin1')
        return requestFraming(head)
      },
      body: (bytes) => {
        recorded += bytes.toString('latin1')
      },
      end() {},
      raw: (bytes) => {
        recorded += bytes.toString('latin1')
      },
    })
    const bytes = Buffer.from(text, 'latin1')
    for (let offset = 0; offset < bytes.length; ) {
      const next = offset + 1 + random(40)
      scanner.push(bytes.subarray(offset, next))
      offset = next
    }
    scanner.finish()
    assert.equal(recorded, text, `seed ${seed}, round ${round}`)
  }
})

test('header fields keep their order and case', () => {
  assert.deepEqual(parseHeaderFields(Buffer.from('GET / HTTP/1.1\r\nX-A: 1\r\nx-a:2\r\nEmpty:\r\n\r\n')), [
    ['X-A', '1'],
    ['x-a', '2'],
    ['Empty', ''],
  ])
})
