import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import {
  type CertsOptions,
  configureProvider,
  createResolver,
  type DnsProviderName,
} from '../../src/certs/index.ts'
import { compileZones, createDns, type ZoneData } from '../../src/dns/index.ts'
import type { Bind } from '../support/dns-providers/bind.ts'
import { standIns } from '../support/dns-providers/index.ts'
import type { ApiStandIn, ProviderStandIn } from '../support/dns-providers/stand-in.ts'
import { eventually } from '../support/eventually.ts'
import { BASE, scanRows, startNames, testLog, userZone } from '../support/names.ts'

type ZoneRecords = ZoneData['records']

/** What the provider's name servers answer with, beside the records of the API. */
interface ProviderDns {
  readonly port: number
  extra: ZoneRecords
  /** While false, the name servers have not got the new records. */
  propagated: boolean
}

/** Starts name servers that publish what the API of a stand-in has stored. */
async function startProviderDns(t: TestContext, standIn: ApiStandIn, zones: readonly string[]) {
  const state = { extra: [] as ZoneRecords, propagated: true }
  const zoneOf = (zone: string) => {
    const isInside = ({ name }: { name: string }) => name.endsWith(zone)
    const stored = state.propagated ? standIn.records() : []
    return userZone(zone, [
      { name: `ns.${zone}`, type: 'A', data: '127.0.0.1' },
      ...stored.filter(isInside).map(({ name, value }) => ({ name, type: 'TXT' as const, data: value })),
      ...state.extra.filter(isInside),
    ])
  }
  const dns = createDns({
    table: () => compileZones(zones.map(zoneOf)),
    addr: { host: '127.0.0.1', port: 0 },
    log: testLog,
    rateLimit: false,
  })
  await dns.start()
  t.after(() => dns.stop())
  return Object.assign(state, { port: dns.address.port }) as ProviderDns
}

/** Starts a platform whose domain is managed by a DNS provider, not by its own name server. */
async function startWithProvider(
  t: TestContext,
  options: {
    name?: DnsProviderName
    zones?: readonly string[]
    /** Runs before the platform starts. */
    prepare?: (standIn: ApiStandIn, dns: ProviderDns) => void
  } = {},
) {
  const { name = 'cloudflare', zones = [BASE] } = options
  const standIn = await standIns[name](t, { zones })
  const isBind = (candidate: ProviderStandIn): candidate is Bind => 'port' in candidate
  const dns = isBind(standIn)
    ? { port: standIn.port, extra: [], propagated: true }
    : await startProviderDns(t, standIn as ApiStandIn, [...new Set([...zones, BASE, 'example.com'])])
  options.prepare?.(standIn as ApiStandIn, dns)
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] })
  t.after(() => outbound.close())
  const context = { outbound, signal: new AbortController().signal }
  const settings = { name, credentialsFile: undefined, environment: standIn.variables }
  const certs: Partial<CertsOptions> = {
    dnsProvider: await configureProvider(settings, context),
    resolver: createResolver([`127.0.0.1:${dns.port}`]),
    nameServerPort: dns.port,
  }
  const platform = await startNames(t, { certs, pebble: { dnsPort: dns.port } })
  return { platform, standIn: standIn as ApiStandIn, dns }
}

type Platform = Awaited<ReturnType<typeof startWithProvider>>['platform']

/** The certificate served for a name below the platform's domain, once it is of the authority. */
function waitForWildcard({ certs }: Platform) {
  return eventually(async () => {
    const served = await certs.lookup(`random-name.${BASE}`)
    const certificate = served && new X509Certificate(served.certPem)
    return certificate?.issuer.includes('Pebble') && certificate
  }, 'a wildcard certificate of the authority')
}

async function readJob({ api }: Platform) {
  return (await scanRows(api.store, 'certificate_jobs')).find(({ account }) => account === 'platform')?.data
}

for (const name of Object.keys(standIns) as DnsProviderName[])
  test(`${name}: the platform's domain and its wildcard get a certificate, and no record stays`, async (t) => {
    const { platform, standIn } = await startWithProvider(t, { name })

    const certificate = await waitForWildcard(platform)

    assert.equal(certificate.subjectAltName, `DNS:${BASE}, DNS:*.${BASE}`)
    await eventually(async () => {
      const job = await readJob(platform)
      return job?.startedAt === null && (job.providerRecords as unknown[]).length === 0
    }, 'the job is done')
    assert.deepEqual(await standIn.values(`_acme-challenge.${BASE}`), [])
    assert.deepEqual(standIn.violations, [])
  })

