import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Data, writeMmdb } from '../../../test/support/mmdb-writer.ts'
import { parseAddress } from '../../base/values/cidr.ts'
import { Budget, compile } from '../../cel/index.ts'
import type { ConnectionSource } from '../activation.ts'
import { toJson } from '../value-text.ts'
import { environments } from '../variables/index.ts'
import { toWords } from './address-words.ts'
import { compileIpFile, type IpData, openIpData } from './ip-data.ts'

const SYDNEY: Data = {
  city: { names: { de: 'Sydney', en: 'Sydney' } },
  continent: { code: 'OC', names: { en: 'Oceania' } },
  country: { iso_code: 'AU', names: { en: 'Australia' } },
  registered_country: { iso_code: 'DE', is_in_european_union: true, names: { en: 'Germany' } },
  location: { latitude: -33.86, longitude: 151.2, accuracy_radius: 20, time_zone: 'Australia/Sydney' },
  postal: { code: '2000' },
  subdivisions: [{ iso_code: 'NSW', names: { en: 'New South Wales' } }],
}

const list = (text: string, category?: string) => compileIpFile(Buffer.from(text), category)

/** The value of an expression for a visitor with this address; undefined when it fails. */
function evaluate(data: IpData, expression: string, remoteAddress: string): unknown {
  const compilation = compile(expression, environments.on_tcp_connect)
  assert.ok(compilation.ok, expression)
  const conn: Partial<ConnectionSource> = { remoteAddress, ipFacts: (address) => data.lookUp(address) }
  try {
    const budget = new Budget()
    return toJson(compilation.program.evaluate({ budget, conn, results: {} }), budget)
  } catch {
    return undefined
  }
}

test('expressions read place, network and categories of the address', () => {
  const data = openIpData([
    writeMmdb([
      ['1.2.3.0/24', SYDNEY],
      ['2001:db8::/32', SYDNEY],
    ]),
    writeMmdb([
      ['1.2.0.0/16', { autonomous_system_number: 64_500, autonomous_system_organization: 'Example' }],
    ]),
    list('1.2.3.4,com.github.hooks\n1.2.3.0/24,blocklist.test'),
  ])
  const CASES: [expression: string, value: unknown][] = [
    ['conn.client_ip.geo.location.city', 'Sydney'],
    ['conn.client_ip.geo.location.country_code', 'AU'],
    ['conn.client_ip.geo.location.continent', 'Oceania'],
    ['conn.client_ip.geo.location.is_eu', false],
    ['conn.client_ip.geo.location.latitude', '-33.86'],
    ['conn.client_ip.geo.location.radius', '20'],
    ['conn.client_ip.geo.location.subdivision', 'New South Wales'],
    ['conn.client_ip.geo.location.timezone', 'Australia/Sydney'],
    ['conn.client_ip.geo.location.postal_code', '2000'],
    ['conn.client_ip.geo.registered_location.country', 'Germany'],
    ['conn.client_ip.geo.registered_location.is_eu', true],
    ['conn.geo.country', 'Australia'],
    ['conn.geo.longitude', '151.2'],
    ['conn.client_ip.as.number', 64_500],
    ['conn.client_ip.as.organization', 'Example'],
    ['conn.client_ip.categories', ['blocklist', 'blocklist.test', 'com', 'com.github', 'com.github.hooks']],
    ['conn.client_ip.is_on_blocklist', true],
    ['conn.client_ip.is_tor_node', false],
    ['has(conn.client_ip.geo.location.metro_code)', false],
    ["conn.client_ip == '1.2.3.4'", true],
    ["conn.client_ip in ['1.2.3.4']", true],
  ]
  for (const [expression, value] of CASES)
    assert.deepEqual(evaluate(data, expression, '1.2.3.4'), value, expression)
  assert.equal(evaluate(data, 'conn.client_ip.geo.location.city', '2001:db8::1'), 'Sydney')
  assert.equal(evaluate(data, 'conn.client_ip.geo.location.city', '::ffff:1.2.3.9'), 'Sydney')
})

test('what no file knows is absent', () => {
  const none = openIpData([])
  const places = openIpData([writeMmdb([['1.2.3.0/24', SYDNEY]])])
  const lists = openIpData([list('10.0.0.0/8 office')])
  const FIELDS = ['geo', 'as', 'categories', 'is_on_blocklist', 'is_tor_node']
  const presence = (data: IpData, address: string) =>
    FIELDS.filter((field) => evaluate(data, `has(conn.client_ip.${field})`, address) === true)

  assert.deepEqual(presence(none, '1.2.3.4'), [])
  assert.deepEqual(presence(places, '1.2.3.4'), ['geo'])
  assert.deepEqual(presence(places, '9.9.9.9'), [])
  assert.deepEqual(presence(lists, '9.9.9.9'), ['categories', 'is_on_blocklist', 'is_tor_node'])
  assert.equal(evaluate(places, 'has(conn.geo)', '9.9.9.9'), false)
})

for (const recordBits of [24, 28, 32] as const)
  test(`a database with records of ${recordBits} bits is read, for IPv4 alone too`, () => {
    const records = [
      ['0.0.0.0/1', { city: { names: { en: 'west' } } }],
      ['128.0.0.0/2', { city: { names: { en: 'east' } } }],
      ['1.2.3.4/32', { city: { names: { en: 'x'.repeat(300) } } }],
    ] as const
    for (const ipVersion of [4, 6] as const) {
      const data = openIpData([writeMmdb(records, { recordBits, ipVersion })])
      const city = (address: string) => data.lookUp(address)?.location?.city

      assert.equal(city('1.2.3.5'), 'west')
      assert.equal(city('130.0.0.1'), 'east')
      assert.equal(city('1.2.3.4'), 'x'.repeat(300))
      assert.equal(city('200.0.0.1'), undefined)
      assert.equal(city('2001:db8::1'), undefined)
    }
  })

