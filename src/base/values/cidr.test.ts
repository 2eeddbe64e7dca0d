import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalAddress, formatCidr, parseCidr } from './cidr.ts'

test('a range is an address with its mask, or an address alone', () => {
  for (const [input, text, bits] of [
    ['10.0.0.0/8', '10.0.0.0/8', 8],
    [' 192.0.2.1 ', '192.0.2.1/32', 32],
    ['0.0.0.0/0', '0.0.0.0/0', 0],
    ['2001:DB8::/32', '2001:db8::/32', 32],
    ['2001:db8::1', '2001:db8::1/128', 128],
    ['::ffff:10.0.0.0/104', '::ffff:10.0.0.0/104', 8],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1/128', 32],
  ] as const) {
    const range = parseCidr(input)
    assert.deepEqual([range.text, range.bits], [text, bits])
    assert.deepEqual(parseCidr(range.text), range)
  }
})

test('anything else is rejected', () => {
  for (const text of [
    ...[
      '',
      '/',
      '/8',
      '10.0.0.0/',
      '10.0.0.0/33',
      '10.0.0.0/08',
      '10.0.0.0/-1',
      '10.0.0.1/8',
      '10.0.0',
      '10.0.0.0/8/8',
      'x/10.0.0.0/8',
    ],
    ...[
      '2001:db8::/129',
      '2001:db8::1/64',
      '::ffff:10.0.0.0/8',
      'fe80::1%eth0',
      'example.com',
      'example.com/8',
    ],
  ])
    assert.throws(() => parseCidr(text), Error, text)
})

test('the rejection names what is wrong', () => {
  assert.throws(() => parseCidr('/8'), /"\/8" is not in CIDR notation/)
  assert.throws(() => parseCidr('example.com/8'), /"example\.com" is not an IPv4 or IPv6 address/)
})

test('every spelling of an address has the same canonical form, and any other text has none', () => {
  for (const [name, ...spellings] of [
    ['10.1.2.3', '10.1.2.3', '::ffff:10.1.2.3', '::FFFF:a01:203'],
    ['2001:db8::1', '2001:DB8::1', '2001:db8:0:0:0:0:0:1', '2001:0db8::0001'],
  ] as const)
    for (const spelling of spellings) assert.equal(canonicalAddress(spelling), name, spelling)
  for (const text of ['', 'example.com', '10.1.2', 'fe80::1%eth0'])
    assert.equal(canonicalAddress(text), undefined, text)
})

test('every spelling of a range has the same canonical form', () => {
  for (const [name, ...spellings] of [
    ['2001:db8::/64', '2001:db8::/64', '2001:DB8:0:0::/64', '2001:0db8:0000:0000:0:0:0:0/64'],
    ['::/0', '::/0', '0::/0', '0:0:0:0:0:0:0:0/0'],
    ['2001:db8::1/128', '2001:db8::1', '2001:db8::1/128', '2001:db8:0:0:0:0:0:1'],
    ['10.0.0.0/8', '10.0.0.0/8', '::ffff:10.0.0.0/104', '::ffff:a00:0/104'],
    ['255.1.2.3/32', '255.1.2.3', '255.1.2.3/32'],
  ] as const)
    for (const spelling of spellings) assert.equal(formatCidr(parseCidr(spelling)), name, spelling)
})
