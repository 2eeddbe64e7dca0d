import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { standIns } from '../../../../test/support/dns-providers/index.ts'
import { fail as awsError } from '../../../../test/support/dns-providers/route53.ts'
import type { ApiReply, ApiStandIn } from '../../../../test/support/dns-providers/stand-in.ts'
import { createTempDir } from '../../../../test/support/temp-dir.ts'
import { createOutbound } from '../../../base/outbound/outbound.ts'
import { CommandFailure } from '../../../base/process/command-line.ts'
import type { DnsProvider } from './provider.ts'
import { configureProvider, type DnsProviderName } from './providers.ts'

const ZONES = ['example.com', 'team.example.com']
const NAME = '_acme-challenge.apps.example.com'
const OTHER = { name: NAME, value: 'value-of-another-program' }

async function openProvider(
  t: TestContext,
  name: DnsProviderName,
  environment: Readonly<Record<string, string>>,
): Promise<DnsProvider> {
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] })
  t.after(() => outbound.close())
  const context = { outbound, signal: new AbortController().signal }
  const provider = await configureProvider({ name, credentialsFile: undefined, environment }, context)
  return provider.open(context)
}

for (const name of Object.keys(standIns) as DnsProviderName[]) {
  test(`${name}: the closest zone above a name is found`, async (t) => {
    const standIn = await standIns[name](t, { zones: ZONES })
    const provider = await openProvider(t, name, standIn.variables)

    const names = ['_acme-challenge.example.com', NAME, '_acme-challenge.team.example.com']
    const zones = await Promise.all(names.map((each) => provider.findZone(each)))

    assert.deepEqual(
      zones.map((zone) => zone?.name),
      ['example.com', 'example.com', 'team.example.com'],
    )
    assert.equal(await provider.findZone('_acme-challenge.example.org'), undefined)
    assert.deepEqual(standIn.violations, [])
  })

  test(`${name}: values are added and removed beside those of others, any number of times`, async (t) => {
    const standIn = await standIns[name](t, { zones: ZONES, records: [OTHER] })
    const provider = await openProvider(t, name, standIn.variables)
    const zone = (await provider.findZone(NAME))!
    const values = async () => (await standIn.values(NAME)).sort()

    await provider.addTxt(zone, NAME, ['first_value', 'second-value'])
    await provider.addTxt(zone, NAME, ['second-value', 'third-value'])
    const added = await values()
    await provider.removeTxt(zone, NAME, ['first_value', 'second-value'])
    await provider.removeTxt(zone, NAME, ['second-value', 'third-value'])
    const left = await values()
    await provider.removeTxt(zone, NAME, [OTHER.value])
    await provider.removeTxt(zone, NAME, [OTHER.value])

    assert.deepEqual(added, ['first_value', 'second-value', 'third-value', OTHER.value])
    assert.deepEqual(left, [OTHER.value])
    assert.deepEqual(await values(), [])
    assert.deepEqual(standIn.violations, [])
  })

  test(`${name}: rejected credentials are reported with the provider's message`, async (t) => {
    const standIn = await standIns[name](t, { zones: ZONES })
    const provider = await openProvider(t, name, standIn.invalidVariables)

    await assert.rejects(provider.findZone(NAME), {
      name: 'DnsProviderError',
      message: standIn.invalidMessage,
    })
    assert.deepEqual(await standIn.values(NAME), [])
  })
}

const throttled: Partial<Record<DnsProviderName, ApiReply>> = {
  cloudflare: { status: 429, headers: { 'retry-after': '1' }, body: { success: false, errors: [] } },
  digitalocean: { status: 429, body: { id: 'too_many_requests', message: 'API rate limit exceeded' } },
  hetzner: { status: 423, body: { error: { code: 'locked', message: 'zone is locked' } } },
  route53: awsError(400, 'Throttling', 'Rate exceeded'),
}

for (const [name, reply] of Object.entries(throttled) as [DnsProviderName, ApiReply][])
  test(`${name}: a call that is throttled or fails is repeated`, async (t) => {
    const standIn = (await standIns[name](t, { zones: ZONES })) as ApiStandIn
    const provider = await openProvider(t, name, standIn.variables)
    const replies: ApiReply[] = [reply, { status: 503, body: 'upstream unavailable' }]
    standIn.intercept = () => replies.shift()

    const zone = await provider.findZone('_acme-challenge.example.com')

    assert.equal(zone?.name, 'example.com')
    assert.equal(replies.length, 0)
  })

