import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { silentLog } from '../../src/base/process/log.ts'
import { openStore } from '../../src/store/index.ts'
import { eventually } from '../support/eventually.ts'
import { type NamesPlatform, scanRows, startNames, userZone } from '../support/names.ts'
import { PATHS } from '../support/pebble.ts'
import { createTestDatabase } from '../support/postgres.ts'

const ECDSA = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
const wildcardZone = userZone('example.com', [{ name: '*.example.com', type: 'A', data: '127.0.0.1' }])

async function reserve({ api }: NamesPlatform, domain: string) {
  return api.call.create('/reserved_domains', { domain, certificate_management_policy: ECDSA })
}

/** Waits for a certificate; retries of the authority and of a slow machine take their time. */
function waitForCertificate({ api }: NamesPlatform, id: string) {
  return eventually(
    async () => {
      const { body } = await api.call('GET', `/reserved_domains/${id}`)
      return body.certificate_management_status.renews_at && body
    },
    `a certificate for ${id}`,
    120_000,
  )
}

/** Starts a certificate worker in its own process on this database; it is killed with the test. */
function startWorker(t: TestContext, { api, pebble, dnsPort }: NamesPlatform, url: string): ChildProcess {
  const { dataDir } = api
  const { directory, ca } = pebble
  const worker = spawn(process.execPath, [join(import.meta.dirname, '../support/certificate-worker.ts')], {
    env: { ...process.env, WORKER: JSON.stringify({ url, dataDir, directory, ca, dnsPort }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => worker.kill('SIGKILL'))
  return worker
}

/** Starts a platform that has its own certificate and runs no certificate jobs. */
async function startWithoutJobs(t: TestContext, url: string): Promise<NamesPlatform> {
  const platform = await startNames(t, { databaseUrl: url, certs: { jobs: false } })
  platform.serve(wildcardZone)
  const first = await platform.node({ jobs: true })
  await first.runDue()
  await first.stop()
  return platform
}

/** Holds back the first request to a resource until `release` is called; `arrived` resolves once it is received. */
function holdFirst(platform: NamesPlatform, prefix: string): { arrived: Promise<void>; release(): void } {
  let release = () => {}
  const released = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined)
  })
  const arrived = new Promise<void>((resolve) => {
    let first = true
    platform.pebble.hook = (path) => {
      if (!first || !path.startsWith(prefix)) return undefined
      first = false
      resolve()
      return released
    }
  })
  return { arrived, release }
}

/** A worker process that orders a certificate; the authority holds its first request to this path. */
async function startHeldOrder(t: TestContext, path: string) {
  const { url } = await createTestDatabase(t)
  const platform = await startWithoutJobs(t, url)
  const ordersBefore = platform.pebble.count('order')
  const held = holdFirst(platform, path)
  const domain = await reserve(platform, 'shop.example.com')
  const worker = startWorker(t, platform, url)
  const countOrders = () => platform.pebble.count('order') - ordersBefore
  return { platform, domain, worker, held, countOrders }
}

