import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../../test/support/random.ts'
import { parseProxyProtocol } from './proxy-protocol.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

/** A version 2 header; `length` is that of the addresses and TLVs. */
function version2(command: number, family: number, rest: Buffer, length = rest.length): Buffer {
  return Buffer.concat([
    Buffer.from(SIGNATURE, 'latin1'),
    Buffer.of(command, family, length >> 8, length & 255),
    rest,
  ])
}

const text = (line: string) => Buffer.from(line, 'latin1')
const IPV4 = Buffer.of(192, 0, 2, 7, 10, 0, 0, 1, 0x1f, 0x90, 0x01, 0xbb)
const IPV6 = Buffer.from(`20010db8${'0'.repeat(23)}720010db8${'0'.repeat(23)}11f9001bb`, 'hex')
const addresses = (remoteAddress: string, localAddress: string) => ({
  remoteAddress,
  remotePort: 8080,
  localAddress,
  localPort: 443,
})

const HEADERS: Record<string, [Buffer, unknown]> = {
  'version 1, IPv4': [text('PROXY TCP4 192.0.2.7 10.0.0.1 8080 443\r\n'), addresses('192.0.2.7', '10.0.0.1')],
  'version 1, IPv6': [
    text('PROXY TCP6 2001:DB8:0::7 2001:db8::1 8080 443\r\n'),
    addresses('2001:db8::7', '2001:db8::1'),
  ],
  'version 1, IPv4 in IPv6': [
    text('PROXY TCP6 ::ffff:192.0.2.7 ::ffff:a00:1 8080 443\r\n'),
    addresses('192.0.2.7', '10.0.0.1'),
  ],
  'version 1, unknown': [text('PROXY UNKNOWN\r\n'), undefined],
  'version 1, unknown with addresses': [text(`PROXY UNKNOWN ${'f'.repeat(91)}\r\n`), undefined],
  'version 2, IPv4': [version2(0x21, 0x11, IPV4), addresses('192.0.2.7', '10.0.0.1')],
  'version 2, IPv6': [version2(0x21, 0x21, IPV6), addresses('2001:db8::7', '2001:db8::1')],
  'version 2 with TLVs': [
    version2(0x21, 0x11, Buffer.concat([IPV4, Buffer.of(4, 0, 2, 9, 9), Buffer.alloc(4000, 4)])),
    addresses('192.0.2.7', '10.0.0.1'),
  ],
  'version 2, local': [version2(0x20, 0x00, Buffer.alloc(0)), undefined],
  'version 2, local with addresses': [version2(0x20, 0x11, IPV4), undefined],
  'version 2, unspecified': [version2(0x21, 0x00, Buffer.of(1, 2, 3)), undefined],
  'version 2, UNIX socket': [version2(0x21, 0x31, Buffer.alloc(216)), undefined],
}

for (const [name, [header, expected]] of Object.entries(HEADERS))
  test(`a PROXY protocol header is read once it is complete: ${name}`, () => {
    for (let length = 0; length < header.length; length++)
      assert.equal(parseProxyProtocol(header.subarray(0, length)), 'incomplete', `after ${length} bytes`)

    const result = parseProxyProtocol(Buffer.concat([header, text('GET /')]))

    assert.deepEqual(result, { length: header.length, addresses: expected })
  })

const INVALID: Record<string, Buffer> = {
  'another protocol': text('G'),
  TLS: Buffer.of(0x16),
  'lower case': text('proxy TCP4 192.0.2.7 10.0.0.1 8080 443\r\n'),
  'a line that is too long': text(`PROXY UNKNOWN ${'f'.repeat(107)}`),
  'a word that begins with UNKNOWN': text('PROXY UNKNOWNS\r\n'),
  UDP: text('PROXY UDP4 192.0.2.7 10.0.0.1 8080 443\r\n'),
  'IPv6 as IPv4': text('PROXY TCP4 2001:db8::7 10.0.0.1 8080 443\r\n'),
  'IPv4 as IPv6': text('PROXY TCP6 192.0.2.7 10.0.0.1 8080 443\r\n'),
  'an octal address': text('PROXY TCP4 192.0.2.07 10.0.0.1 8080 443\r\n'),
  'a leading zero in a port': text('PROXY TCP4 192.0.2.7 10.0.0.1 08080 443\r\n'),
  'a port that is too large': text('PROXY TCP4 192.0.2.7 10.0.0.1 65536 443\r\n'),
  'two spaces': text('PROXY TCP4  192.0.2.7 10.0.0.1 8080 443\r\n'),
  'a word too many': text('PROXY TCP4 192.0.2.7 10.0.0.1 8080 443 1\r\n'),
  'a bare line feed': text(`PROXY TCP4 192.0.2.7 10.0.0.1 8080 443\n${' '.repeat(80)}`),
  'a broken signature': text('\r\n\r\n\0\r\nQUIX'),
  'version 1 in the binary form': version2(0x11, 0x11, IPV4),
  'an unknown command': version2(0x22, 0x11, IPV4),
  'datagrams over IPv4': version2(0x21, 0x12, IPV4),
  'an unknown family': version2(0x21, 0x41, IPV4),
  'addresses that are too short': version2(0x21, 0x11, IPV4.subarray(1)),
  'more than 4 KiB': version2(0x21, 0x11, Buffer.alloc(0), 4081),
}

for (const [name, bytes] of Object.entries(INVALID))
  test(`a PROXY protocol header is rejected: ${name}`, () => {
    assert.equal(parseProxyProtocol(bytes), 'invalid')
  })

test('20,000 mutated PROXY protocol headers are read alike whole and in parts, or rejected', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const originals = Object.values(HEADERS).map(([header]) => header)
  for (const _ of rounds(20_000)) {
    const bytes = mutate(random, random.pick(originals))
    const whole = parseProxyProtocol(bytes)

    const part = parseProxyProtocol(bytes.subarray(0, random.below(bytes.length + 1)))

    if (part !== 'incomplete') assert.deepEqual(part, whole)
    if (typeof whole === 'string') continue
    assert.ok(whole.length <= bytes.length)
    // What was read can be written in its canonical form and read again.
    if (whole.addresses === undefined) continue
    const { remoteAddress, remotePort, localAddress, localPort } = whole.addresses
    if (remoteAddress.includes(':') !== localAddress.includes(':')) continue
    const family = remoteAddress.includes(':') ? 'TCP6' : 'TCP4'
    const line = text(`PROXY ${family} ${remoteAddress} ${localAddress} ${remotePort} ${localPort}\r\n`)
    assert.deepEqual(parseProxyProtocol(line), { length: line.length, addresses: whole.addresses })
  }
})
