import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/support/random.ts'
import { recordClientHello } from '../testing/client-hello.ts'
import { ClientHelloParser } from './client-hello.ts'

function parse(bytes: Buffer, splits: readonly number[]): { result: string; name: string; bytes: Buffer } {
  const parser = new ClientHelloParser()
  let start = 0
  for (const end of [...splits, bytes.length]) {
    const result = parser.push(Buffer.from(bytes.subarray(start, end)))
    if (result !== 'more') return { result, name: parser.serverName, bytes: parser.bytes }
    start = end
  }
  return { result: 'more', name: '', bytes: parser.bytes }
}

/** Splits the handshake message into records of this many bytes. */
function splitIntoRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5)
  const records: Buffer[] = []
  for (let offset = 0; offset < message.length; offset += size) {
    const fragment = message.subarray(offset, offset + size)
    records.push(Buffer.from([22, 3, 1, fragment.length >> 8, fragment.length & 255]), fragment)
  }
  return Buffer.concat(records)
}

test('the name is parsed from real hellos however they are split into segments and records', async (t) => {
  const { seed, below: random } = createRandom()
  console.log(`seed ${seed}`)
  const servername = 'Some.Name.Example'
  const hellos = [
    await recordClientHello(t, { servername }),
    await recordClientHello(t, { servername, maxVersion: 'TLSv1.2' }),
    await recordClientHello(t, { servername, ALPNProtocols: ['h2', 'http/1.1'] }),
    await recordClientHello(t, { servername, ecdhCurve: 'X25519MLKEM768:X25519' }),
    await recordClientHello(t, {
      servername,
      ecdhCurve: 'X25519MLKEM768',
      ALPNProtocols: ['h2', 'a'.repeat(200)],
    }),
  ]
  assert.ok(
    hellos.some(({ length }) => length > 1400),
    'one has a post-quantum key share',
  )

  for (let n = 0; n < 300; n++) {
    const hello = hellos[n % hellos.length]!
    const bytes = n % 3 === 0 ? splitIntoRecords(hello, 16 + random(600)) : hello
    const splits = Array.from({ length: random(20) }, () => random(bytes.length)).sort((a, b) => a - b)
    const parsed = parse(bytes, n % 10 === 0 ? [...bytes.keys()].slice(1) : splits)

    assert.equal(parsed.result, 'done')
    assert.equal(parsed.name, 'some.name.example')
    assert.ok(bytes.subarray(0, parsed.bytes.length).equals(parsed.bytes), 'the bytes are unchanged')
  }
})

test('a hello of 16 KiB is accepted, a larger one is not', async (t) => {
  const hello = await recordClientHello(t, { servername: 'a.example' })
  const padded = (size: number) => {
    // A padding extension (RFC 7685) at the end, all lengths adjusted.
    const paddingLength = size - (hello.length - 5) - 4
    const message = Buffer.concat([
      hello.subarray(5),
      Buffer.from([0, 21, paddingLength >> 8, paddingLength & 255]),
      Buffer.alloc(paddingLength),
    ])
    message.writeUIntBE(message.length - 4, 1, 3)
    const body = message.subarray(4)
    let offset = 34
    offset += 1 + body[offset]!
    offset += 2 + body.readUInt16BE(offset)
    offset += 1 + body[offset]!
    body.writeUInt16BE(body.length - offset - 2, offset)
    return splitIntoRecords(Buffer.concat([Buffer.alloc(5), message]), 8192)
  }

  assert.equal(parse(padded(16_384), []).result, 'done')
  assert.equal(parse(padded(17_000), []).result, 'bad')
})

/** Builds a hello with this server_name extension body, or without one. */
function helloWith(extension: Buffer | undefined, twice = false): Buffer {
  const sni =
    extension === undefined
      ? []
      : [Buffer.from([0, 0, extension.length >> 8, extension.length & 255]), extension]
  const extensions = Buffer.concat([...sni, ...(twice ? sni : []), Buffer.from([0, 23, 0, 0])])
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32),
    Buffer.from([0, 0, 2, 0x13, 1, 1, 0, extensions.length >> 8, extensions.length & 255]),
    extensions,
  ])
  const message = Buffer.concat([Buffer.from([1, 0, body.length >> 8, body.length & 255]), body])
  return Buffer.concat([Buffer.from([22, 3, 1, message.length >> 8, message.length & 255]), message])
}

