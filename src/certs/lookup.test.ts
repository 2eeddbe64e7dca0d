import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import type { RecordOfKind, Row } from '../store/index.ts'
import { Inventory } from './acme/inventory.ts'
import { CertificateSelector } from './lookup.ts'
import { createAuthority, loadAuthority } from './x509/authority.ts'
import type { FileCertificate } from './x509/certificate-files.ts'
import { LeafCache } from './x509/leaves.ts'
import type { ServedCertificate } from './x509/served-certificate.ts'

const base = 'adit.test'
const authority = await loadAuthority(await createAuthority())
const DAY = 24 * 60 * 60 * 1000

/** A row with the fields that the inventory reads. */
function row<K extends string>(
  kind: K,
  id: string,
  data: Partial<RecordOfKind<K>>,
  secrets?: Record<string, string>,
) {
  return { kind, id, account: 'ac_1', revision: 1, createdAt: 0, data, secrets } as Row<K>
}

function domain(id: string, name: string, certificate: string | null = null, managed = false) {
  return row('reserved_domains', id, {
    domain: name,
    certificate_id: certificate,
    certificate_management_policy: managed ? { authority: 'letsencrypt', private_key_type: 'ecdsa' } : null,
    certificate_management_status: null,
    cname_target: null,
    acme_challenge_cname_target: null,
  })
}

function certificate(id: string, managed: boolean, notAfter = Date.now() + DAY) {
  const data = { certificate_pem: `pem of ${id}`, managed, not_after: new Date(notAfter).toISOString() }
  return row('tls_certificates', id, data, { private_key_pem: `key of ${id}` })
}

function createLookup(
  rows: Row<'reserved_domains' | 'agent_ingresses' | 'tls_certificates'>[],
  isBound: (name: string) => boolean = () => false,
  files?: { current: FileCertificate },
) {
  const inventory = new Inventory(base, silentLog)
  inventory.reset(rows, 1)
  const clock = { ...systemClock, now: () => Date.now() }
  const leaves = new LeafCache(authority, clock)
  return { lookup: new CertificateSelector({ inventory, leaves, clock, isBound, files }), inventory, leaves }
}

const names = (served: ServedCertificate | undefined) =>
  served && new X509Certificate(served.certPem).subjectAltName

test('an unknown name gets no certificate, and nothing is signed for it', () => {
  const { lookup } = createLookup([domain('rd_1', 'shop.example.com')])

  for (const unknown of ['www.example.org', 'sub.shop.example.com', 'example.com', '', '..', '*.example.com'])
    assert.equal(lookup.forClient(unknown), undefined, unknown)
})

test('an uploaded certificate is served with its key, even after it has expired', () => {
  const { lookup } = createLookup([
    domain('rd_1', 'shop.example.com', 'cert_1'),
    certificate('cert_1', false, Date.now() - DAY),
  ])

  const served = lookup.forClient('SHOP.example.com.') as ServedCertificate

  assert.deepEqual(
    [served.certPem, served.keyPem, served.version],
    ['pem of cert_1', 'key of cert_1', 'cert_1'],
  )
})

test('the exact name wins over a wildcard, and the maxSigning specific wildcard wins', () => {
  const { lookup } = createLookup([
    domain('rd_1', '*.example.com', 'cert_far'),
    domain('rd_2', '*.apps.example.com', 'cert_close'),
    domain('rd_3', 'one.apps.example.com', 'cert_exact'),
    ...['cert_far', 'cert_close', 'cert_exact'].map((id) => certificate(id, false)),
  ])
  const version = (name: string) => (lookup.forClient(name) as ServedCertificate).version

  assert.equal(version('one.apps.example.com'), 'cert_exact')
  assert.equal(version('two.apps.example.com'), 'cert_close')
  assert.equal(version('deep.two.apps.example.com'), 'cert_close')
  assert.equal(version('other.example.com'), 'cert_far')
})

test('a name without its own certificate uses that of a covering wildcard', () => {
  const { lookup } = createLookup([
    domain('rd_1', '*.example.com', 'cert_1', true),
    domain('rd_2', 'shop.example.com', null, true),
    certificate('cert_1', true),
  ])

  assert.equal((lookup.forClient('shop.example.com') as ServedCertificate).version, 'cert_1')
})

test('a managed wildcard covers one label; below that the private root signs', async () => {
  const { lookup } = createLookup([
    domain('rd_1', '*.example.com', 'cert_1', true),
    certificate('cert_1', true),
  ])

  assert.equal((lookup.forClient('a.example.com') as ServedCertificate).version, 'cert_1')
  assert.equal(names(await lookup.forClient('a.b.example.com')), 'DNS:a.b.example.com')
})

test('a managed certificate is not served after it has expired', async () => {
  const { lookup } = createLookup([
    domain('rd_1', 'shop.example.com', 'cert_1', true),
    certificate('cert_1', true, Date.now() - 1000),
  ])

  assert.equal(names(await lookup.forClient('shop.example.com')), 'DNS:shop.example.com')
})

test('names under the base domain share one certificate of the private root', async () => {
  const { lookup } = createLookup([])

  const first = await lookup.forClient('one.adit.test')

  assert.equal(names(first), 'DNS:adit.test, DNS:*.adit.test')
  assert.equal(await lookup.forClient('two.adit.test'), first)
  assert.equal(await lookup.forClient('adit.test'), first)
})

