import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeCertificate } from './certificate-labels.ts'
import { dnsRecords, isApexDomain } from './dns-records.ts'

const PLATFORM = { domain: 'adit.example', acme: true, public_certificate: true }
const NOW = Date.parse('2026-06-01T12:00:00Z')
type Status = NonNullable<Parameters<typeof describeCertificate>[0]['certificate_management_status']>

const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' } as const
const job = { error_code: null, msg: '', started_at: '2026-06-01T11:59:00Z', retries_at: null }
const failed = {
  ...job,
  error_code: 'DNS_ERROR' as const,
  msg: 'The CNAME is missing.',
  retries_at: '2026-06-01T12:16:00Z',
}
const attached = { certificate: { id: 'cert_1', uri: '' }, certificate_management_policy: null }
const custom = {
  domain: 'shop.example',
  certificate: null,
  certificate_management_policy: policy,
  cname_target: 'x.cname.example',
}
const status = (renews_at: string | null, provisioning_job: Status['provisioning_job']) => ({
  certificate_management_status: { renews_at, provisioning_job },
})

const cases = [
  [{ ...custom, ...attached, ...status(null, null) }, 'good', false, /certificate you attached/],
  [{ ...custom, ...attached, certificate: null, ...status(null, null) }, 'warn', true, /private authority/],
  [
    { ...custom, ...attached, certificate: null, cname_target: null, ...status(null, null) },
    'good',
    false,
    /No action is needed/,
  ],
  [{ ...custom, certificate_management_status: null }, 'info', false, /being ordered/],
  [{ ...custom, ...status(null, job) }, 'info', false, /first certificate is being ordered/],
  [{ ...custom, ...status(null, failed) }, 'bad', true, /CNAME is missing\. The next retry is in 16 minutes/],
  [{ ...custom, ...status(null, { ...failed, retries_at: null }) }, 'bad', true, /no more retries/],
  [{ ...custom, ...status('2026-08-01T00:00:00Z', null) }, 'good', false, /renews automatically in 2 months/],
  [
    { ...custom, ...status('2026-06-02T00:00:00Z', job) },
    'good',
    false,
    /the current one is served until it arrives/,
  ],
  [{ ...custom, ...status('2026-06-02T00:00:00Z', failed) }, 'warn', true, /current certificate is served/],
] as const

for (const [domain, tone, attention, text] of cases)
  test(`the status of a certificate is described: ${text.source}`, () => {
    const certificate = describeCertificate(domain, PLATFORM, NOW)

    assert.deepEqual([certificate.tone, certificate.attention], [tone, attention])
    assert.match(certificate.text, text)
  })

test('a name that the certificate of the platform does not cover is private without ACME', () => {
  const reserved = { ...custom, ...attached, certificate: null, cname_target: null, ...status(null, null) }
  const describe = (name: string, platform: object) =>
    describeCertificate({ ...reserved, domain: name }, { ...PLATFORM, ...platform }, NOW).short

  assert.equal(describe('shop.adit.example', { acme: false }), 'Platform')
  assert.equal(describe('shop.team.adit.example', { acme: false }), 'Private')
  assert.equal(describe('*.team.adit.example', { acme: false }), 'Private')
  assert.equal(describe('shop.team.adit.example', {}), 'Platform')
  assert.equal(describe('shop.team.adit.example', { acme: false, public_certificate: false }), 'Platform')
})

test('a server without ACME says so instead of reporting an order in progress', () => {
  const certificate = describeCertificate(
    { ...custom, ...status(null, job) },
    { ...PLATFORM, acme: false },
    NOW,
  )

  assert.equal(certificate.attention, true)
  assert.match(certificate.text, /--acme-directory/)
})

test('a wildcard domain needs a second record that proves ownership', () => {
  const records = dnsRecords({
    domain: '*.apps.example.net',
    cname_target: 'a.cname.adit.example',
    acme_challenge_cname_target: 'a.acme-challenge.adit.example',
  })

  assert.deepEqual(
    records.map(({ name, type, value }) => `${name} ${type} ${value}`),
    [
      '*.apps.example.net CNAME a.cname.adit.example',
      '_acme-challenge.apps.example.net CNAME a.acme-challenge.adit.example',
    ],
  )
})

test('a subdomain of the platform needs no records', () => {
  assert.deepEqual(
    dnsRecords({ domain: 'shop.adit.localhost', cname_target: null, acme_challenge_cname_target: null }),
    [],
  )
})

test('an apex domain is recognized', () => {
  assert.equal(isApexDomain('example.net'), true)
  assert.equal(isApexDomain('shop.example.net'), false)
})
