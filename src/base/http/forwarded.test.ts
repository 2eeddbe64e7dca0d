import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { compileRules } from '../values/ip-rules.ts'
import { type ClientField, type ForwardingFields, findClient } from './forwarded.ts'

const isTrusted = compileRules([
  { cidr: '10.0.0.0/8', action: 'allow' },
  { cidr: 'fd00::/8', action: 'allow' },
])
const find = (field: ClientField, fields: ForwardingFields) =>
  findClient('10.0.0.1', fields, { isTrusted, field })

/** The client as text; empty when the request has to be rejected. */
function describe(field: ClientField, fields: ForwardingFields): string {
  const client = find(field, fields)
  return client === undefined ? '' : `${client.address} ${client.port} ${client.scheme ?? '-'}`
}

const CHAINS: [string, string][] = [
  ['192.0.2.7', '192.0.2.7 0 -'],
  // What stands left of the right-most untrusted address is what that client claims.
  ['6.6.6.6, 192.0.2.7', '192.0.2.7 0 -'],
  ['6.6.6.6,192.0.2.7 ,\t10.1.2.3', '192.0.2.7 0 -'],
  ['nonsense, 192.0.2.7', '192.0.2.7 0 -'],
  [', 192.0.2.7', '192.0.2.7 0 -'],
  // All are proxies: the first is a client of the same network.
  ['10.9.9.9, 10.1.2.3', '10.9.9.9 0 -'],
  ['192.0.2.7:4711', '192.0.2.7 4711 -'],
  ['2001:DB8:0::7', '2001:db8::7 0 -'],
  ['[2001:db8::7]:4711, fd00::1', '2001:db8::7 4711 -'],
  ['::ffff:192.0.2.7', '192.0.2.7 0 -'],
  ['', ''],
  ['unknown', ''],
  ['unknown, 10.1.2.3', ''],
  ['192.0.2.7,', ''],
  ['192.0.2.7:99999', ''],
  ['192.0.2.07', ''],
  ['[192.0.2.7', ''],
  ['fe80::1%eth0', ''],
]

for (const [chain, expected] of CHAINS)
  test(`X-Forwarded-For: ${chain || 'empty'} names ${expected || 'no client'}`, () => {
    assert.equal(describe('x-forwarded-for', { 'x-forwarded-for': chain }), expected)
  })

const ELEMENTS: [string, string][] = [
  ['for=192.0.2.7;proto=https;by=10.0.0.1', '192.0.2.7 0 https'],
  ['For="[2001:db8::7]:4711"; Proto="http"', '2001:db8::7 4711 http'],
  ['for=6.6.6.6, for=192.0.2.7;proto=https, for=10.1.2.3;proto=http', '192.0.2.7 0 https'],
  // The claim of a client that opens a quote ends where the element of the proxy begins.
  ['for="6.6.6.6, for=192.0.2.7', '192.0.2.7 0 -'],
  ['for=unknown', ''],
  ['for=_hidden', ''],
  ['proto=https', ''],
  ['for=192.0.2.7;proto=gopher', ''],
  ['for="192.0.2.7', ''],
  ['xfor=192.0.2.7', ''],
]

for (const [value, expected] of ELEMENTS)
  test(`Forwarded: ${value} names ${expected || 'no client'}`, () => {
    assert.equal(describe('forwarded', { forwarded: value }), expected)
  })

test('only the configured field is read, and without it the proxy is the client', () => {
  const fields = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.2', 'x-real-ip': '192.0.2.3' }

  assert.equal(find('x-forwarded-for', fields)?.address, '192.0.2.1')
  assert.equal(find('forwarded', fields)?.address, '192.0.2.2')
  assert.equal(find('x-real-ip', fields)?.address, '192.0.2.3')
  assert.equal(find('x-real-ip', { 'x-forwarded-for': '192.0.2.1' })?.address, '10.0.0.1')
  assert.equal(find('x-real-ip', { 'x-real-ip': '192.0.2.1, 192.0.2.2' }), undefined)
})

test('the scheme is that of X-Forwarded-Proto, of its last proxy, unless Forwarded is read', () => {
  const scheme = (proto: string, field: ClientField = 'x-forwarded-for') =>
    find(field, { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1', 'x-forwarded-proto': proto })
      ?.scheme

  assert.equal(scheme('HTTPS'), 'https')
  assert.equal(scheme('wss'), 'https')
  assert.equal(scheme('https, http'), 'http')
  assert.equal(scheme('https', 'forwarded'), undefined)
  assert.equal(find('x-forwarded-for', { 'x-forwarded-proto': 'toString' }), undefined)
})

test('20,000 mutated forwarding fields name an address or no client', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const originals = [...CHAINS, ...ELEMENTS].map(([value]) => Buffer.from(value, 'latin1'))
  for (const _ of rounds(20_000)) {
    const value = mutate(random, random.pick(originals)).toString('latin1')
    const field = random.pick(['x-forwarded-for', 'forwarded', 'x-real-ip'] as const)

    const client = find(field, { [field]: value, 'x-forwarded-proto': 'http' })

    if (client !== undefined) assert.notEqual(isIP(client.address), 0, JSON.stringify(value))
  }
})