test('below the base domain only reserved and bound names get their own certificate', async () => {
  const { lookup } = createLookup([domain('rd_1', 'api.team.adit.test')], (name) => name === 'x.y.adit.test')

  assert.equal(names(await lookup.forClient('api.team.adit.test')), 'DNS:api.team.adit.test')
  assert.equal(names(await lookup.forClient('x.y.adit.test')), 'DNS:x.y.adit.test')
  assert.equal(names(await lookup.forClient('a.stranger.adit.test')), 'DNS:adit.test, DNS:*.adit.test')
})

test('names under a reserved wildcard share one certificate of the private root', async () => {
  const { lookup } = createLookup([domain('rd_1', '*.apps.example.com', null, true)])

  const first = await lookup.forClient('one.apps.example.com')

  assert.equal(names(first), 'DNS:*.apps.example.com')
  assert.equal(await lookup.forClient('two.apps.example.com'), first)
})

test('an agent gets the certificate of its ingress, or that of the platform from the private root', async () => {
  const ingress = row('agent_ingresses', 'agin_1', {
    domain: 'agents.example.com',
    region_domains: ['tunnel.us.agents.example.com'],
    certificate_management_policy: null,
    certificate_management_status: null,
  })
  const { lookup } = createLookup([ingress])

  assert.equal(
    names(await lookup.forAgent('tunnel.us.agents.example.com')),
    'DNS:agents.example.com, DNS:tunnel.us.agents.example.com',
  )
  assert.equal(names(await lookup.forAgent('connect.adit.test')), 'DNS:adit.test, DNS:*.adit.test')
  assert.equal(lookup.forAgent('tunnel.eu.agents.example.com'), undefined)
})

test('many names at once are signed a few at a time, and each name once', async () => {
  let signing = 0
  let maxSigning = 0
  let signed = 0
  const counting = {
    ...authority,
    async issueLeaf(request: Parameters<typeof authority.issueLeaf>[0]) {
      signing += 1
      signed += 1
      maxSigning = Math.max(maxSigning, signing)
      const leaf = await authority.issueLeaf(request)
      signing -= 1
      return leaf
    },
  }
  const leaves = new LeafCache(counting, systemClock)

  const all = await Promise.all(Array.from({ length: 100 }, (_, n) => leaves.get([`n${n % 50}.example.com`])))

  assert.ok(maxSigning <= 8, `${maxSigning} at once`)
  assert.equal(signed, new Set(all.filter((served) => served !== undefined)).size)
})

test('a certificate signed while the clock was wrong is signed again', async () => {
  const right = Date.parse('2026-11-15T12:00:00Z')
  const authority = await loadAuthority(await createAuthority({ now: right, years: 30 }))
  for (const wrong of [Date.parse('2038-01-01T00:00:00Z'), Date.parse('1999-12-31T00:00:00Z')]) {
    let now = wrong
    const leaves = new LeafCache(authority, { now: () => now, monotonic: () => 0 })
    const before = await leaves.get(['a.example.com'])

    now = right
    const after = await leaves.get(['a.example.com'])

    assert.notEqual(after?.version, before?.version)
    const { validFromDate, validToDate } = new X509Certificate(after!.certPem)
    assert.ok(validFromDate.getTime() <= right && right < validToDate.getTime())
    assert.equal((await leaves.get(['a.example.com']))?.version, after?.version)
  }
})

test("names below the platform's domain that the operator's certificate does not cover are known", () => {
  const file = {
    current: {
      certPem: 'file',
      keyPem: 'key',
      version: 'file-1',
      names: [base, `*.${base}`],
      notAfter: Date.now() + DAY,
    },
  }
  const reserved = [domain('rd_1', `shop.team.${base}`, 'cert_1'), certificate('cert_1', false)]
  const { lookup } = createLookup(reserved, undefined, file)

  const uncovered = [base, `a.${base}`, `shop.team.${base}`, `a.team.${base}`, 'a.example.net'].filter(
    (name) => lookup.isUncovered(name),
  )

  assert.deepEqual(uncovered, [`a.team.${base}`])
  assert.equal(createLookup(reserved).lookup.isUncovered(`a.team.${base}`), false, 'nothing is public')
})

test("the operator's files are served for the names that they are for, to clients and agents, before a private leaf", async () => {
  const file = (...covered: string[]) => ({
    current: {
      certPem: 'file',
      keyPem: 'key',
      version: 'file-1',
      names: covered,
      notAfter: Date.now() - DAY,
    },
  })
  const reserved = [domain('rd_1', `shop.${base}`, 'cert_1'), certificate('cert_1', false)]
  const { lookup } = createLookup(reserved, undefined, file(base, `*.${base}`))
  const wildcardOnly = createLookup([], undefined, file(`*.${base}`)).lookup
  const pemOf = async (served: ReturnType<typeof lookup.forClient>) => (await served)?.certPem

  for (const name of [base, `any.${base}`]) assert.equal(await pemOf(lookup.forClient(name)), 'file', name)
  for (const name of [base, `connect.${base}`, `tunnel.${base}`])
    assert.equal(await pemOf(lookup.forAgent(name)), 'file', name)
  assert.equal(await pemOf(wildcardOnly.forClient(`any.${base}`)), 'file')
  assert.equal(await pemOf(wildcardOnly.forAgent(`connect.${base}`)), 'file')
  for (const served of [
    lookup.forClient(`a.b.${base}`),
    wildcardOnly.forAgent(base),
    wildcardOnly.forClient(base),
  ])
    assert.notEqual(await pemOf(served), 'file')
  assert.equal(await pemOf(lookup.forClient(`shop.${base}`)), 'pem of cert_1')
})
