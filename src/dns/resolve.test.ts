import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from 'dns-packet'
import { resolve } from './resolve.ts'
import { compileZones, type ZoneData } from './zone.ts'

const soa = {
  mname: 'ns1.example',
  rname: 'admin.example',
  serial: 1,
  refresh: 2,
  retry: 3,
  expire: 4,
  minimum: 60,
}
const zone = (origin: string, records: ZoneData['records']): ZoneData => ({
  origin,
  soa,
  ns: [`ns1.${origin}`, 'ns.elsewhere.test'],
  ttl: 300,
  records,
})

// The zone of RFC 4592 section 2.2.1, with a delegation, aliases and a second zone beside it.
const table = compileZones([
  zone('example', [
    { name: 'ns1.example', type: 'A', data: '192.0.2.53' },
    { name: 'ns1.example', type: 'AAAA', data: '2001:db8::53' },
    { name: '*.example', type: 'TXT', data: 'this is a wildcard' },
    { name: '*.example', type: 'A', data: '192.0.2.1' },
    { name: 'sub.*.example', type: 'TXT', data: 'this is not a wildcard' },
    { name: 'host1.example', type: 'A', data: '192.0.2.1' },
    { name: '_ssh._tcp.host1.example', type: 'TXT', data: 'service' },
    { name: 'subdel.example', type: 'NS', data: 'ns.subdel.example' },
    { name: 'ns.subdel.example', type: 'A', data: '192.0.2.99' },
    { name: 'nested.subdel.example', type: 'NS', data: 'ns.nested.example' },
    { name: 'alias.example', type: 'CNAME', data: 'host1.example' },
    { name: 'far.example', type: 'CNAME', data: 'a.other.test' },
    { name: 'away.example', type: 'CNAME', data: 'www.elsewhere.test' },
    { name: 'nowhere.example', type: 'CNAME', data: 'missing.host1.example' },
    { name: 'loop1.example', type: 'CNAME', data: 'loop2.example' },
    { name: 'loop2.example', type: 'CNAME', data: 'loop1.example' },
    { name: '*.alias-all.example', type: 'CNAME', data: 'host1.example' },
    { name: 'example', type: 'CAA', data: { tag: 'issue', value: 'ca.test' } },
  ]),
  zone('other.test', [{ name: 'a.other.test', type: 'A', data: '192.0.2.8', ttl: 5 }]),
  zone('deep.other.test', [{ name: 'x.deep.other.test', type: 'A', data: '192.0.2.9' }]),
])

const show = (record: Answer) => {
  if (record.type === 'SOA') return `${record.name} SOA`
  const data = 'data' in record ? record.data : ''
  return `${record.name} ${record.type} ${Array.isArray(data) ? data.join('') : typeof data === 'object' && !Buffer.isBuffer(data) ? JSON.stringify(data) : data}`
}

