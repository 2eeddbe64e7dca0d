import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolve } from './resolve.ts'
import { compileZones } from './zone.ts'
import { buildZones, nameServerNames, type ZoneSnapshot } from './zones.ts'

const snapshot: ZoneSnapshot = {
  base: 'adit.example',
  addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
  regions: [
    { region: 'us', addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] },
    { region: 'eu', addresses: ['198.51.100.1'] },
  ],
  ingresses: [{ domain: 'agents.example.org', account: 'ac_1', managed: true }],
  challenges: [
    { name: '_acme-challenge.adit.example', value: 'one' },
    { name: '_acme-challenge.adit.example', value: 'two' },
    { name: 'abc.acme-challenge.adit.example', value: 'three' },
    { name: '_acme-challenge.tunnel.eu.agents.example.org', value: 'four' },
    { name: '_acme-challenge.team.adit.example', value: 'five' },
    { name: '_acme-challenge.somebody.else', value: 'not ours' },
  ],
  caa: ['ca.example'],
  serial: 7,
}

/** The data of the answer records, as strings. */
function lookup(name: string, type: string, from: ZoneSnapshot = snapshot): string[] {
  return resolve(compileZones(buildZones(from)), name, type)
    .answers.filter((answer) => answer.type === type)
    .map((answer) => {
      const { data } = answer as { data: unknown }
      if (Array.isArray(data)) return data.map(String).join('')
      return typeof data === 'object' ? JSON.stringify(data) : String(data)
    })
}

const rcode = (name: string, type = 'A') => resolve(compileZones(buildZones(snapshot)), name, type).rcode

test('the base domain and every name below it resolve to the platform', () => {
  const all = ['192.0.2.1', '192.0.2.2']

  assert.deepEqual(lookup('adit.example', 'A'), all)
  assert.deepEqual(lookup('anything.adit.example', 'A'), all)
  assert.deepEqual(lookup('deep.down.adit.example', 'AAAA'), ['2001:db8::1'])
  assert.deepEqual(lookup('adit.example', 'NS'), nameServerNames('adit.example'))
})

test('the four name servers share the available addresses', () => {
  const addresses = [1, 2, 3, 4].map((number) => lookup(`ns${number}.adit.example`, 'A'))

  assert.deepEqual(addresses, [['192.0.2.1'], ['192.0.2.2'], ['192.0.2.1'], ['192.0.2.2']])
  assert.deepEqual(lookup('ns4.adit.example', 'AAAA'), ['2001:db8::1'])
})

test('the CNAME targets of reserved domains resolve to the platform', () => {
  assert.deepEqual(lookup('target.account.cname.adit.example', 'A'), ['192.0.2.1', '192.0.2.2'])
  assert.equal(rcode('target.account.cname.adit.example', 'TXT'), 'NOERROR')
})

test('challenges are served in the zone they belong to', () => {
  assert.deepEqual(lookup('_acme-challenge.adit.example', 'TXT'), ['one', 'two'])
  assert.deepEqual(lookup('abc.acme-challenge.adit.example', 'TXT'), ['three'])
  assert.deepEqual(lookup('_acme-challenge.tunnel.eu.agents.example.org', 'TXT'), ['four'])
  assert.equal(rcode('none.acme-challenge.adit.example', 'TXT'), 'NXDOMAIN')
  assert.equal(rcode('_acme-challenge.somebody.else', 'TXT'), 'REFUSED')
})

test('a challenge below a name takes no address away, neither its own nor that of what a wildcard below it serves', () => {
  for (const name of ['team.adit.example', 'pr-42.team.adit.example', 'a.b.team.adit.example'])
    assert.deepEqual(lookup(name, 'A'), ['192.0.2.1', '192.0.2.2'], name)
})

test('an agent ingress has its own zone with a name for each region', () => {
  const { authoritative, authorities } = resolve(
    compileZones(buildZones(snapshot)),
    'missing.agents.example.org',
    'A',
  )

  assert.deepEqual(lookup('agents.example.org', 'NS'), nameServerNames('adit.example'))
  assert.deepEqual(lookup('agents.example.org', 'A'), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(lookup('tunnel.us.agents.example.org', 'A'), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(lookup('tunnel.eu.agents.example.org', 'A'), ['198.51.100.1'])
  assert.deepEqual([authoritative, authorities[0]?.name], [true, 'agents.example.org'])
})

test('CAA records name the authority in use, and only where it signs for the platform', () => {
  const unmanaged = { ...snapshot.ingresses[0]!, managed: false }

  assert.match(lookup('adit.example', 'CAA').join(), /"value":"ca.example"/)
  assert.match(lookup('agents.example.org', 'CAA').join(), /"value":"ca.example"/)
  assert.deepEqual(lookup('agents.example.org', 'CAA', { ...snapshot, ingresses: [unmanaged] }), [])
  // A record at the target of a CNAME would forbid users the certificates of any other authority.
  assert.deepEqual(lookup('target.account.cname.adit.example', 'CAA'), [])
  assert.deepEqual(lookup('adit.example', 'CAA', { ...snapshot, caa: [] }), [])
})

test('an account gets no zone inside a zone of another account', () => {
  const ingresses = [
    ...snapshot.ingresses,
    { domain: 'mine.agents.example.org', account: 'ac_2', managed: true },
    { domain: 'sub.agents.example.org', account: 'ac_1', managed: true },
  ]

  const origins = buildZones({ ...snapshot, ingresses }).map(({ origin }) => origin)

  assert.ok(!origins.includes('mine.agents.example.org'))
  assert.ok(origins.includes('sub.agents.example.org'))
})
