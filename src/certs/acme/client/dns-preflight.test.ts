import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDns } from './dns-preflight.ts'
import { type NameResolver, ResolverError } from './resolver.ts'
import type { Subject } from './subject.ts'

const base = 'adit.test'
const target = 'abc.def.cname.adit.test'
const alias = 'xyz.acme-challenge.adit.test'
const nameServers = [1, 2, 3, 4].map((number) => `ns${number}.adit.test`)
const plain: Subject = {
  kind: 'domain',
  id: 'rd_1',
  account: 'ac_1',
  domain: 'shop.example.com',
  names: ['shop.example.com'],
  keyType: 'rsa',
  challenge: 'http-01',
  challengeAlias: undefined,
  cnameTarget: target,
}
const wildcard: Subject = {
  ...plain,
  domain: '*.apps.example.com',
  names: ['*.apps.example.com'],
  challenge: 'dns-01',
  challengeAlias: alias,
}
const ingress: Subject = {
  ...plain,
  kind: 'ingress',
  domain: 'agents.example.com',
  challenge: 'dns-01',
  cnameTarget: undefined,
}
const platform: Subject = {
  ...ingress,
  kind: 'platform',
  domain: base,
  challengeAlias: `platform.acme-challenge.${base}`,
}

type Records = Record<string, { a?: string[]; cname?: string; ns?: string[]; fails?: 'domain' | 'resolver' }>

/** A DNS of a few records. */
function createDns(records: Records): NameResolver {
  const recordsOf = (name: string) => {
    const { fails } = records[name] ?? {}
    if (fails !== undefined) throw new ResolverError(fails, `The name ${name} could not be looked up.`)
    return records[name] ?? {}
  }
  const addresses = async (name: string): Promise<string[]> => {
    const { a, cname } = recordsOf(name)
    return a ?? (cname === undefined ? [] : addresses(cname))
  }
  return {
    addresses,
    cname: async (name) => (recordsOf(name).cname === undefined ? [] : [recordsOf(name).cname!]),
    ns: async (name) => recordsOf(name).ns ?? [],
    txt: async () => [],
  }
}

const ours: Records = { [target]: { a: ['192.0.2.1'] } }

const fine: [string, Subject, Records][] = [
  ['a CNAME to the target', plain, { ...ours, 'shop.example.com': { cname: target } }],
  [
    'a chain of CNAMEs to the target',
    plain,
    { ...ours, 'shop.example.com': { cname: 'www.example.com' }, 'www.example.com': { cname: target } },
  ],
  ['our address, where no CNAME can stand', plain, { ...ours, 'shop.example.com': { a: ['192.0.2.1'] } }],
  ['the challenge CNAME of a wildcard', wildcard, { '_acme-challenge.apps.example.com': { cname: alias } }],
  ['a delegation to some of our servers', ingress, { 'agents.example.com': { ns: nameServers.slice(0, 2) } }],
  ['the platform delegated to itself', platform, { 'adit.test': { ns: nameServers } }],
  [
    'the platform at another provider, with an alias for its challenge',
    platform,
    {
      'adit.test': { ns: ['ns.provider.example'] },
      '_acme-challenge.adit.test': { cname: `platform.acme-challenge.${base}` },
    },
  ],
]

for (const [name, subject, records] of fine)
  test(`the preflight passes for ${name}`, async () => {
    assert.equal(await checkDns(subject, { resolver: createDns(records), base, nameServers }), undefined)
  })

const wrong: [string, Subject, Records, 'DNS_ERROR' | 'INTERNAL_ERROR', RegExp][] = [
  ['no record at all', plain, ours, 'DNS_ERROR', /does not resolve yet.*CNAME.*abc\.def\.cname/],
  [
    'an address elsewhere',
    plain,
    { ...ours, 'shop.example.com': { a: ['192.0.2.1', '203.0.113.9'] } },
    'DNS_ERROR',
    /points to 203\.0\.113\.9/,
  ],
  [
    'the target of another reservation',
    plain,
    {
      ...ours,
      'shop.example.com': { cname: 'other.acc.cname.adit.test' },
      'other.acc.cname.adit.test': { a: ['192.0.2.1'] },
    },
    'DNS_ERROR',
    /another reserved domain/,
  ],
  [
    'a CNAME loop',
    plain,
    {
      ...ours,
      'shop.example.com': { cname: 'b.example.com', a: [] },
      'b.example.com': { cname: 'shop.example.com' },
    },
    'DNS_ERROR',
    /does not resolve/,
  ],
  [
    'a target that the platform itself does not serve',
    plain,
    { 'shop.example.com': { cname: target } },
    'INTERNAL_ERROR',
    /adit server check/,
  ],
  [
    'servers of the domain that fail',
    plain,
    { ...ours, 'shop.example.com': { fails: 'domain' } },
    'DNS_ERROR',
    /Check the DNS setup of shop\.example\.com/,
  ],
  [
    'our own resolver does not work',
    plain,
    { ...ours, 'shop.example.com': { fails: 'resolver' } },
    'INTERNAL_ERROR',
    /resolver does not answer/,
  ],
  [
    'a wildcard without its challenge CNAME',
    wildcard,
    {},
    'DNS_ERROR',
    /has no CNAME record.*xyz\.acme-challenge/,
  ],
  [
    'a challenge CNAME that leads elsewhere',
    wildcard,
    { '_acme-challenge.apps.example.com': { cname: 'a.b.c' } },
    'DNS_ERROR',
    /points to a\.b\.c/,
  ],
  ['an ingress that is not delegated', ingress, {}, 'DNS_ERROR', /not delegated yet.*ns1\.adit\.test/],
  [
    'an ingress delegated to others as well',
    ingress,
    { 'agents.example.com': { ns: [...nameServers, 'ns.other.example'] } },
    'DNS_ERROR',
    /delegated to ns\.other\.example/,
  ],
  [
    'a platform that is not delegated',
    platform,
    { 'adit.test': { ns: ['ns.provider.example'] } },
    'DNS_ERROR',
    /not delegated to this server/,
  ],
]

for (const [name, subject, records, code, sentence] of wrong)
  test(`${name}: ${code}`, async () => {
    const problem = await checkDns(subject, { resolver: createDns(records), base, nameServers })

    assert.equal(problem?.code, code)
    assert.match(problem.msg, sentence)
  })
