import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkedDecoder } from './chunked.ts'
import { requestNames } from './field-names.ts'

/** Decodes the text in chunks of this size; returns the data, the rest and the final state. */
function decode(text: string, size: number) {
  const decoder = new ChunkedDecoder(requestNames)
  let data = ''
  const bytes = Buffer.from(text, 'latin1')
  for (let offset = 0; offset < bytes.length; offset += size) {
    const chunk = Buffer.from(bytes.subarray(offset, offset + size))
    data += decoder.decode(chunk).toString('latin1')
    if (decoder.failed || decoder.done) {
      return {
        data,
        rest: text.slice(offset + decoder.consumed),
        failed: decoder.failed,
        done: decoder.done,
        trailers: decoder.trailers,
      }
    }
  }
  return { data, rest: '', failed: decoder.failed, done: decoder.done, trailers: decoder.trailers }
}

test('chunks are joined however the input is split', () => {
  const text = '5\r\nhello\r\n1;a=b;c="d"\r\n \r\n0005\r\nworld\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\nGET /next'
  for (let size = 1; size <= text.length; size++) {
    const { data, rest, done, trailers } = decode(text, size)

    assert.equal(data, 'hello world')
    assert.equal(done, true)
    assert.equal(rest, 'GET /next', `reads of ${size}`)
    assert.equal(trailers, 'X-Sum: 1\r\nY: 2\r\n')
  }
})

test('ambiguous framing is rejected', () => {
  const malformed = [
    '\r\n',
    ' 5\r\nhello\r\n',
    '5 \r\nhello\r\n',
    '0x5\r\nhello\r\n',
    '+5\r\nhello\r\n',
    '-5\r\nhello\r\n',
    '5\nhello\n',
    '5\r\nhello\n',
    '5\r\nhelloX\r\n',
    '5\r\nhello\r5\r\n',
    '5\rhello\r\n',
    '5;\nhello',
    '5;a\u0000\r\nhello\r\n',
    'g\r\n',
    '123456789\r\n',
    '000000000\r\n',
    '0\r\nX\r\n\r\n',
    '0\r\n X: a\r\n\r\n',
    '0\r\nX : a\r\n\r\n',
    '0\r\nX: a\nY: b\r\n\r\n',
    '0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    `5;${'a'.repeat(1024)}\r\nhello\r\n0\r\n\r\n`,
    `1;${'a'.repeat(600)}\r\nh\r\n1;${'a'.repeat(600)}\r\nh\r\n`,
    `0\r\nX: ${'a'.repeat(4100)}\r\n\r\n`,
    `0\r\n${'X: a\r\n'.repeat(101)}\r\n`,
  ]
  for (const text of malformed) {
    for (const size of [1, 7, text.length]) {
      assert.equal(
        decode(text, size).failed,
        true,
        `${JSON.stringify(text.slice(0, 60))} in reads of ${size}`,
      )
    }
  }
})

test('trailers up to the limit are forwarded, without special fields', () => {
  const long = `X: ${'a'.repeat(4096 - 5)}\r\n`
  assert.equal(decode(`0\r\n${long}\r\n`, 1000).trailers, long)

  const { trailers, done } = decode(
    '0\r\nA: 1\r\nHost: evil\r\nX-Forwarded-For: 1.1.1.1\r\nAdit_Auth_User: me\r\nConnection: close\r\nB: 2\r\n\r\n',
    1000,
  )
  assert.equal(done, true)
  assert.equal(trailers, 'A: 1\r\nB: 2\r\n')
})

test('an incomplete body is neither done nor failed', () => {
  for (const text of ['5', '5\r', '5\r\nhel', '5\r\nhello\r', '0\r\n', '0\r\n\r', '0\r\nX: a\r\n']) {
    const { done, failed } = decode(text, 1)
    assert.deepEqual([done, failed], [false, false], JSON.stringify(text))
  }
})