type Case = [
  question: string,
  rcode: string,
  answers: string[],
  authorities?: string[],
  additionals?: string[],
]
const nothing = ['example SOA']
const cases: Case[] = [
  ['host1.example A', 'NOERROR', ['host1.example A 192.0.2.1']],
  ['HoSt1.ExAmPlE A', 'NOERROR', ['HoSt1.ExAmPlE A 192.0.2.1']],
  ['host1.example TXT', 'NOERROR', [], nothing],
  ['host1.example MX', 'NOERROR', [], nothing],
  ['example SOA', 'NOERROR', ['example SOA']],
  ['example CAA', 'NOERROR', ['example CAA {"tag":"issue","value":"ca.test"}']],
  [
    'example NS',
    'NOERROR',
    ['example NS ns1.example', 'example NS ns.elsewhere.test'],
    [],
    ['ns1.example A 192.0.2.53', 'ns1.example AAAA 2001:db8::53'],
  ],
  ['example A', 'NOERROR', [], nothing],
  // Wildcards: the examples of RFC 4592 section 2.2.1.
  ['host3.example TXT', 'NOERROR', ['host3.example TXT this is a wildcard']],
  ['host3.example A', 'NOERROR', ['host3.example A 192.0.2.1']],
  ['host3.example AAAA', 'NOERROR', [], nothing],
  ['foo.bar.example TXT', 'NOERROR', ['foo.bar.example TXT this is a wildcard']],
  ['host1.example AAAA', 'NOERROR', [], nothing],
  ['sub.*.example TXT', 'NOERROR', ['sub.*.example TXT this is not a wildcard']],
  ['sub.*.example MX', 'NOERROR', [], nothing],
  ['_telnet._tcp.host1.example TXT', 'NXDOMAIN', [], nothing],
  ['ghost.*.example TXT', 'NXDOMAIN', [], nothing],
  ['*.example TXT', 'NOERROR', ['*.example TXT this is a wildcard']],
  // An empty non-terminal exists without records.
  ['_tcp.host1.example A', 'NOERROR', [], nothing],
  ['alias-all.example A', 'NOERROR', [], nothing],
  ['x.host1.example A', 'NXDOMAIN', [], nothing],
  // Delegation.
  [
    'subdel.example A',
    'NOERROR',
    [],
    ['subdel.example NS ns.subdel.example'],
    ['ns.subdel.example A 192.0.2.99'],
  ],
  [
    'host.subdel.example A',
    'NOERROR',
    [],
    ['subdel.example NS ns.subdel.example'],
    ['ns.subdel.example A 192.0.2.99'],
  ],
  // A delegation below another one is not ours to tell.
  [
    'host.nested.subdel.example A',
    'NOERROR',
    [],
    ['subdel.example NS ns.subdel.example'],
    ['ns.subdel.example A 192.0.2.99'],
  ],
  ['subdel.example DS', 'NOERROR', [], nothing],
  // Aliases.
  ['alias.example A', 'NOERROR', ['alias.example CNAME host1.example', 'host1.example A 192.0.2.1']],
  ['alias.example CNAME', 'NOERROR', ['alias.example CNAME host1.example']],
  ['alias.example TXT', 'NOERROR', ['alias.example CNAME host1.example'], nothing],
  [
    'q.alias-all.example A',
    'NOERROR',
    ['q.alias-all.example CNAME host1.example', 'host1.example A 192.0.2.1'],
  ],
  ['far.example A', 'NOERROR', ['far.example CNAME a.other.test', 'a.other.test A 192.0.2.8']],
  ['away.example A', 'NOERROR', ['away.example CNAME www.elsewhere.test']],
  ['nowhere.example A', 'NXDOMAIN', ['nowhere.example CNAME missing.host1.example'], nothing],
  ['loop1.example A', 'NOERROR', ['loop1.example CNAME loop2.example', 'loop2.example CNAME loop1.example']],
  // Zones.
  ['x.deep.other.test A', 'NOERROR', ['x.deep.other.test A 192.0.2.9']],
  ['y.deep.other.test A', 'NXDOMAIN', [], ['deep.other.test SOA']],
  ['www.elsewhere.test A', 'REFUSED', []],
  ['test A', 'REFUSED', []],
  ['notexample A', 'REFUSED', []],
  // ANY gets a minimal response; a missing name is still NXDOMAIN.
  ['host1.example ANY', 'NOERROR', ['host1.example HINFO {"cpu":"RFC8482","os":""}']],
  ['alias.example ANY', 'NOERROR', ['alias.example HINFO {"cpu":"RFC8482","os":""}']],
  ['x.host1.example ANY', 'NXDOMAIN', [], nothing],
]

for (const [question, rcode, answers, authorities = [], additionals = []] of cases) {
  test(`${question} resolves to ${rcode} and ${answers.length} records`, () => {
    const [name = '', type = ''] = question.split(' ')

    const resolution = resolve(table, name, type)

    assert.equal(resolution.rcode, rcode)
    assert.deepEqual(resolution.answers.map(show), answers)
    assert.deepEqual(resolution.authorities.map(show), authorities)
    assert.deepEqual(resolution.additionals.map(show), additionals)
    const ours = rcode !== 'REFUSED' && !authorities.some((line) => line.includes(' NS '))
    assert.equal(resolution.authoritative, ours)
  })
}

test("records keep their own TTL, and negative responses have the smaller of the zone's", () => {
  const positive = resolve(table, 'far.example', 'A').answers.map((record) => 'ttl' in record && record.ttl)
  const negative = resolve(table, 'x.host1.example', 'A').authorities.map(
    (record) => 'ttl' in record && record.ttl,
  )

  assert.deepEqual([positive, negative], [[300, 5], [60]])
})

test('responses that differ only in the queried name are of one kind', () => {
  const kinds = (...names: string[]) => new Set(names.map((name) => resolve(table, name, 'A').kind)).size

  assert.equal(kinds('a.example', 'b.example', 'c.d.example'), 1)
  assert.equal(kinds('a.host1.example', 'b.host1.example'), 1)
  assert.equal(kinds('a.test', 'b.test'), 1)
  assert.equal(kinds('host1.example', 'ns1.example', 'a.example'), 3)
})

test('invalid zones do not compile', () => {
  const bad: ZoneData['records'] = [
    { name: 'elsewhere.test', type: 'A', data: '192.0.2.1' },
    { name: 'a.example', type: 'A', data: '2001:db8::1' },
    { name: 'a.example', type: 'AAAA', data: '192.0.2.1' },
    { name: 'A.example', type: 'A', data: '192.0.2.1' },
    { name: 'a..example', type: 'A', data: '192.0.2.1' },
    { name: `${'a'.repeat(64)}.example`, type: 'A', data: '192.0.2.1' },
    { name: 'a.example', type: 'CNAME', data: 'not a name' },
    { name: 'example', type: 'CNAME', data: 'a.example' },
  ]

  for (const record of bad)
    assert.throws(() => compileZones([zone('example', [record])]), Error, JSON.stringify(record))
})

test('an alias beside another record does not compile', () => {
  const records: ZoneData['records'] = [
    { name: 'a.example', type: 'CNAME', data: 'b.example' },
    { name: 'a.example', type: 'TXT', data: 'x' },
  ]

  assert.throws(() => compileZones([zone('example', records)]), /CNAME/)
})
