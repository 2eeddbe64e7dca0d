import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../base/values/clock.ts'
import { ResolverError } from '../../certs/index.ts'
import { type CheckedSettings, checkNetwork, checkSetup, formatResults, type SystemProbes } from './check.ts'

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

/** Probes of a machine on which every check passes. */
const healthyProbes: SystemProbes = {
  resolver: {
    addresses: async () => ['93.184.216.34'],
    cname: async () => [],
    ns: async () => servers,
    txt: async () => [],
  },
  dial: async () => {},
  queryDns: async () => ({ rcode: 'NOERROR', authoritative: true, answers: 1 }),
  certificate: async () => ({ trusted: true, reason: '' }),
  fetch: async () =>
    new Response(JSON.stringify({ newOrder: 'https://ca.example/new-order' }), {
      headers: { date: new Date().toUTCString() },
    }),
  clock: systemClock,
}

async function failures(change: Partial<CheckedSettings>, probes: Partial<SystemProbes>) {
  const findings = await checkSetup({ ...settings, ...change }, { ...healthyProbes, ...probes })
  return findings.filter(({ state }) => state === 'failed')
}

test('when everything is in order, every check is listed and none has a remedy', async () => {
  const findings = await checkSetup(settings, healthyProbes)

  assert.ok(findings.every(({ state, remedy }) => state === 'ok' && remedy === undefined))
  assert.deepEqual(
    findings.map(({ check }) => check),
    [
      'public addresses',
      ...['http port', 'https port', 'agent port', 'ssh port'],
      ...['own DNS server (udp)', 'own DNS server (tcp)'],
      ...['delegation', 'domain', 'wildcard', 'CNAME targets', 'challenges'],
      ...['certificate', 'ACME directory', 'clock'],
    ],
  )
  assert.match(formatResults(findings), /All checks passed/)
})

test('a name of one machine has no public set-up', async () => {
  const [finding, ...others] = await checkSetup({ ...settings, domain: 'adit.localhost' }, healthyProbes)

  assert.equal(others.length, 0)
  assert.equal(finding?.state, 'skipped')
  assert.match(finding.remedy ?? '', /--domain/)
})

const refuseConnection = async (): Promise<never> => {
  throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
}

test('with a DNS provider, the domain stays there and the provider is asked for the zone', async () => {
  const foreign = { ...healthyProbes.resolver, ns: async () => ['ns.provider.example'] }
  const probes = { resolver: foreign, locateChallenge: async (name: string) => name }

  const findings = await checkSetup({ ...settings, dnsAddr: undefined }, { ...healthyProbes, ...probes })
  const rejected = await failures(
    {},
    {
      ...probes,
      locateChallenge: async () => {
        throw new Error('Cloudflare answered GET /zones with 403: Invalid access token (9109).')
      },
    },
  )

  assert.deepEqual(
    findings.filter(({ state }) => state === 'failed'),
    [],
  )
  assert.ok(findings.some(({ detail }) => detail.includes('at _acme-challenge.tunnels.example.com')))
  const challenges = rejected.find(({ check }) => check === 'challenges')
  assert.match(challenges?.detail ?? '', /Invalid access token/)
  assert.match(challenges?.remedy ?? '', /--dns-credentials/)
})

test('before the server runs, the records of a domain that is delegated to it are left to the check afterwards', async () => {
  const fail = async (name: string): Promise<never> => {
    throw new ResolverError('domain', `The name servers of ${name} return errors (ESERVFAIL).`)
  }
  const resolver = { ...healthyProbes.resolver, ns: fail, addresses: fail }

  const before = await checkNetwork(settings, { ...healthyProbes, resolver })
  const elsewhere = await checkNetwork({ ...settings, dnsAddr: undefined }, { ...healthyProbes, resolver })

  const delegation = before.filter(({ state }) => state !== 'ok')
  assert.deepEqual(
    delegation.map(({ check, state }) => ({ check, state })),
    [{ check: 'delegation', state: 'skipped' }],
  )
  assert.match(delegation[0]?.detail ?? '', /checked once this server runs/)
  assert.ok(elsewhere.some(({ check, state }) => check === 'domain' && state === 'failed'))
})

