import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { CaptureStore } from './capture-store.ts'
import { decodeBody } from './decoded-body.ts'

function captureResponse(headers: string, body: Buffer) {
  const store = new CaptureStore(50e6)
  const capture = store.begin('web', 'x', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1)
  store.addResponse(capture, Buffer.from(`HTTP/1.1 200 OK\r\n${headers}\r\n`), 1)
  store.addResponseBody(capture, body)
  store.end(capture, 1)
  return capture
}

for (const [encoding, compress] of [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const) {
  test(`a body compressed by ${compress.name} and sent as ${encoding} is decoded`, async () => {
    const body = compress(Buffer.from('words, words, words'))
    const chunked = Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ])

    const plain = await decodeBody(
      captureResponse(`Content-Encoding: ${encoding}\r\nContent-Length: ${body.length}\r\n`, body),
      'response',
    )
    const chunkedResult = await decodeBody(
      captureResponse(`Content-Encoding: ${encoding}\r\nTransfer-Encoding: chunked\r\n`, chunked),
      'response',
    )
    const damaged = await decodeBody(
      captureResponse(`Content-Encoding: ${encoding}\r\n`, body.subarray(0, -5)),
      'response',
    )

    assert.equal(plain.body.toString(), 'words, words, words')
    assert.deepEqual([plain.decoded, plain.problem], [[encoding], undefined])
    assert.equal(chunkedResult.body.toString(), 'words, words, words')
    assert.match(damaged.problem ?? '', /damaged or cut short/)
  })

  test(`decoding of a ${encoding} bomb made by ${compress.name} stops early`, async () => {
    const body = compress(Buffer.alloc(64 * 1024 * 1024))

    const { body: decompressed, problem } = await decodeBody(
      captureResponse(`Content-Encoding: ${encoding}\r\n`, body),
      'response',
    )

    assert.equal(decompressed.length, 8 * 1024 * 1024)
    assert.match(problem ?? '', /only the first 8 MiB/)
  })
}

test('multiple encodings are decoded in order, and an unknown one is reported', async () => {
  const both = await decodeBody(
    captureResponse('Content-Encoding: gzip, br\r\n', brotliCompressSync(gzipSync('twice'))),
    'response',
  )
  const odd = await decodeBody(
    captureResponse('Content-Encoding: rot13\r\n', Buffer.from('uryyb')),
    'response',
  )
  const none = await decodeBody(captureResponse('', Buffer.from('plain')), 'response')
  const request = await decodeBody(captureResponse('', Buffer.alloc(0)), 'request')

  assert.deepEqual([both.body.toString(), both.decoded], ['twice', ['br', 'gzip']])
  assert.deepEqual([odd.body.toString(), odd.problem], ['uryyb', 'the encoding rot13 is not supported'])
  assert.deepEqual([none.body.toString(), none.decoded, none.problem], ['plain', [], undefined])
  assert.equal(request.body.length, 0)
})

test('the number of decoded encodings is limited', async () => {
  const names = Array.from({ length: 5000 }, () => 'gzip').join(', ')
  let body: Buffer = Buffer.from('inside')
  for (let n = 0; n < 6; n++) body = gzipSync(body)

  const decoded = await decodeBody(captureResponse(`Content-Encoding: ${names}\r\n`, body), 'response')

  assert.equal(decoded.decoded.length, 4)
  assert.match(decoded.problem ?? '', /only 4 encodings/)
})
