import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordClientHello } from '../testing/client-hello.ts'
import { ClientHelloParser } from './client-hello.ts'
import { ja4Of } from './ja4.ts'

const numbers = (hex: string) => Buffer.from(hex.replaceAll(',', ''), 'hex')
const vector = (width: number, bytes: Buffer) => {
  const length = Buffer.alloc(width)
  length.writeUIntBE(bytes.length, 0, width)
  return Buffer.concat([length, bytes])
}
const extension = (type: number, body = Buffer.of()) => ({ type, body })
const alpn = (...names: string[]) =>
  extension(16, vector(2, Buffer.concat(names.map((name) => vector(1, Buffer.from(name, 'latin1'))))))

/** The example of the public description of JA4, with its lists in another order and GREASE in each. */
const CHROME = {
  version: 0x0303,
  cipherSuites: numbers('3a3a,1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035'),
  extensions: [
    extension(0x1a1a),
    ...[0x001b, 0x0000, 0x0033].map((type) => extension(type)),
    alpn('h2', 'http/1.1'),
    ...[0x4469, 0x0017, 0x002d].map((type) => extension(type)),
    extension(0x000d, vector(2, numbers('0403,0804,0401,0503,0805,0501,0806,0601'))),
    ...[0x0005, 0x0023, 0x0012].map((type) => extension(type)),
    extension(0x002b, vector(1, numbers('7a7a,0304,0303'))),
    ...[0xff01, 0x000b, 0x000a, 0x0015].map((type) => extension(type)),
  ],
}

test('the example of the description has its fingerprint', () => {
  assert.equal(ja4Of(CHROME), 't13d1516h2_8daaf6152771_e5627efa2ab1')
})

test('a client that offers little has a fingerprint too', () => {
  const empty = { version: 0x0301, cipherSuites: Buffer.of(), extensions: [] }
  assert.equal(ja4Of(empty), 't10i000000_000000000000_000000000000')
  const fingerprints = [alpn('\xab\xcd'), alpn('a'), alpn(''), extension(16, Buffer.of(9))].map((each) =>
    ja4Of({ ...empty, extensions: [each, extension(43, Buffer.of(7))] }).slice(0, 10),
  )
  assert.deepEqual(fingerprints, ['t10i0002ad', 't10i0002aa', 't10i000200', 't10i000200'])
  const many = { ...empty, cipherSuites: Buffer.alloc(300, 1) }
  assert.match(ja4Of(many), /^t10i990000_/)
})

test('a client has the same fingerprint for every name and connection, and another one for other settings', async (t) => {
  const fingerprintOf = async (options: object) => {
    const parser = new ClientHelloParser()
    assert.equal(parser.fingerprint, '')
    assert.equal(parser.push(await recordClientHello(t, options)), 'done')
    return parser.fingerprint
  }

  const first = await fingerprintOf({ servername: 'a.test' })

  assert.match(first, /^t13d[0-9]{4}00_[0-9a-f]{12}_[0-9a-f]{12}$/)
  assert.equal(await fingerprintOf({ servername: 'another.test' }), first)
  assert.match(await fingerprintOf({ servername: 'a.test', ALPNProtocols: ['h2'] }), /^t13d[0-9]{4}h2_/)
  assert.match(
    await fingerprintOf({
      servername: 'a.test',
      maxVersion: 'TLSv1.2',
      ciphers: 'ECDHE-RSA-AES128-GCM-SHA256',
    }),
    /^t12d0[12]/,
  )
})

/** What `openssl s_client` of OpenSSL 3.0 offers. */
const OPENSSL_CIPHERS = numbers(
  [
    '1302,1303,1301,c02c,c030,009f,cca9,cca8,ccaa,c02b,c02f,009e,c024,c028,006b,c023',
    'c027,0067,c00a,c014,0039,c009,c013,0033,009d,009c,003d,003c,0035,002f,00ff',
  ].join(),
)

test('the ciphers of OpenSSL have the hash that is published for them', () => {
  const hello = { ...CHROME, cipherSuites: OPENSSL_CIPHERS }
  assert.match(ja4Of(hello), /^t13d3116h2_e8f1e7e78f70_/)
})
