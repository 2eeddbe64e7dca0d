import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request } from 'node:https'
import { test } from 'node:test'
import { brotliDecompressSync, createGunzip, gunzipSync, inflateSync } from 'node:zlib'
import { negotiateCoding } from '../../base/http/accepted-coding.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'

const TEXT = 'the same words again and again. '.repeat(200)

test('the coding with the highest weight is selected', () => {
  const codings = ['br', 'gzip', 'deflate'] as const
  const expectedCodings: Record<string, string | undefined> = {
    '': undefined,
    gzip: 'gzip',
    'x-gzip': 'gzip',
    'gzip, deflate, br': 'br',
    'gzip;q=0.9, br;q=0.1': 'gzip',
    'gzip;q=0, br;q=0': undefined,
    '*': 'br',
    '*;q=0.5, br;q=0': 'gzip',
    'identity;q=1, gzip;q=0.5': undefined,
    'identity;q=0, deflate;q=0.001': 'deflate',
    'gzip;q=2': undefined,
    'gzip;q=abc': undefined,
    zstd: undefined,
    'GZIP ; Q=0.5': 'gzip',
  }

  for (const [accept, expected] of Object.entries(expectedCodings))
    assert.equal(negotiateCoding(accept, codings), expected, accept)
})

test('text is compressed with the accepted coding, and the headers match', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t, (_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      etag: '"abc"',
      'accept-ranges': 'bytes',
    })
    response.end(TEXT)
  })
  config.update(routeId, { compression: {} })
  await config.waitUntilApplied()
  const decompress = { br: brotliDecompressSync, gzip: gunzipSync, deflate: inflateSync }

  for (const coding of ['br', 'gzip', 'deflate'] as const) {
    const { headers, body } = await sendRequest({ headers: { 'accept-encoding': coding } })
    assert.equal(headers['content-encoding'], coding)
    assert.equal(decompress[coding](body).toString(), TEXT)
    assert.ok(body.length < TEXT.length / 5)
    assert.equal(headers.etag, 'W/"abc"')
    assert.equal(headers.vary, 'Accept-Encoding')
    assert.deepEqual([headers['accept-ranges'], headers['content-length']], [undefined, undefined])
  }
  const plain = await sendRequest()
  assert.deepEqual([plain.text, plain.headers.vary, plain.headers.etag], [TEXT, 'Accept-Encoding', '"abc"'])
  const head = await sendRequest({ method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual([head.headers['content-encoding'], head.headers.etag, head.text], ['gzip', 'W/"abc"', ''])
})

test('encoded, partial, small, digested and non-text responses stay uncompressed', async (t) => {
  const responses: Record<string, [number, Record<string, string>, string]> = {
    '/encoded': [200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, TEXT],
    '/partial': [206, { 'content-type': 'text/plain', 'content-range': 'bytes 0-9/100' }, TEXT],
    '/small': [200, { 'content-type': 'text/plain' }, 'small'],
    '/image': [200, { 'content-type': 'image/png' }, TEXT],
    '/unknown': [200, {}, TEXT],
    '/digest': [200, { 'content-type': 'text/plain', 'repr-digest': 'sha-256=:x:' }, TEXT],
    '/no-transform': [200, { 'content-type': 'text/plain', 'cache-control': 'private, no-transform' }, TEXT],
  }
  const { config, routeId, sendRequest } = await startHttpsEdge(t, (request, response) => {
    const [status, headers, body] = responses[request.url!]!
    response.writeHead(status, { ...headers, 'content-length': body.length }).end(body)
  })
  config.update(routeId, { compression: {} })
  await config.waitUntilApplied()

  for (const [path, [status, sentHeaders, body]] of Object.entries(responses)) {
    const reply = await sendRequest({ path, headers: { 'accept-encoding': 'gzip, br' } })
    assert.equal(reply.status, status, path)
    assert.equal(reply.text, body, path)
    assert.equal(reply.headers['content-encoding'], sentHeaders['content-encoding'], path)
  }
})

test('an event stream stays a stream', async (t) => {
  let send: (text: string) => void = () => {}
  const { config, routeId, tlsPort, ca } = await startHttpsEdge(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send = (text) => response.write(text)
    send('data: one\n\n')
  })
  config.update(routeId, { compression: {} })
  await config.waitUntilApplied()
  const headers = { host: HOST, 'accept-encoding': 'gzip' }
  const clientRequest = request({
    port: tlsPort,
    host: '127.0.0.1',
    servername: HOST,
    ca,
    headers,
    agent: false,
  })
  t.after(() => clientRequest.destroy())
  const events: string[] = []

  await new Promise<void>((resolve) => {
    clientRequest.on('response', (response) => {
      const decompressed = response.pipe(createGunzip({ finishFlush: 2 }))
      decompressed.on('error', () => {})
      decompressed.on('data', (chunk: Buffer) => {
        events.push(chunk.toString())
        if (events.length === 1) send('data: two\n\n')
        else resolve()
      })
    })
    clientRequest.on('error', () => {})
    clientRequest.end()
  })

  assert.deepEqual(events, ['data: one\n\n', 'data: two\n\n'])
})

test('a large response is compressed chunk by chunk, and a truncated one is seen as truncated', async (t) => {
  const large = Buffer.concat(
    Array.from({ length: 64 }, () => Buffer.from(randomBytes(32_768).toString('base64'))),
  )
  const { config, routeId, sendRequest } = await startHttpsEdge(t, (request, response) => {
    response.writeHead(200, {
      'content-type': 'text/plain',
      ...(request.url === '/cut' && { 'content-length': '5000000' }),
    })
    if (request.url === '/cut') response.write(large, () => response.destroy())
    else response.end(large)
  })
  config.update(routeId, { compression: {} })
  await config.waitUntilApplied()

  const complete = await sendRequest({ headers: { 'accept-encoding': 'gzip' } })
  const truncated = await sendRequest({ path: '/cut', headers: { 'accept-encoding': 'gzip' } })

  assert.ok(gunzipSync(complete.body).equals(large))
  assert.equal(truncated.status, 0)
})