test('a provider without a zone for the name is reported, and nothing is ordered', async (t) => {
  const { platform, standIn } = await startWithProvider(t, { zones: ['other.example'] })

  const error = await eventually(
    async () => (await readJob(platform))?.error as { code: string; msg: string } | undefined,
    'a status',
  )

  assert.equal(error.code, 'INTERNAL_ERROR')
  assert.match(error.msg, /Cloudflare has no zone for _acme-challenge\.adit\.test that these credentials may/)
  assert.equal(platform.pebble.count('order'), 0)
  assert.deepEqual(standIn.violations, [])
})

test('a CNAME record leads the challenge into another zone of the provider', async (t) => {
  const name = 'adit.challenges.example'
  const { platform, standIn } = await startWithProvider(t, {
    zones: ['challenges.example'],
    prepare: (_standIn, dns) => {
      dns.extra = [{ name: `_acme-challenge.${BASE}`, type: 'CNAME', data: name }]
    },
  })

  await waitForWildcard(platform)

  const created = standIn.requests.filter(({ method }) => method === 'POST')
  assert.deepEqual(
    created.map(({ body }) => JSON.parse(body).name),
    [name, name],
  )
})

test("a user's wildcard domain is proven by a record below the platform's domain at the provider", async (t) => {
  const { platform, standIn, dns } = await startWithProvider(t)
  await waitForWildcard(platform)
  const domain = await platform.api.call.create('/reserved_domains', {
    domain: '*.apps.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })

  dns.extra = [
    { name: '_acme-challenge.apps.example.com', type: 'CNAME', data: domain.acme_challenge_cname_target },
  ]
  platform.clock.offset += 3 * 60_000
  await platform.certs.runDue()

  const served = await platform.certs.lookup('one.apps.example.com')
  assert.equal(new X509Certificate(served!.certPem).subjectAltName, 'DNS:*.apps.example.com')
  const { body } = standIn.requests.filter(({ method }) => method === 'POST').at(-1)!
  assert.equal(JSON.parse(body).name, domain.acme_challenge_cname_target)
  assert.deepEqual(standIn.records(), [])
})

test('a CNAME record that a user changes after the check leads to no other name of the zone', async (t) => {
  const { platform, standIn, dns } = await startWithProvider(t)
  await waitForWildcard(platform)
  const domain = await platform.api.call.create('/reserved_domains', {
    domain: '*.apps.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })
  const point = (data: string) => {
    dns.extra = [{ name: '_acme-challenge.apps.example.com', type: 'CNAME', data }]
  }
  point(domain.acme_challenge_cname_target)
  platform.pebble.hook = (path) => {
    if (path.startsWith('/order-plz')) point(`www.${BASE}`)
    return undefined
  }

  platform.clock.offset += 3 * 60_000
  await platform.certs.runDue()

  const names = standIn.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body).name)
  assert.equal(names.at(-1), domain.acme_challenge_cname_target)
  assert.ok(!names.includes(`www.${BASE}`))
  assert.deepEqual(standIn.records(), [])
})

test('a renewal is validated through the provider again', async (t) => {
  const { platform, standIn } = await startWithProvider(t)
  const first = await waitForWildcard(platform)
  const { renewsAt } = (await readJob(platform))!.certificate as { renewsAt: number }

  platform.clock.offset = renewsAt - Date.now() + 1000
  await platform.certs.runDue()

  const second = await waitForWildcard(platform)
  assert.notEqual(second.serialNumber, first.serialNumber)
  assert.deepEqual(standIn.records(), [])
})

test('the authority is asked to look only when all name servers have the records', async (t) => {
  const { platform, standIn, dns } = await startWithProvider(t, {
    prepare: (_standIn, state) => {
      state.propagated = false
    },
  })
  await eventually(() => standIn.records().length === 2, 'both values at once')
  const responses = platform.pebble.count('challenge')

  dns.propagated = true
  await waitForWildcard(platform)

  assert.equal(responses, 0)
})

test('records that never become visible are removed, and the status says so', async (t) => {
  const { platform, standIn } = await startWithProvider(t, {
    prepare: (_standIn, state) => {
      state.propagated = false
    },
  })

  const error = await eventually(
    async () => (await readJob(platform))?.error as { msg: string } | undefined,
    'a status',
  )

  assert.match(
    error.msg,
    /at _acme-challenge\.adit\.test is not visible at all name servers of its zone after 3 s/,
  )
  await eventually(() => standIn.records().length === 0, 'the records are removed')
})

test('a rejected call is reported in the words of the provider, and the job waits as long as it says', async (t) => {
  const startedAt = Date.now()
  const { platform } = await startWithProvider(t, {
    prepare: (standIn) => {
      standIn.intercept = ({ method }) =>
        method === 'POST'
          ? {
              status: 429,
              headers: { 'retry-after': '7200' },
              body: { errors: [{ code: 10_000, message: 'Slow down' }] },
            }
          : undefined
    },
  })

  const job = await eventually(async () => {
    const current = await readJob(platform)
    return current?.error ? (current as { error: { msg: string }; dueAt: number }) : undefined
  }, 'a status')

  assert.match(job.error.msg, /^Cloudflare answered POST \S+ with 429: Slow down \(10000\)\.$/)
  assert.ok(job.dueAt >= startedAt + 7_200_000)
})

test('the next node removes what an interrupted one has published, and finishes the order', async (t) => {
  const { platform, standIn, dns } = await startWithProvider(t, {
    prepare: (_standIn, state) => {
      state.propagated = false
    },
  })
  await eventually(() => standIn.records().length === 2, 'the records are published')
  await platform.certs.stop()
  const abandoned = standIn.records().map(({ id }) => id)

  dns.propagated = true
  const successor = await platform.node()
  await waitForWildcard({ ...platform, certs: successor })

  assert.equal(abandoned.length, 2)
  await eventually(() => standIn.records().length === 0, 'no record is left')
  assert.equal(platform.pebble.count('order'), 1, 'the order of the first node')
})

test('a record that cannot be removed does not delay the certificate, and is removed later', async (t) => {
  const { platform, standIn } = await startWithProvider(t, {
    prepare: (api) => {
      api.intercept = ({ method }) =>
        method === 'DELETE' ? { status: 403, body: { errors: [{ code: 1, message: 'No' }] } } : undefined
    },
  })
  const first = await waitForWildcard(platform)
  const isDone = async () => {
    const job = await readJob(platform)
    return job?.startedAt === null && job
  }
  const left = await eventually(async () => {
    const job = await isDone()
    return job && (job.providerRecords as unknown[]).length === 2 && (job.dueAt as number) > Date.now()
  }, 'the job remembers its records')

  standIn.intercept = undefined
  platform.clock.offset += 2 * 60 * 60_000
  await platform.certs.runDue()

  assert.ok(left)
  assert.deepEqual(standIn.records(), [])
  assert.equal((await waitForWildcard(platform)).serialNumber, first.serialNumber)
  assert.equal(platform.pebble.count('order'), 1)
})

/** A user's wildcard domain whose records are published, while the name servers do not have them yet. */
async function publishForUser({ platform, standIn, dns }: Awaited<ReturnType<typeof startWithProvider>>) {
  await waitForWildcard(platform)
  await eventually(() => standIn.records().length === 0, 'the records of the platform are removed')
  const domain = await platform.api.call.create('/reserved_domains', {
    domain: '*.apps.example.com',
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
  })
  dns.extra = [
    { name: '_acme-challenge.apps.example.com', type: 'CNAME', data: domain.acme_challenge_cname_target },
  ]
  dns.propagated = false
  platform.clock.offset += 3 * 60_000
  const attempt = platform.certs.runDue()
  await eventually(() => standIn.records().length === 1, 'the record is published')
  return { path: `/reserved_domains/${domain.id}`, attempt }
}

test('a domain that is deleted during its validation leaves no record at the provider', async (t) => {
  const started = await startWithProvider(t)
  const { platform, standIn } = started
  const { path, attempt } = await publishForUser(started)

  await platform.api.call('DELETE', path)
  await attempt

  assert.deepEqual(standIn.records(), [])
  const jobs = () => scanRows(platform.api.store, 'certificate_jobs')
  await eventually(async () => (await jobs()).length === 1, 'only the job of the platform is left')
})

const endings: Record<string, (platform: Platform, path: string) => Promise<unknown>> = {
  'is deleted': ({ api }, path) => api.call('DELETE', path),
  'loses its policy': ({ api }, path) => api.call('DELETE', `${path}/certificate_management_policy`),
}
for (const [what, end] of Object.entries(endings))
  test(`the record of a domain that ${what} after its node was interrupted is removed by the next node`, async (t) => {
    const started = await startWithProvider(t)
    const { platform, standIn } = started
    const { path } = await publishForUser(started)
    await platform.certs.stop()

    const response = (await end(platform, path)) as { status: number }
    assert.equal(standIn.records().length, 1)
    await platform.node()

    assert.equal(response.status, 204)
    await eventually(() => standIn.records().length === 0, 'no record is left')
    const jobs = () => scanRows(platform.api.store, 'certificate_jobs')
    await eventually(async () => (await jobs()).length === 1, 'only the job of the platform is left')
    assert.deepEqual(standIn.violations, [])
  })
