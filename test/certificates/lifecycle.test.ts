import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createAuthority, loadAuthority } from '../../src/certs/index.ts'
import { eventually } from '../support/eventually.ts'
import { type NamesPlatform, scanRows, startNames, userZone } from '../support/names.ts'

const ECDSA = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
const DAY = 24 * 60 * 60_000

async function readDomain({ api }: NamesPlatform, id: string) {
  return (await api.call('GET', `/reserved_domains/${id}`)).body
}

const DOMAIN = 'shop.example.com'

async function startPlatform(t: TestContext, validitySeconds?: number): Promise<NamesPlatform> {
  const platform = await startNames(t, validitySeconds === undefined ? {} : { pebble: { validitySeconds } })
  platform.serve(userZone('example.com', [{ name: '*.example.com', type: 'A', data: '127.0.0.1' }]))
  return platform
}

/** Reserves a domain and waits for its automatic certificate. */
async function issue(platform: NamesPlatform, domain: string) {
  const { id } = await platform.api.call.create('/reserved_domains', {
    domain,
    certificate_management_policy: ECDSA,
  })
  const issued = await eventually(async () => {
    const body = await readDomain(platform, id)
    return body.certificate_management_status.renews_at && body
  }, 'the certificate')
  await platform.certs.runDue()
  return issued
}

/** Starts a platform with a domain whose automatic certificate is issued, for tests that move its clock. */
async function startWithDomain(t: TestContext, validitySeconds?: number) {
  const platform = await startPlatform(t, validitySeconds)
  return { platform, domain: await issue(platform, DOMAIN) }
}

const readServedVersion = async ({ certs }: NamesPlatform, domain = DOMAIN) =>
  (await certs.lookup(domain))?.version

async function createUpload(domain: string): Promise<{ certificate_pem: string; private_key_pem: string }> {
  const authority = await loadAuthority(await createAuthority({ commonName: 'another CA' }))
  const leaf = await authority.issueLeaf({ names: [domain] })
  return { certificate_pem: leaf.certificatePem, private_key_pem: leaf.privateKeyPem.reveal() }
}

test('a managed certificate follows its domain', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform.api

  await t.test('a managed certificate cannot be deleted or detached through the API', async () => {
    const domain = await issue(platform, 'kept.example.com')

    const deleteResponse = await call('DELETE', `/tls_certificates/${domain.certificate.id}`)
    const detachResponse = await call('DELETE', `/reserved_domains/${domain.id}/certificate`)

    assert.deepEqual([deleteResponse.status, detachResponse.status], [409, 409])
  })

  await t.test(
    'a domain whose policy is detached keeps its certificate, which its owner may then delete',
    async () => {
      const domain = await issue(platform, 'detached.example.com')
      const countJobs = async () => (await scanRows(platform.api.store, 'certificate_jobs')).length
      const jobsBefore = await countJobs()

      await call('DELETE', `/reserved_domains/${domain.id}/certificate_management_policy`)

      const after = await readDomain(platform, domain.id)
      assert.equal(after.certificate_management_status, null)
      assert.equal(after.certificate.id, domain.certificate.id)
      assert.equal(await readServedVersion(platform, domain.domain), domain.certificate.id)
      assert.equal(await countJobs(), jobsBefore - 1, 'its job is gone')
      assert.equal((await call('DELETE', `/reserved_domains/${domain.id}/certificate`)).status, 204)
      assert.equal((await call('DELETE', `/tls_certificates/${domain.certificate.id}`)).status, 204)
    },
  )

  await t.test(
    "a certificate whose policy was detached stays its owner's when it is detached at once",
    async () => {
      const domain = await issue(platform, 'attached.example.com')
      const path = `/reserved_domains/${domain.id}`

      await call('DELETE', `${path}/certificate_management_policy`)
      await call('DELETE', `${path}/certificate`)
      await eventually(
        async () => (await readServedVersion(platform, domain.domain)) !== domain.certificate.id,
        'it is not served',
      )

      const attached = await call('PATCH', path, { body: { certificate_id: domain.certificate.id } })
      assert.equal(attached.status, 200, JSON.stringify(attached.body))
      await eventually(
        async () => (await readServedVersion(platform, domain.domain)) === domain.certificate.id,
        'it is served again',
      )
    },
  )

  await t.test('deleting a domain deletes its managed certificate', async () => {
    const domain = await issue(platform, 'deleted.example.com')

    await call('DELETE', `/reserved_domains/${domain.id}`)

    await eventually(async () => {
      const { status } = await call('GET', `/tls_certificates/${domain.certificate.id}`)
      return status === 404
    }, 'the certificate is gone')
    await eventually(
      async () => (await readServedVersion(platform, domain.domain)) === undefined,
      'nothing is served any more',
    )
  })

  await t.test('an uploaded certificate replaces the automatic one, and vice versa', async () => {
    const domain = await issue(platform, 'replaced.example.com')
    const upload = await call.create('/tls_certificates', await createUpload(domain.domain))

    await call('PATCH', `/reserved_domains/${domain.id}`, { body: { certificate_id: upload.id } })
    await eventually(
      async () => (await readServedVersion(platform, domain.domain)) === upload.id,
      'the uploaded one is served',
    )
    await eventually(async () => {
      return (await call('GET', `/tls_certificates/${domain.certificate.id}`)).status === 404
    }, 'the automatic one is gone')
    const manual = await readDomain(platform, domain.id)
    await call('PATCH', `/reserved_domains/${domain.id}`, { body: { certificate_management_policy: ECDSA } })
    const automatic = await eventually(async () => {
      const body = await readDomain(platform, domain.id)
      return body.certificate_management_status.renews_at && body
    }, 'a new automatic one')

    assert.equal(manual.certificate_management_policy, null)
    assert.equal(manual.certificate.id, upload.id)
    assert.notEqual(automatic.certificate.id, upload.id)
    assert.equal((await call('GET', `/tls_certificates/${upload.id}`)).status, 200)
  })

  await t.test(
    'changing the key type issues a new certificate, and the old one is served until then',
    async (t) => {
      const domain = await issue(platform, 'changed.example.com')
      const servedVersions = new Set<string>()
      const poller = setInterval(
        async () => servedVersions.add(String(await readServedVersion(platform, domain.domain))),
        5,
      )
      t.after(() => clearInterval(poller))

      await call('PATCH', `/reserved_domains/${domain.id}`, {
        body: { certificate_management_policy: { ...ECDSA, private_key_type: 'rsa' } },
      })

      const after = await eventually(async () => {
        const served = await platform.certs.lookup(domain.domain)
        return (
          new X509Certificate(served!.certPem).publicKey.asymmetricKeyType === 'rsa' &&
          readDomain(platform, domain.id)
        )
      }, 'an RSA certificate')
      await eventually(() => servedVersions.has(after.certificate.id), 'it was seen')
      assert.deepEqual([...servedVersions], [domain.certificate.id, after.certificate.id])
    },
  )
})