function nameExtension(name: string, type = 0): Buffer {
  const bytes = Buffer.from(name, 'latin1')
  const entry = Buffer.concat([Buffer.from([type, bytes.length >> 8, bytes.length & 255]), bytes])
  return Buffer.concat([Buffer.from([entry.length >> 8, entry.length & 255]), entry])
}

function listExtension(...names: string[]): Buffer {
  const entries = Buffer.concat(names.map((name) => nameExtension(name).subarray(2)))
  return Buffer.concat([Buffer.from([entries.length >> 8, entries.length & 255]), entries])
}

test('a name is compared in lower case and without its final dot; internationalised names are ASCII', () => {
  assert.equal(parse(helloWith(nameExtension('A.Example.')), []).name, 'a.example')
  assert.equal(parse(helloWith(nameExtension('XN--BCHER-KVA.example')), []).name, 'xn--bcher-kva.example')
})

test('anything but a hello with one valid name is bad', () => {
  const good = helloWith(nameExtension('a.example.'))
  assert.equal(parse(good, []).name, 'a.example')
  const bad: [string, Buffer][] = [
    ['no name', helloWith(undefined)],
    ['two names', helloWith(nameExtension('a.example'), true)],
    ['empty name', helloWith(nameExtension(''))],
    ['NUL in the name', helloWith(nameExtension('a\0.example'))],
    ['not ASCII', helloWith(nameExtension('\u00e4.example'))],
    ['invalid UTF-8', helloWith(nameExtension('\xff\xfe.example'))],
    ['a wildcard', helloWith(nameExtension('*.example'))],
    ['an IPv6 address', helloWith(nameExtension('::1'))],
    ['an IPv6 address in brackets', helloWith(nameExtension('[::1]'))],
    ['two final dots', helloWith(nameExtension('a.example..'))],
    ['a dot alone', helloWith(nameExtension('.'))],
    ['a port', helloWith(nameExtension('a.example:443'))],
    ['a label of 64 bytes', helloWith(nameExtension(`${'a'.repeat(64)}.example`))],
    ['two names in one list', helloWith(listExtension('a.example', 'b.example'))],
    ['256 bytes', helloWith(nameExtension(`${'a'.repeat(63)}.`.repeat(4)))],
    ['two dots', helloWith(nameExtension('a..example'))],
    ['slash', helloWith(nameExtension('a/b'))],
    ['another kind of name', helloWith(nameExtension('a.example', 1))],
    ['empty extension', helloWith(Buffer.alloc(0))],
    ['list too short', helloWith(Buffer.concat([nameExtension('a.example'), Buffer.from([0])]))],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ['server hello', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1])],
    ['empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['record too large', Buffer.from([22, 3, 1, 0x50, 0])],
  ]
  for (const [what, bytes] of bad) assert.equal(parse(bytes, []).result, 'bad', what)
})

test('a changed byte in a hello never causes an exception', () => {
  const good = helloWith(nameExtension('a.example'))
  for (let offset = 0; offset < good.length; offset++) {
    for (const value of [0, 1, 127, 255]) {
      const bytes = Buffer.from(good)
      bytes[offset] = value
      assert.ok(['more', 'done', 'bad'].includes(parse(bytes, []).result))
    }
  }
})

test('bytes that never become a hello are rejected', () => {
  const parser = new ClientHelloParser()
  const record = Buffer.from([22, 3, 1, 0, 1, 0])
  record[5] = 1
  let result = parser.push(record)
  for (let n = 0; result === 'more' && n < 10_000; n++) result = parser.push(Buffer.from([22, 3, 1, 0, 1, 0]))

  assert.equal(result, 'bad')
})
