import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../test/support/random.ts'
import { headerFields, type MessageEvents, MessageScanner, requestFraming, responseFraming } from './http1.ts'

interface Seen {
  heads: string[]
  bodies: string[]
  raw: string
  ends: number
}

function scan(text: string, pieces: number, framing: 'request' | 'response', method = 'GET') {
  const seen: Seen = { heads: [], bodies: [], raw: '', ends: 0 }
  const events: MessageEvents = {
    head(bytes, head) {
      seen.heads.push(bytes.toString('latin1'))
      seen.bodies.push('')
      return framing === 'request' ? requestFraming(head) : responseFraming(head, method)
    },
    body: (bytes) => {
      seen.bodies[seen.bodies.length - 1] += bytes.toString('latin1')
    },
    end: () => {
      seen.ends++
    },
    raw: (bytes) => {
      seen.raw += bytes.toString('latin1')
    },
  }
  const scanner = new MessageScanner(events)
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += pieces) scanner.push(bytes.subarray(at, at + pieces))
  return { seen, clean: scanner.finish() }
}

const GET = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n'
const POST = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n'
const CHUNKED_HEAD = 'POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'
const CHUNKED_BODY = '5;ext=1\r\nhello\r\n0A\r\n0123456789\r\n0\r\nTrailer: yes\r\n\r\n'

for (const pieces of [1, 2, 3, 7, 1000]) {
  test(`requests on one connection are told apart in pieces of ${pieces}`, () => {
    const { seen, clean } = scan(`${GET}${POST}hello${CHUNKED_HEAD}${CHUNKED_BODY}${GET}`, pieces, 'request')

    assert.deepEqual(seen.heads, [GET, POST, CHUNKED_HEAD, GET])
    assert.deepEqual(seen.bodies, ['', 'hello', CHUNKED_BODY, ''])
    assert.equal(seen.ends, 4)
    assert.equal(seen.raw, '')
    assert.ok(clean)
  })

  test(`interim responses, empty bodies and a body that ends with the connection in pieces of ${pieces}`, () => {
    const text = [
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\n',
    ]

    const { seen, clean } = scan(`${text.join('')}until the end`, pieces, 'response')

    assert.deepEqual(seen.heads, text)
    assert.equal(seen.bodies.at(-1), 'until the end')
    assert.equal(seen.ends, 4)
    assert.ok(clean)
  })

  test(`bytes after an upgrade belong to no message in pieces of ${pieces}`, () => {
    const { seen } = scan(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u0081\u0005hello',
      pieces,
      'response',
    )

    assert.equal(seen.raw, '\u0081\u0005hello')
    assert.equal(seen.ends, 0)
  })
}

test('an answer to HEAD has no body whatever its length says', () => {
  const { seen } = scan('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 1000, 'response', 'HEAD')

  assert.equal(seen.ends, 1)
})

test('a body cut short is told', () => {
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
  test(`nonsense ends scanning and loses no byte: ${JSON.stringify(text.slice(0, 60))}`, () => {
    for (const pieces of [1, 1000]) {
      const { seen } = scan(text, pieces, 'request')

      const all = seen.heads.join('') + seen.bodies.join('') + seen.raw
      assert.equal(all, text)
      assert.equal(seen.ends, 0)
    }
  })
}

test('whatever comes, in whatever pieces, every byte is told exactly once and in order', () => {
  const { seed, below: random } = createRandom()
  const corpus = `${GET}${POST}hello${CHUNKED_HEAD}${CHUNKED_BODY}${GET}`
  const odd = ['\r\n', '\n', '0\r\n\r\n', 'Content-Length: 3\r\n', ':', ' ', '\0', 'ff']

  for (const round of rounds(2000)) {
    let text = corpus
    for (let edits = random(4); edits > 0; edits--) {
      const at = random(text.length)
      text = text.slice(0, at) + odd[random(odd.length)] + text.slice(at + random(6))
    }
    let told = ''
    const scanner = new MessageScanner({
      head(bytes, head) {
        told += bytes.toString('latin1')
        return requestFraming(head)
      },
      body: (bytes) => {
        told += bytes.toString('latin1')
      },
      end() {},
      raw: (bytes) => {
        told += bytes.toString('latin1')
      },
    })
    const bytes = Buffer.from(text, 'latin1')
    for (let at = 0; at < bytes.length; ) {
      const next = at + 1 + random(40)
      scanner.push(bytes.subarray(at, next))
      at = next
    }
    scanner.finish()
    assert.equal(told, text, `seed ${seed}, round ${round}`)
  }
})

test('fields keep their order and spelling', () => {
  assert.deepEqual(headerFields(Buffer.from('GET / HTTP/1.1\r\nX-A: 1\r\nx-a:2\r\nEmpty:\r\n\r\n')), [
    ['X-A', '1'],
    ['x-a', '2'],
    ['Empty', ''],
  ])
})
