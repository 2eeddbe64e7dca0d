import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemAuditEntry } from '../../src/certs/acme/job-store.ts'
import { describeRetries, retryCertificates } from '../../src/certs/index.ts'
import { eventually } from '../support/eventually.ts'
import { type NamesPlatform, startNames, userZone } from '../support/names.ts'

async function readJob({ api }: NamesPlatform, id: string) {
  const { body } = await api.call('GET', `/reserved_domains/${id}`)
  return body.certificate_management_status.provisioning_job
}

/** Reserves a domain whose record is missing, and waits until its job does. */
async function reserveWaiting(platform: NamesPlatform) {
  const domain = await platform.api.call.create('/reserved_domains', { domain: 'shop.example.com' })
  await eventually(async () => (await readJob(platform, domain.id))?.error_code, 'the job waits')
  const records = [{ name: 'shop.example.com', type: 'CNAME' as const, data: domain.cname_target }]
  return { domain, fixDns: () => platform.serve(userZone('example.com', records)) }
}

// At the same time: most of each test is waiting for the job to fail.
describe('retries of waiting jobs', { concurrency: 3 }, () => {
  test('any update of a reserved domain retries its waiting job at once', async (t) => {
    const platform = await startNames(t)
    const { domain, fixDns } = await reserveWaiting(platform)

    fixDns()
    const { status } = await platform.api.call('PATCH', `/reserved_domains/${domain.id}`, { body: {} })

    assert.equal(status, 200)
    await eventually(
      async () => (await readJob(platform, domain.id)) === null,
      'a certificate, without waiting',
    )
  })

  test('the operator retries a waiting job at once', async (t) => {
    const platform = await startNames(t)
    const { store } = platform.api
    const { domain, fixDns } = await reserveWaiting(platform)

    fixDns()
    const outcomes = await retryCertificates({ store, clock: platform.clock }, 'shop.example.com')

    assert.equal(describeRetries(outcomes, platform.clock.now() + 1), 'shop.example.com: the job runs now.\n')
    await eventually(
      async () => (await readJob(platform, domain.id)) === null,
      'a certificate, without waiting',
    )
    const [done] = await retryCertificates({ store, clock: platform.clock }, 'shop.example.com')
    assert.equal(done?.dueAt, undefined)
    assert.deepEqual(await retryCertificates({ store, clock: platform.clock }, 'none.example.com'), [])
  })

  test('a retry waits as long as the authority asked for', async (t) => {
    const platform = await startNames(t)
    const { store } = platform.api
    const { domain, fixDns } = await reserveWaiting(platform)
    fixDns()
    const jobId = `certificate_job_${domain.id}`
    const { accountId } = platform.api.account
    const notBefore = platform.clock.now() + 3_600_000
    await store.write({}, async (tx) => {
      const row = (await tx.get('certificate_jobs', accountId, jobId))!
      await tx.update({
        ...row,
        data: { ...row.data, notBefore, dueAt: notBefore },
        claims: [],
        references: [],
      })
      const entry = { account: accountId, action: 'test', kind: 'certificate_jobs', object: jobId }
      await tx.audit(systemAuditEntry(platform.clock, entry))
    })

    await platform.api.call('PATCH', `/reserved_domains/${domain.id}`, { body: { description: 'fixed' } })
    const [outcome] = await retryCertificates({ store, clock: platform.clock }, 'shop.example.com')
    await platform.certs.runDue()

    assert.equal(outcome?.dueAt, notBefore)
    assert.match(
      describeRetries([outcome], platform.clock.now()),
      /the job runs at .*; the limits of the authority/,
    )
    assert.notEqual(await readJob(platform, domain.id), null)
  })
})