const cases: [string, Partial<CheckedSettings>, Partial<SystemProbes>, string, RegExp][] = [
  ['a private address', { publicIps: ['10.0.0.5'] }, {}, 'public addresses', /--public-ips/],
  [
    'a closed port',
    {},
    { dial: async (_host, port) => (port === 443 ? refuseConnection() : undefined) },
    'https port',
    /firewall allows TCP port 443/,
  ],
  [
    'HTTP on another port than 80',
    { httpAddr: { host: '0.0.0.0', port: 8080 } },
    {},
    'http port',
    /--public-http-port 80/,
  ],
  ['DNS that does not answer', {}, { queryDns: refuseConnection }, 'own DNS server (udp)', /UDP port 53/],
  [
    'another DNS server in the way',
    {},
    { queryDns: async () => ({ rcode: 'REFUSED', authoritative: false, answers: 0 }) },
    'own DNS server (tcp)',
    /Stop whatever listens/,
  ],
  [
    'no delegation',
    {},
    { resolver: { ...healthyProbes.resolver, ns: async () => [] } },
    'delegation',
    /tunnels\.example\.com\. NS ns1\.tunnels\.example\.com\..*ns1\.tunnels\.example\.com\. A 93\.184\.216\.34/s,
  ],
  [
    'a delegation to others',
    {},
    { resolver: { ...healthyProbes.resolver, ns: async () => ['ns.registrar.example'] } },
    'challenges',
    /_acme-challenge\.tunnels\.example\.com\. CNAME/,
  ],
  [
    'no wildcard',
    {},
    {
      resolver: {
        ...healthyProbes.resolver,
        addresses: async (name) => (name === 'tunnels.example.com' ? ['93.184.216.34'] : []),
      },
    },
    'wildcard',
    /\*\.tunnels\.example\.com\. A 93\.184\.216\.34/,
  ],
  [
    'a domain that leads elsewhere',
    {},
    { resolver: { ...healthyProbes.resolver, addresses: async () => ['203.0.113.1'] } },
    'domain',
    /tunnels\.example\.com\. A 93\.184\.216\.34/,
  ],
  [
    'a resolver that fails',
    {},
    { resolver: { ...healthyProbes.resolver, addresses: refuseConnection } },
    'domain',
    /create/,
  ],
  [
    'a certificate that no system trusts',
    {},
    { certificate: async () => ({ trusted: false, reason: 'SELF_SIGNED_CERT_IN_CHAIN' }) },
    'certificate',
    /adit server certs/,
  ],
  ['no ACME directory', { acmeDirectory: undefined }, {}, 'ACME directory', /--acme-directory https/],
  ['an authority out of reach', {}, { fetch: refuseConnection }, 'ACME directory', /--outbound-allow/],
  [
    'an address that is not an ACME directory',
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

for (const [name, change, probes, check, remedy] of cases)
  test(`${name}: the failed check is reported with its remedy`, async () => {
    const result = (await failures(change, probes)).find((finding) => finding.check === check)

    assert.ok(result, `${check} is not reported`)
    assert.match(result.remedy ?? '', remedy)
    assert.match(formatResults([result]), /^FAILED/)
  })

test('a domain that stays with another provider passes when its records are complete', async () => {
  const ns = async (name: string) => (name.startsWith('acme-challenge.') ? servers : ['ns.provider.example'])

  const findings = await checkSetup(settings, {
    ...healthyProbes,
    resolver: { ...healthyProbes.resolver, ns },
  })

  const delegation = findings.find(({ check }) => check === 'delegation')
  assert.equal(delegation?.state, 'skipped')
  assert.match(delegation.detail, /ns\.provider\.example, and its records there are complete/)
})

test('a listener that is switched off is not reported as failed', async () => {
  const result = await failures(
    { sshAddr: undefined, dnsAddr: undefined, httpsAddr: undefined },
    { queryDns: refuseConnection },
  )

  assert.deepEqual(result, [])
})

const DAY = 24 * 60 * 60 * 1000
const file = (days: number, ...names: string[]): Partial<SystemProbes> => ({
  readFiles: async () => ({
    ...{ certPem: '', keyPem: '', version: '', names },
    notAfter: Date.now() + days * DAY,
  }),
})
const names = ['tunnels.example.com', '*.tunnels.example.com']
const fileCases: [string, Partial<SystemProbes>, string, RegExp][] = [
  ['a certificate that lasts', file(90, ...names), 'ok', /for tunnels\.example\.com and \*\./],
  ['one that expires soon', file(9.5, ...names), 'warning', /in 9 days/],
  ['one that has expired', file(-1, ...names), 'failed', /expired/],
  ['one without the domain itself', file(90, names[1]!), 'warning', /for \*\.tunnels/],
  [
    'files that cannot be served',
    {
      readFiles: async () => {
        throw new Error('--tls-key: /etc/adit/tls.key cannot be read')
      },
    },
    'failed',
    /tls\.key cannot be read/,
  ],
]
for (const [name, probes, state, detail] of fileCases)
  test(`certificate files: ${name} is reported, and no authority is missed`, async () => {
    const findings = await checkSetup(
      { ...settings, acmeDirectory: undefined },
      { ...healthyProbes, ...probes },
    )

    const result = findings.find(({ check }) => check === 'certificate files')
    assert.equal(result?.state, state)
    assert.match(result.detail, detail)
    assert.equal(result.remedy === undefined, state === 'ok')
    const others = findings.filter((finding) => finding !== result)
    assert.ok(others.every((finding) => finding.state === 'ok' || finding.state === 'skipped'))
    assert.ok(!findings.some(({ check }) => check === 'challenges'))
  })
