import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { type CheckedSettings, type CheckWorld, checkSetup, describeFindings } from './check.ts'

const DIRECTORY = 'https://ca.example/directory'
const settings: CheckedSettings = {
  domain: 'tunnels.example.com',
  publicIps: ['93.184.216.34'],
  httpAddr: { host: '0.0.0.0', port: 80 },
  httpsAddr: { host: '0.0.0.0', port: 443 },
  agentAddr: { host: '0.0.0.0', port: 4443 },
  sshAddr: { host: '0.0.0.0', port: 2222 },
  dnsAddr: { host: '0.0.0.0', port: 53 },
  publicHttpPort: undefined,
  publicHttpsPort: undefined,
  acmeDirectory: DIRECTORY,
}
const servers = [1, 2, 3, 4].map((number) => `ns${number}.tunnels.example.com`)

/** A world in which everything is in order. */
const fine: CheckWorld = {
  resolver: {
    addresses: async () => ['93.184.216.34'],
    cname: async () => [],
    ns: async () => servers,
    txt: async () => [],
  },
  dial: async () => {},
  askDns: async () => ({ rcode: 'NOERROR', authoritative: true, answers: 1 }),
  certificate: async () => ({ trusted: true, reason: '' }),
  fetch: async () =>
    new Response(JSON.stringify({ newOrder: 'https://ca.example/new-order' }), {
      headers: { date: new Date().toUTCString() },
    }),
  clock: systemClock,
}

async function failures(change: Partial<CheckedSettings>, world: Partial<CheckWorld>) {
  const findings = await checkSetup({ ...settings, ...change }, { ...fine, ...world })
  return findings.filter(({ state }) => state === 'failed')
}

test('when everything is in order, every link is named and nothing is to do', async () => {
  const findings = await checkSetup(settings, fine)

  assert.ok(findings.every(({ state, todo }) => state === 'ok' && todo === undefined))
  assert.deepEqual(
    findings.map(({ link }) => link),
    [
      'public addresses',
      ...['http port', 'https port', 'agent port', 'ssh port'],
      ...['own DNS server (udp)', 'own DNS server (tcp)'],
      ...['delegation', 'domain', 'wildcard', 'CNAME targets', 'challenges'],
      ...['certificate', 'ACME directory', 'clock'],
    ],
  )
  assert.match(describeFindings(findings), /Nothing is broken/)
})

test('a name of one machine has no public set-up', async () => {
  const [finding, ...others] = await checkSetup({ ...settings, domain: 'adit.localhost' }, fine)

  assert.equal(others.length, 0)
  assert.equal(finding?.state, 'skipped')
  assert.match(finding.todo ?? '', /--domain/)
})

const no = async (): Promise<never> => {
  throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
}

const broken: [string, Partial<CheckedSettings>, Partial<CheckWorld>, string, RegExp][] = [
  ['a private address', { publicIps: ['10.0.0.5'] }, {}, 'public addresses', /--public-ips/],
  [
    'a closed port',
    {},
    { dial: async (_host, port) => (port === 443 ? no() : undefined) },
    'https port',
    /firewall lets TCP port 443 in/,
  ],
  [
    'HTTP on another port than 80',
    { httpAddr: { host: '0.0.0.0', port: 8080 } },
    {},
    'http port',
    /--public-http-port 80/,
  ],
  ['DNS that does not answer', {}, { askDns: no }, 'own DNS server (udp)', /UDP port 53/],
  [
    'another DNS server in the way',
    {},
    { askDns: async () => ({ rcode: 'REFUSED', authoritative: false, answers: 0 }) },
    'own DNS server (tcp)',
    /Stop whatever listens/,
  ],
  [
    'no delegation',
    {},
    { resolver: { ...fine.resolver, ns: async () => [] } },
    'delegation',
    /tunnels\.example\.com\. NS ns1\.tunnels\.example\.com\..*ns1\.tunnels\.example\.com\. A 93\.184\.216\.34/s,
  ],
  [
    'a delegation to others',
    {},
    { resolver: { ...fine.resolver, ns: async () => ['ns.registrar.example'] } },
    'challenges',
    /_acme-challenge\.tunnels\.example\.com\. CNAME/,
  ],
  [
    'no wildcard',
    {},
    {
      resolver: {
        ...fine.resolver,
        addresses: async (name) => (name === 'tunnels.example.com' ? ['93.184.216.34'] : []),
      },
    },
    'wildcard',
    /\*\.tunnels\.example\.com\. A 93\.184\.216\.34/,
  ],
  [
    'a domain that leads elsewhere',
    {},
    { resolver: { ...fine.resolver, addresses: async () => ['203.0.113.1'] } },
    'domain',
    /tunnels\.example\.com\. A 93\.184\.216\.34/,
  ],
  ['a resolver that fails', {}, { resolver: { ...fine.resolver, addresses: no } }, 'domain', /create/],
  [
    'a certificate nobody trusts',
    {},
    { certificate: async () => ({ trusted: false, reason: 'SELF_SIGNED_CERT_IN_CHAIN' }) },
    'certificate',
    /adit server certs/,
  ],
  ['no ACME directory', { acmeDirectory: undefined }, {}, 'ACME directory', /--acme-directory https/],
  ['an authority out of reach', {}, { fetch: no }, 'ACME directory', /--outbound-allow/],
  [
    'an address that is no directory',
    {},
    { fetch: async () => new Response('hello') },
    'ACME directory',
    /Check the address/,
  ],
  [
    'a clock that is wrong',
    {},
    { clock: { ...systemClock, now: () => Date.now() + 3_600_000 } },
    'clock',
    /timedatectl/,
  ],
]

for (const [name, change, world, link, todo] of broken)
  test(`${name}: the broken link is named with what to do`, async () => {
    const found = (await failures(change, world)).find((finding) => finding.link === link)

    assert.ok(found, `nothing is said about ${link}`)
    assert.match(found.todo ?? '', todo)
    assert.match(describeFindings([found]), /^FAILED/)
  })

test('a domain that stays with another provider is fine when its records are complete', async () => {
  const ns = async (name: string) => (name.startsWith('acme-challenge.') ? servers : ['ns.provider.example'])

  const findings = await checkSetup(settings, { ...fine, resolver: { ...fine.resolver, ns } })

  const delegation = findings.find(({ link }) => link === 'delegation')
  assert.equal(delegation?.state, 'skipped')
  assert.match(delegation.found, /ns\.provider\.example, and its records there are complete/)
})

test('what is switched off is not called broken', async () => {
  const found = await failures(
    { sshAddr: undefined, dnsAddr: undefined, httpsAddr: undefined },
    { askDns: no },
  )

  assert.deepEqual(found, [])
})
