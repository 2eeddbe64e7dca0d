import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { ClientHelloParser } from '../listeners/client-hello.ts'
import { ChunkedDecoder } from './chunked.ts'
import { requestNames } from './field-names.ts'
import { parseHttp2Head } from './http2-head.ts'
import { parseRequestHead } from './request-head.ts'
import { parseResponseHead } from './response-head.ts'

function seeded(t: TestContext) {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  return random
}

const CHUNKED = Buffer.from(
  '5\r\nhello\r\n1;a=b;c="d"\r\n \r\n0005\r\nworld\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\nGET /next',
)

/** Decodes a chunked body that arrives in reads of this size. */
function dechunk(bytes: Buffer, size: number) {
  const decoder = new ChunkedDecoder(requestNames)
  let data = ''
  let consumed = 0
  for (let offset = 0; offset < bytes.length && !decoder.failed && !decoder.done; offset += size) {
    const chunk = Buffer.from(bytes.subarray(offset, offset + size))
    data += decoder.decode(chunk).toString('latin1')
    consumed = decoder.done ? offset + decoder.consumed : offset + chunk.length
  }
  return decoder.failed
    ? { failed: true }
    : { data, done: decoder.done, consumed, trailers: decoder.trailers }
}

test('20,000 damaged chunked bodies are decoded alike in one read and in several', (t) => {
  const random = seeded(t)
  let done = 0
  for (const _ of rounds(20_000)) {
    const bytes = mutate(random, CHUNKED)
    const result = dechunk(bytes, bytes.length || 1)

    assert.deepEqual(dechunk(bytes, 1 + random.below(8)), result, JSON.stringify(bytes.toString('latin1')))
    if ('done' in result && result.done) {
      done += 1
      assert.ok(result.data.length <= bytes.length)
    }
  }
  assert.ok(done > 1000, `only ${done} bodies were complete`)
})

const HEADS = [
  'GET /a?b=c HTTP/1.1\r\nHost: a.example:8443\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n',
  'POST http://a.example/x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n\r\n',
  'PUT /%2e%2e/x HTTP/1.0\r\nHost: A.EXAMPLE.\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n',
].map((head) => Buffer.from(head))

test('20,000 damaged request heads are parsed, with one valid host and length, or rejected', (t) => {
  const random = seeded(t)
  let read = 0
  for (const _ of rounds(20_000)) {
    const text = mutate(random, random.pick(HEADS)).toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) continue
    const head = parseRequestHead(text.slice(0, end + 4), 'https')
    if (!('host' in head)) continue
    read += 1
    assert.match(head.host, /^[a-z0-9._:[\]-]+$/, text)
    assert.match(head.method, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, text)
    assert.doesNotMatch(head.target, /[\u0000- #\u007f]/, text)
    assert.ok(!(head.framing.chunked && head.framing.contentLength >= 0), `two framings: ${text}`)
  }
  assert.ok(read > 300, `only ${read} heads were read`)
})

test('20,000 damaged response heads are parsed, with a status, or rejected with a reason', (t) => {
  const random = seeded(t)
  const seeds = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\n',
    'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n',
    'HTTP/1.0 301 Moved\r\nTransfer-Encoding: chunked\r\nLocation: /x\r\n\r\n',
  ].map((head) => Buffer.from(head))
  let read = 0
  for (const _ of rounds(20_000)) {
    const text = mutate(random, random.pick(seeds)).toString('latin1')
    const head = parseResponseHead(text)
    if (typeof head === 'string') assert.ok(head.length > 0)
    else {
      read += 1
      assert.ok(head.status >= 100 && head.status <= 599, text)
    }
  }
  assert.ok(read > 300, `only ${read} heads were read`)
})

test('20,000 damaged HTTP/2 heads are parsed, with one valid host and framing, or rejected', (t) => {
  const random = seeded(t)
  const fields = [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':authority', 'a.example:8443'],
    [':path', '/a?b=c'],
    ['cookie', 'a=1'],
    ['content-length', '5'],
    ['te', 'trailers'],
    ['host', 'a.example:8443'],
    ['x-real', 'value'],
  ]
  let read = 0
  for (const _ of rounds(20_000)) {
    const list = fields.map((field) => [...field])
    for (let edits = 1 + random.below(3); edits > 0; edits--) {
      const field = list[random.below(list.length)]!
      const part = random.below(2)
      if (random.below(4) === 0)
        list.splice(random.below(list.length + 1), random.below(2), [...random.pick(fields)])
      else field[part] = mutate(random, Buffer.from(field[part]!, 'latin1')).toString('latin1')
    }
    const head = parseHttp2Head(list.flat(), random.below(2) === 0, 'https')
    if (!('host' in head)) continue
    read += 1
    assert.match(head.host, /^[a-z0-9._:[\]-]+$/, JSON.stringify(list))
    assert.doesNotMatch(head.target, /[\u0000- #\u007f]/, JSON.stringify(list))
    assert.ok(!(head.framing.chunked && head.framing.contentLength >= 0), JSON.stringify(list))
  }
  assert.ok(read > 300, `only ${read} heads were read`)
})

/** The ClientHello of a real client. */
async function realHello(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const hello = new Promise<Buffer>((resolve) =>
    server.once('connection', (socket) =>
      socket.once('data', (bytes: Buffer) => {
        resolve(bytes)
        socket.destroy()
      }),
    ),
  )
  const client = connect({ port, host: '127.0.0.1', servername })
  client.on('error', () => {})
  const bytes = await hello
  server.close()
  return bytes
}

test('20,000 damaged ClientHellos are parsed alike in one read and in several', async (t) => {
  const random = seeded(t)
  const seeds = [await realHello('a.example'), await realHello('a-much-longer.name.example')]
  const parse = (bytes: Buffer, size: number) => {
    const parser = new ClientHelloParser()
    let result = parser.push(Buffer.alloc(0))
    for (let offset = 0; offset < bytes.length && result === 'more'; offset += size)
      result = parser.push(Buffer.from(bytes.subarray(offset, offset + size)))
    return { result, name: result === 'done' ? parser.serverName : undefined }
  }
  let parsed = 0
  for (const _ of rounds(20_000)) {
    const bytes = mutate(random, random.pick(seeds))
    const result = parse(bytes, bytes.length || 1)

    assert.deepEqual(parse(bytes, 1 + random.below(200)), result, bytes.toString('hex'))
    if (result.result === 'done') parsed += 1
  }
  assert.ok(parsed > 1000, `only ${parsed} hellos were parsed`)
})
