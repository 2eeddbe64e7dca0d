import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import { openStore } from '../../src/store/index.ts'
import { type NamesPlatform, rowsOf, startNames, until, userZone } from '../support/names.ts'
import { freshDatabase } from '../support/postgres.ts'

const ECDSA = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
const everyName = userZone('example.com', [{ name: '*.example.com', type: 'A', data: '127.0.0.1' }])

async function reserve({ api }: NamesPlatform, domain: string) {
  return api.call.create('/reserved_domains', { domain, certificate_management_policy: ECDSA })
}

function issued({ api }: NamesPlatform, id: string, milliseconds?: number) {
  return until(
    `a certificate for ${id}`,
    async () => {
      const { body } = await api.call('GET', `/reserved_domains/${id}`)
      return body.certificate_management_status.renews_at && body
    },
    milliseconds,
  )
}

test('half of all nonces rejected makes no difference', async (t) => {
  const platform = await startNames(t, { pebble: { rejectNonces: 50 } })
  platform.serve(everyName)

  const domain = await reserve(platform, 'shop.example.com')

  await issued(platform, domain.id)
  assert.equal(platform.pebble.count('finalize') >= 1, true)
})

test('every third answer a server error and slow validation only take longer', async (t) => {
  const platform = await startNames(t, { pebble: { sleepSeconds: 2 } })
  platform.serve(everyName)
  await platform.certs.runDue()
  let requests = 0
  platform.pebble.hook = (path) => {
    requests += 1
    return requests % 3 === 0 && path !== '/order-plz' ? 500 : undefined
  }

  const domain = await reserve(platform, 'shop.example.com')

  await issued(platform, domain.id, 40_000)
})

test('fifty names at once all get their certificate, each with one order', async (t) => {
  const platform = await startNames(t)
  platform.serve(everyName)
  await platform.certs.runDue()
  const before = platform.pebble.count('order')
  let longest = 0
  let last = performance.now()
  const pulse = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  t.after(() => clearInterval(pulse))

  const domains = await Promise.all(
    Array.from({ length: 50 }, (_, n) => reserve(platform, `name-${n}.example.com`)),
  )
  for (const domain of domains) await issued(platform, domain.id, 60_000)

  assert.equal(platform.pebble.count('order') - before, 50)
  assert.ok(longest < 1000, `nothing else ran for ${Math.round(longest)} ms`)
})

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(`two nodes on one ${engine} store never order twice`, async (t) => {
    const url = engine === 'PostgreSQL' ? (await freshDatabase(t)).url : undefined
    const platform = await startNames(t, url === undefined ? {} : { databaseUrl: url })
    platform.serve(everyName)
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
    const before = platform.pebble.count('order')

    const domains = await Promise.all(
      Array.from({ length: 12 }, (_, n) => reserve(platform, `name-${n}.example.com`)),
    )
    for (const domain of domains) await issued(platform, domain.id, 30_000)
    await until('the other node has heard of them', async () => {
      const served = await Promise.all(domains.map(({ domain }) => second.lookup(domain)))
      return served.every((each) => each?.version.startsWith('cert_'))
    })

    assert.equal(platform.pebble.count('order') - before, 12)
    const certificates = await rowsOf(platform.api.store, 'tls_certificates')
    assert.equal(certificates.filter(({ account }) => account !== 'platform').length, 12)
  })

test('a node killed between order and finalise leaves an order that the next one finishes', async (t) => {
  const platform = await startNames(t, { certs: { jobs: false } })
  platform.serve(everyName)
  let held = false
  platform.pebble.hook = async (path) => {
    if (!path.startsWith('/finalize-order/') || !held) return undefined
    reached()
    return new Promise(() => {})
  }
  let reached = () => {}
  const finalising = new Promise<void>((resolve) => {
    reached = resolve
  })
  // The platform's own certificate first, so that what is killed is about the domain alone.
  const first = await platform.node({ jobs: true })
  await first.runDue()
  await first.stop()
  const before = platform.pebble.count('order')
  held = true
  const database = await platform.api.store.revision()
  const domain = await reserve(platform, 'shop.example.com')
  const worker = spawn(process.execPath, [join(import.meta.dirname, '../support/certificate-worker.ts')], {
    env: {
      ...process.env,
      WORKER: JSON.stringify({
        dataDir: platform.api.dataDir,
        directory: platform.pebble.directory,
        ca: platform.pebble.ca,
        dnsPort: platform.dnsPort,
      }),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(worker, 'exit')

  await Promise.race([finalising, ended.then(() => assert.fail('the worker ended by itself'))])
  worker.kill('SIGKILL')
  await ended
  held = false
  await platform.node({ jobs: true, leaseMs: 2000 })
  await issued(platform, domain.id, 30_000)

  assert.ok(database >= 0)
  assert.equal(platform.pebble.count('order') - before, 1, 'one order, although two processes worked on it')
})