// At the same time: most of each test is waiting for the authority or for a lease.
describe('certificates despite faults', { concurrency: 3 }, () => {
  test('issuance succeeds when half of all nonces are rejected', async (t) => {
    const platform = await startNames(t, { pebble: { rejectNonces: 50 } })
    platform.serve(wildcardZone)

    const domain = await reserve(platform, 'shop.example.com')

    await waitForCertificate(platform, domain.id)
    assert.equal(platform.pebble.count('order'), 2, 'one for the domain, one for the platform itself')
  })

  test('issuance succeeds despite a server error on every third request and slow validation', async (t) => {
    const platform = await startNames(t, { pebble: { sleepSeconds: 2 } })
    platform.serve(wildcardZone)
    await platform.certs.runDue()
    let requests = 0
    platform.pebble.hook = (path) => {
      requests += 1
      return requests % 3 === 0 && path !== PATHS.order ? 500 : undefined
    }

    const domain = await reserve(platform, 'shop.example.com')

    await waitForCertificate(platform, domain.id)
  })

  test('twenty concurrent names each get a certificate with one order from an unreliable authority', async (t) => {
    const platform = await startNames(t, { pebble: { rejectNonces: 50 } })
    platform.serve(wildcardZone)
    await platform.certs.runDue()
    const ordersBefore = platform.pebble.count('order')
    let requests = 0
    platform.pebble.hook = (path) => {
      requests += 1
      return requests % 20 === 0 && path !== PATHS.order ? 500 : undefined
    }

    const domains = await Promise.all(
      Array.from({ length: 20 }, (_, n) => reserve(platform, `name-${n}.example.com`)),
    )
    for (const domain of domains) await waitForCertificate(platform, domain.id)

    assert.equal(platform.pebble.count('order') - ordersBefore, 20)
  })

  for (const engine of ['SQLite', 'PostgreSQL'] as const)
    test(`two nodes on one ${engine} store place one order per name`, async (t) => {
      const url = engine === 'PostgreSQL' ? (await createTestDatabase(t)).url : undefined
      const platform = await startNames(t, url === undefined ? {} : { databaseUrl: url })
      platform.serve(wildcardZone)
      await platform.certs.runDue()
      // On PostgreSQL the second node has connections of its own, as it would on another machine.
      const store =
        url === undefined
          ? platform.api.store
          : await openStore({
              url,
              dataDir: platform.api.dataDir,
              masterKeyFile: join(platform.api.dataDir, 'master.key'),
              clock: platform.clock,
              log: silentLog,
            })
      if (store !== platform.api.store) t.after(() => store.close())
      const second = await platform.node({ store })
      const ordersBefore = platform.pebble.count('order')

      const domains = await Promise.all(
        Array.from({ length: 12 }, (_, n) => reserve(platform, `name-${n}.example.com`)),
      )
      for (const domain of domains) await waitForCertificate(platform, domain.id)
      await eventually(async () => {
        const served = await Promise.all(domains.map(({ domain }) => second.lookup(domain)))
        return served.every((certificate) => certificate?.version.startsWith('cert_'))
      }, 'the other node serves them')

      assert.equal(platform.pebble.count('order') - ordersBefore, 12)
      const certificates = await scanRows(platform.api.store, 'tls_certificates')
      assert.equal(certificates.filter(({ account }) => account !== 'platform').length, 12)
    })

  test('the order of a node killed before finalization is finished by another node', async (t) => {
    const { platform, domain, worker, held, countOrders } = await startHeldOrder(t, PATHS.finalize)
    const exited = once(worker, 'exit')

    await Promise.race([held.arrived, exited.then(() => assert.fail('the worker ended by itself'))])
    worker.kill('SIGKILL')
    await exited
    await platform.node({ jobs: true, leaseMs: 2000 })
    await waitForCertificate(platform, domain.id)

    assert.equal(countOrders(), 1, 'one order, although two processes worked on it')
  })

  test('a node paused beyond its lease does not act on it after resuming', async (t) => {
    const { platform, domain, worker, held, countOrders } = await startHeldOrder(t, PATHS.challenge)
    await held.arrived
    worker.kill('SIGSTOP')

    await platform.node({ jobs: true, leaseMs: 2000 })
    const issuedDomain = await waitForCertificate(platform, domain.id)
    const idle = once(worker.stdout!, 'data', { signal: AbortSignal.timeout(120_000) })
    held.release()
    worker.kill('SIGCONT')
    await idle

    const current = (await platform.api.call('GET', `/reserved_domains/${domain.id}`)).body
    assert.equal(current.certificate.id, issuedDomain.certificate.id)
    assert.equal(countOrders(), 1)
    const certificates = await scanRows(platform.api.store, 'tls_certificates')
    assert.equal(certificates.filter(({ account }) => account !== 'platform').length, 1)
  })
})