test('overlapping ranges of a list give an address the categories of all', () => {
  const data = openIpData([
    list(
      [
        'range,category',
        '# private',
        '10.0.0.0/8\tPrivate',
        '"10.0.0.5","10.0.0.7","lab"',
        '10.0.0.6 one',
        '2001:db8::/32,office',
        'ffff::/16 top',
      ].join('\n'),
    ),
  ])
  const categories = (address: string) => data.lookUp(address)?.categories

  assert.deepEqual(categories('9.255.255.255'), [])
  assert.deepEqual(categories('10.0.0.4'), ['private'])
  assert.deepEqual(categories('10.0.0.5'), ['lab', 'private'])
  assert.deepEqual(categories('10.0.0.6'), ['lab', 'one', 'private'])
  assert.deepEqual(categories('10.0.0.7'), ['lab', 'private'])
  assert.deepEqual(categories('10.255.255.255'), ['private'])
  assert.deepEqual(categories('11.0.0.0'), [])
  assert.deepEqual(categories('2001:db8:ffff::'), ['office'])
  assert.deepEqual(categories('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'), ['top'])
  assert.equal(data.lookUp('not an address'), undefined)
  assert.equal(data.lookUp('010.0.0.5'), undefined)
})

test('files that cannot be used are explained', () => {
  const CASES: [bytes: Buffer, category: string | undefined, message: RegExp][] = [
    [Buffer.from('10.0.0.0/8'), undefined, /line 1: it has no category/],
    [Buffer.from('10.0.0.0/8\n10.0.0.300 x'), 'x', /line 2: "10.0.0.300" is not an IPv4/],
    [Buffer.from('10.0.0.9,10.0.0.1,x'), undefined, /line 1: 10.0.0.9 comes after 10.0.0.1/],
    [Buffer.from('10.0.0.0/8'), 'x/y', /"x\/y" is not a category/],
    [Buffer.from('# nothing'), undefined, /it has no ranges/],
    [Buffer.from([0xff, 0xfe, 1, 2]), undefined, /it is not a database in MMDB format/],
    [writeMmdb([['1.2.3.0/24', {}]]), 'x', /only a list of ranges can be given a category/],
  ]
  for (const [bytes, category, message] of CASES) assert.throws(() => compileIpFile(bytes, category), message)
})

test('a damaged or hostile database throws a sentence or knows nothing, and never hangs', () => {
  const whole = writeMmdb([
    ['1.2.3.0/24', SYDNEY],
    ['2001:db8::/32', { a: [1, 2.5, true, 'x'] }],
  ])
  let rejected = 0
  const tryFile = (bytes: Buffer) => {
    try {
      const data = openIpData([bytes])
      for (const address of ['1.2.3.4', '2001:db8::1', '255.255.255.255']) data.lookUp(address)
    } catch (error) {
      assert.ok(error instanceof Error && error.name === 'MmdbError', String(error))
      rejected++
    }
  }

  for (let length = 0; length < whole.length; length += 3) tryFile(whole.subarray(0, length))
  for (let index = 0; index < whole.length; index++)
    for (const byte of [0, 0x20, 0x3f, 0xe0, 0xff]) {
      const bytes = Buffer.from(whole)
      bytes[index] = byte
      tryFile(bytes)
    }

  assert.ok(rejected > 200, `${rejected} files were rejected`)
})

test('a record whose pointers multiply is given up', () => {
  // Each array holds the one before twice: 2^30 values in a few bytes.
  const whole = writeMmdb([['0.0.0.0/1', 'x'.repeat(200)]], { ipVersion: 4 })
  const start = whole.indexOf('xxx') - 3
  const chain = [0x41, 0x61]
  for (let target = 0; chain.length < 150; ) {
    const next = chain.length
    chain.push(0x02, 0x04, 0x20 | (target >> 8), target & 0xff, 0x20 | (target >> 8), target & 0xff)
    target = next
  }
  const bytes = Buffer.from(whole)
  const last = chain.length - 6
  bytes.set([0x20 | (last >> 8), last & 0xff], start)
  bytes.set(chain, start + 2)

  const facts = openIpData([bytes]).lookUp('1.2.3.4')

  assert.deepEqual(facts?.location, undefined)
})

test('addresses are parsed as everywhere else', () => {
  const words = new Uint32Array(4)
  const TEXTS = [
    ...['1.2.3.4', '255.255.255.255', '0.0.0.0', '::', '::1', '1::', 'fe80::1', '2001:db8::8:800:200c:417a'],
    ...['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7::', '::2:3:4:5:6:7:8', '::ffff:1.2.3.4', '64:ff9b::1.2.3.4'],
    ...['ABCD::Ef01', '1:2:3:4:5:6:1.2.3.4'],
    ...['', '1.2.3', '1.2.3.4.5', '1.2.3.256', '1..2.3', 'a', ':', ':::', '1:2', '1::2::3', '12345::', 'g::'],
    ...['1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:1.2.3.4', '::1.2.3', 'fe80::1%eth0', '1:', ':1', '1.2.3.4 '],
  ]
  for (const text of TEXTS) {
    const parsed = parseAddress(text)
    assert.equal(toWords(text, words), parsed !== undefined, text)
    if (parsed === undefined) continue
    const value = words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n)
    assert.equal(value, parsed.family === 4 ? parsed.value | 0xffff_0000_0000n : parsed.value, text)
  }
})
