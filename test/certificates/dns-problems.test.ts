import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { type NamesPlatform, startNames, userZone } from '../support/names.ts'

const ECDSA = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
const MINUTE = 60_000

async function readStatus({ api }: NamesPlatform, id: string) {
  return (await api.call('GET', `/reserved_domains/${id}`)).body.certificate_management_status
}

function waitForFailure(platform: NamesPlatform, id: string) {
  return eventually(async () => {
    const { provisioning_job: job } = await readStatus(platform, id)
    return job.error_code && job
  }, 'a job that has failed')
}

async function reserve({ api }: NamesPlatform, domain: string) {
  return api.call.create('/reserved_domains', { domain, certificate_management_policy: ECDSA })
}

test('a CNAME with a wrong target is a DNS_ERROR that names the target, and no order is placed', async (t) => {
  const platform = await startNames(t)
  platform.serve(
    userZone('example.com', [
      { name: 'shop.example.com', type: 'CNAME', data: 'www.example.com' },
      { name: 'www.example.com', type: 'A', data: '192.0.2.80' },
    ]),
  )
  await platform.certs.runDue()
  const ordersBefore = platform.pebble.count('order')

  const domain = await reserve(platform, 'shop.example.com')

  const job = await waitForFailure(platform, domain.id)
  assert.equal(job.error_code, 'DNS_ERROR')
  assert.match(job.msg, /points to 192\.0\.2\.80/)
  assert.ok(job.msg.includes(domain.cname_target), job.msg)
  const retryDelayMs = Date.parse(job.retries_at) - platform.clock.now()
  assert.ok(retryDelayMs > 45_000 && retryDelayMs < 75_000, `the first retry comes after ${retryDelayMs} ms`)
  assert.equal(platform.pebble.count('order'), ordersBefore)
})

test('a CNAME left over from another reservation is not accepted as proof', async (t) => {
  const platform = await startNames(t)
  const other = await platform.api.callAsOther.create('/reserved_domains', {
    domain: 'shop.example.com',
    certificate_management_policy: ECDSA,
  })
  platform.serve(
    userZone('example.com', [{ name: 'shop.example.com', type: 'CNAME', data: other.cname_target }]),
  )
  await platform.api.callAsOther('DELETE', `/reserved_domains/${other.id}`)

  const domain = await reserve(platform, 'shop.example.com')

  const job = await waitForFailure(platform, domain.id)
  assert.equal(job.error_code, 'DNS_ERROR')
  assert.match(job.msg, /target of another reserved domain/)
})

test('an unreachable authority is an INTERNAL_ERROR, and the same order is resumed later', async (t) => {
  const platform = await startNames(t)
  platform.serve(userZone('example.com', [{ name: 'shop.example.com', type: 'A', data: '127.0.0.1' }]))
  await platform.certs.runDue()
  const ordersBefore = platform.pebble.count('order')
  platform.pebble.hook = (path) => (path.startsWith('/finalize-order/') ? 503 : undefined)
  const domain = await reserve(platform, 'shop.example.com')
  const job = await waitForFailure(platform, domain.id)

  platform.pebble.hook = undefined
  platform.clock.offset += 2 * MINUTE
  await platform.certs.runDue()

  assert.equal(job.error_code, 'INTERNAL_ERROR')
  assert.match(job.msg, /cannot be reached/)
  const status = await readStatus(platform, domain.id)
  assert.equal(status.provisioning_job, null)
  assert.ok(status.renews_at)
  assert.equal(
    platform.pebble.count('order') - ordersBefore,
    1,
    'the order placed before the failure was used',
  )
})

test('a failed validation with correct DNS is an INTERNAL_ERROR, not a DNS_ERROR', async (t) => {
  // The responder knows no challenge, as if another program listened on port 80.
  const platform = await startNames(t, { certs: { jobs: false } })
  platform.serve(userZone('example.com', [{ name: 'shop.example.com', type: 'A', data: '127.0.0.1' }]))
  const secondNode = await platform.node({ jobs: true })
  const originalChallenge = platform.certs.httpChallenge
  Object.assign(platform.certs, { httpChallenge: () => undefined })
  Object.assign(secondNode, { httpChallenge: () => undefined })

  const domain = await reserve(platform, 'shop.example.com')
  const job = await waitForFailure(platform, domain.id)

  Object.assign(platform.certs, { httpChallenge: originalChallenge })
  assert.equal(job.error_code, 'INTERNAL_ERROR')
  assert.match(job.msg, /refused a certificate for shop\.example\.com/)
})

test('failed validations are limited to four per name and hour, even if the name is reserved again', async (t) => {
  const platform = await startNames(t)
  platform.serve(userZone('example.com', [{ name: 'shop.example.com', type: 'A', data: '127.0.0.1' }]))
  await platform.certs.runDue()
  Object.assign(platform.certs, { httpChallenge: () => undefined })
  let domain = await reserve(platform, 'shop.example.com')
  await waitForFailure(platform, domain.id)
  const ordersBefore = platform.pebble.count('order')
  const start = platform.clock.offset

  for (let step = 0; step < 16; step += 1) {
    if (step === 8) {
      await platform.api.call('DELETE', `/reserved_domains/${domain.id}`)
      domain = await reserve(platform, 'shop.example.com')
    }
    platform.clock.offset += 3 * MINUTE
    await platform.certs.runDue()
  }
  const ordersInAnHour = platform.pebble.count('order') - ordersBefore + 1
  const job = await waitForFailure(platform, domain.id)
  platform.clock.offset = start + 62 * MINUTE
  await platform.certs.runDue()

  assert.equal(ordersInAnHour, 4)
  const retryDelayMs = Date.parse(job.retries_at) - Date.now() - start
  assert.ok(retryDelayMs > 55 * MINUTE, `it is tried again after ${retryDelayMs / MINUTE} min`)
  assert.ok(platform.pebble.count('order') - ordersBefore >= 4, 'after the hour it goes on')
})

test('without an ACME directory the status says so and names the setting', async (t) => {
  const platform = await startNames(t, { acme: false })

  const domain = await reserve(platform, 'shop.example.com')
  const ingress = await platform.api.call.create('/agent_ingresses', {
    domain: 'agents.example.com',
    certificate_management_policy: ECDSA,
  })

  for (const path of [`/reserved_domains/${domain.id}`, `/agent_ingresses/${ingress.id}`]) {
    const { certificate_management_status: status } = (await platform.api.call('GET', path)).body
    assert.equal(status.provisioning_job.error_code, null)
    assert.match(status.provisioning_job.msg, /no ACME directory is configured.*--acme-directory/)
    assert.equal(status.provisioning_job.retries_at, null)
  }
  const certificate = await platform.certs.lookup('shop.example.com')
  assert.match(certificate!.certPem, /BEGIN CERTIFICATE/)
})

test('pending certificates are issued once automatic certificates are enabled', async (t) => {
  const platform = await startNames(t, { acme: false })
  platform.serve(userZone('example.com', [{ name: 'shop.example.com', type: 'A', data: '127.0.0.1' }]))
  const domain = await reserve(platform, 'shop.example.com')
  await platform.certs.stop()

  await platform.node({ acme: { directory: platform.pebble.directory } })

  await eventually(async () => (await readStatus(platform, domain.id)).renews_at, 'the certificate')
})
