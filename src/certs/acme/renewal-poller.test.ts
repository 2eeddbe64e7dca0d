import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openStore } from '../../store/index.ts'
import { createAuthority, loadAuthority } from '../x509/authority.ts'
import { KeyGenerator } from '../x509/keys.ts'
import type { AcmeClient } from './client/client.ts'
import { PLATFORM, platformSubject } from './client/subject.ts'
import { INVENTORY_KINDS, Inventory } from './inventory.ts'
import { defaultTimings, type IssueContext } from './issue.ts'
import { type Job, newJob, toJobDraft } from './job.ts'
import { systemAuditEntry } from './job-store.ts'
import { RenewalPoller } from './renewal-poller.ts'

const DAY = 24 * 60 * 60 * 1000
const subject = platformSubject('adit.test')!

/** The platform's own certificate in a store, and an authority that suggests a renewal window. */
async function startPoller(t: TestContext, window: { start: number; end: number } | undefined) {
  const dataDir = createTempDir()
  const clock = systemClock
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ dataDir, masterKeyFile, clock, log: silentLog })
  t.after(() => store.close())
  const authority = await loadAuthority(await createAuthority())
  const { certificatePem } = await authority.issueLeaf({ names: ['adit.test'] })
  const certificate: NonNullable<Job['certificate']> = {
    id: 'cert_1',
    directory: 'https://ca.example',
    keyType: 'ecdsa',
    names: subject.names,
    notAfter: Date.now() + 90 * DAY,
    renewsAt: Date.now() + 60 * DAY,
  }
  await store.write({}, async (tx) => {
    await tx.insert({
      kind: 'tls_certificates',
      id: 'cert_1',
      account: PLATFORM,
      data: { certificate_pem: certificatePem, managed: true, not_after: new Date(certificate.notAfter) },
      secrets: { private_key_pem: 'key' },
      claims: [],
      references: [],
    })
    const job = { ...newJob(subject), dueAt: certificate.renewsAt, certificate }
    await tx.insert(toJobDraft(subject, { job, key: undefined }))
    await tx.audit(
      systemAuditEntry(clock, { account: PLATFORM, action: 'test', kind: 'test', object: undefined }),
    )
  })
  const inventory = new Inventory('adit.test', silentLog)
  const following = await store.follow(INVENTORY_KINDS, inventory)
  t.after(() => following.stop())
  let polls = 0
  const acme = {
    directoryUrl: 'https://ca.example',
    renewalWindow: async () => {
      polls += 1
      return window
    },
  } as unknown as AcmeClient
  const tools: IssueContext = {
    ...{ store, acme, inventory, clock, timings: defaultTimings, nameServers: [], log: silentLog },
    resolver: { addresses: async () => [], cname: async () => [], ns: async () => [], txt: async () => [] },
    keys: new KeyGenerator(),
    random: () => 0,
  }
  const poller = new RenewalPoller(tools, { holder: 'test', leaseMs: 5000 })
  const renewsAt = () => inventory.jobs.get(PLATFORM)!.certificate!.renewsAt
  return { poller, renewsAt, planned: certificate.renewsAt, polls: () => polls }
}

test('a renewal moves when the authority suggests another time', async (t) => {
  const start = Date.now() + 3 * DAY
  const { poller, renewsAt } = await startPoller(t, { start, end: start + DAY })

  await poller.run()

  await eventually(() => renewsAt() === start, 'the renewal is planned for the window')
})

test('a revoked certificate, whose window has passed, is renewed now', async (t) => {
  const { poller, renewsAt } = await startPoller(t, { start: 0, end: 1 })

  await poller.run()

  await eventually(() => renewsAt() <= Date.now(), 'the renewal is due')
})

test('a renewal within the window, or without a window, stays, and is not polled again at once', async (t) => {
  for (const window of [undefined, { start: Date.now(), end: Date.now() + 80 * DAY }]) {
    const { poller, renewsAt, planned, polls } = await startPoller(t, window)

    await poller.run()
    await poller.run()

    assert.equal(renewsAt(), planned)
    assert.equal(polls(), 1)
  }
})