test('a certificate is renewed with a third of its lifetime left, at the time shown in the status', async (t) => {
  const { platform, domain } = await startWithDomain(t, 90 * 24 * 60 * 60)
  const renewsAt = Date.parse(domain.certificate_management_status.renews_at)

  platform.clock.offset = renewsAt - Date.now() - DAY
  await platform.certs.runDue()
  const before = await readDomain(platform, domain.id)
  platform.clock.offset += DAY + 60_000
  await platform.certs.runDue()
  const after = await readDomain(platform, domain.id)

  const remaining = Date.now() + 90 * DAY - renewsAt
  assert.ok(
    remaining >= 29.9 * DAY && remaining <= 33.1 * DAY,
    `renewed ${remaining / DAY} days before the end`,
  )
  // Compared by certificate: other names of the platform may be due on another day.
  assert.equal(before.certificate.id, domain.certificate.id)
  assert.notEqual(after.certificate.id, domain.certificate.id)
})

test('a clock that is ahead of the authority renews a certificate once, not again and again', async (t) => {
  const { platform } = await startWithDomain(t, 90 * 24 * 60 * 60)
  const orders = platform.pebble.count('order')

  platform.clock.offset = 89 * DAY
  await platform.certs.runDue()
  const renewals = platform.pebble.count('order') - orders
  await platform.certs.runDue()

  assert.equal(renewals, orders)
  assert.equal(platform.pebble.count('order') - orders, renewals)
})

test('while renewal fails the old certificate is served until it expires', async (t) => {
  const { platform, domain } = await startWithDomain(t, 90 * 24 * 60 * 60)
  platform.pebble.hook = () => 503
  platform.clock.offset = Date.parse(domain.certificate_management_status.renews_at) - Date.now() + 1000

  await platform.certs.runDue()

  const { certificate_management_status: status } = await readDomain(platform, domain.id)
  assert.equal(status.provisioning_job.error_code, 'INTERNAL_ERROR')
  assert.equal(status.renews_at, status.provisioning_job.retries_at)
  assert.equal(await readServedVersion(platform), domain.certificate.id)
  platform.clock.offset += 60 * DAY
  assert.match((await readServedVersion(platform)) ?? '', /^leaf-/)
})

test('the renewal window suggested by the authority (ARI) is used', async (t) => {
  const platform = await startNames(t, { pebble: { validitySeconds: 90 * 24 * 60 * 60 } })
  platform.serve(userZone('example.com', [{ name: '*.example.com', type: 'A', data: '127.0.0.1' }]))
  const start = new Date(Date.now() + 10 * DAY).toISOString()
  const end = new Date(Date.now() + 12 * DAY).toISOString()
  const requestedIds: string[] = []
  platform.pebble.renewalInfo = (id) => {
    requestedIds.push(id)
    return { start, end }
  }
  await platform.certs.stop()
  await platform.node()

  const { id } = await platform.api.call.create('/reserved_domains', {
    domain: 'shop.example.com',
    certificate_management_policy: ECDSA,
  })
  const renewsAt = await eventually(async () => {
    return (await readDomain(platform, id)).certificate_management_status.renews_at
  }, 'the certificate')

  assert.ok(renewsAt >= start.slice(0, 19) && renewsAt <= end, `${renewsAt} lies in the window`)
  assert.match(requestedIds.at(-1)!, /^[\w-]+\.[\w-]+$/)
})

test('setting the clock forward or back by an hour triggers no renewal and no expiry', async (t) => {
  const { platform, domain } = await startWithDomain(t, 90 * 24 * 60 * 60)
  const orders = platform.pebble.count('order')

  for (const step of [60, -120, 60]) {
    platform.clock.offset += step * 60_000
    await platform.certs.runDue()
    assert.equal(await readServedVersion(platform), domain.certificate.id)
  }

  assert.equal(platform.pebble.count('order'), orders)
})