test('a rate limit that lasts longer ends the call and says until when', async (t) => {
  const standIn = (await standIns.digitalocean(t, { zones: ZONES })) as ApiStandIn
  const provider = await openProvider(t, 'digitalocean', standIn.variables)
  const reset = String(Math.floor(Date.now() / 1000) + 600)
  standIn.intercept = () => ({
    status: 429,
    headers: { 'ratelimit-reset': reset },
    body: { message: 'Wait' },
  })

  const error = await provider.findZone(NAME).catch((reason) => reason)

  assert.match(error.message, /DigitalOcean answered GET \S+ with 429: Wait\./)
  assert.ok(error.retryAfterMs > 500_000 && error.retryAfterMs <= 600_000)
  assert.equal(standIn.requests.length, 1)
})

test('a provider that cannot be reached is reported with the address', async (t) => {
  const environment = {
    RFC2136_NAMESERVER: '127.0.0.1:1',
    RFC2136_TSIG_KEY: 'k',
    RFC2136_TSIG_SECRET: 'AAAA',
  }
  const provider = await openProvider(t, 'rfc2136', environment)

  await assert.rejects(provider.findZone(NAME), {
    message: 'The name server 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.',
  })
})

test('private addresses are not called unless the operator allows them', async (t) => {
  const environment = { CLOUDFLARE_API_TOKEN: 'x', CLOUDFLARE_BASE_URL: 'https://127.0.0.1/v4' }
  const outbound = createOutbound({ allow: [] })
  t.after(() => outbound.close())
  const context = { outbound, signal: new AbortController().signal }
  const settings = { name: 'cloudflare', credentialsFile: undefined, environment } as const
  const provider = await (await configureProvider(settings, context)).open(context)

  await assert.rejects(
    provider.findZone(NAME),
    /Cloudflare cannot be reached: 127\.0\.0\.1 is not on the public Internet\. .*--outbound-allow/,
  )
})

const withoutValues: [DnsProviderName, Record<string, string>, RegExp][] = [
  ['cloudflare', {}, /^--dns-provider cloudflare needs CLOUDFLARE_API_TOKEN: set it in the environment/],
  ['digitalocean', { DO_AUTH_TOKEN: ' ' }, /needs DIGITALOCEAN_ACCESS_TOKEN/],
  ['hetzner', {}, /needs HCLOUD_TOKEN/],
  ['rfc2136', { RFC2136_NAMESERVER: '127.0.0.1', RFC2136_TSIG_KEY: 'k' }, /needs RFC2136_TSIG_SECRET/],
  [
    'rfc2136',
    { RFC2136_NAMESERVER: 'a b', RFC2136_TSIG_KEY: 'k', RFC2136_TSIG_SECRET: 'AAAA' },
    /RFC2136_NAMESERVER is "a b"; write host or host:port/,
  ],
  [
    'rfc2136',
    { RFC2136_NAMESERVER: '127.0.0.1', RFC2136_TSIG_KEY: 'k', RFC2136_TSIG_SECRET: 'CANARY!' },
    /^(?!.*CANARY).*RFC2136_TSIG_SECRET is not base64/,
  ],
  [
    'rfc2136',
    {
      RFC2136_NAMESERVER: '127.0.0.1',
      RFC2136_TSIG_KEY: 'k',
      RFC2136_TSIG_SECRET: 'AAAA',
      RFC2136_TSIG_ALGORITHM: 'hmac-md5',
    },
    /RFC2136_TSIG_ALGORITHM is "hmac-md5"; write one of hmac-sha256, hmac-sha384, hmac-sha512/,
  ],
]

test('missing and invalid variables are named', async (t) => {
  for (const [name, environment, sentence] of withoutValues)
    await assert.rejects(
      openProvider(t, name, environment),
      (error: Error) => error instanceof CommandFailure && sentence.test(error.message),
      `${name} ${JSON.stringify(environment)}`,
    )
})

test('a credentials file wins over the environment and is read again for each job', async (t) => {
  const standIn = await standIns.cloudflare(t, { zones: ZONES })
  const dir = createTempDir()
  const file = join(dir, 'dns.env')
  await writeFile(file, '# DNS\nCLOUDFLARE_API_TOKEN="outdated"\n')
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] })
  t.after(() => outbound.close())
  const context = { outbound, signal: new AbortController().signal }
  const settings = { name: 'cloudflare', credentialsFile: file, environment: standIn.variables } as const
  const provider = await configureProvider(settings, context)

  const first = await (await provider.open(context)).findZone(NAME).catch((error) => error)
  await writeFile(file, `CLOUDFLARE_API_TOKEN=${standIn.variables.CLOUDFLARE_API_TOKEN}\n`)
  const second = await (await provider.open(context)).findZone(NAME)

  assert.match(first.message, /Invalid access token/)
  assert.equal(second?.name, 'example.com')
  await assert.rejects(
    configureProvider({ ...settings, credentialsFile: join(dir, 'none') }, context),
    /--dns-credentials: .*none cannot be read/,
  )
})
