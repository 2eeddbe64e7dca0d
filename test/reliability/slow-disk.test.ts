import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startServerProcess } from '../support/server-process.ts'
import { holdSyncs } from '../support/slow-disk.ts'
import { createTempDir } from '../support/temp-dir.ts'

const NAME = 'steady.adit.localhost'
const REQUESTS = 100

for (const workers of [1, 2])
  test(`visitors and reads of the API do not wait for the disk, with --workers ${workers}`, {
    timeout: 120_000,
  }, async (t) => {
    const server = await startServerProcess(t, createTempDir(), ['--workers', String(workers)])
    const local = await startHttp(t, (_request, response) => response.end('served'))
    const agent = await startAgent(t, server)
    await agent.forward({ addr: local, domain: NAME, schemes: ['http'] })
    const call = createClient(server.url, server.apiKey)
    const { id } = await call.create('/ip_policies', { description: 'stored' })
    const disk = await holdSyncs(t, server.pid)
    if (disk === undefined) return

    let confirmed = 0
    const writes = ['one', 'two'].map(async (description) => {
      await call.create('/ip_policies', { description })
      confirmed += 1
    })
    for (let count = 0; count < REQUESTS; count++)
      assert.deepEqual(await fetchHost(server, NAME), { status: 200, body: 'served' })
    assert.equal((await call('GET', `/ip_policies/${id}`)).body.description, 'stored')

    const probe = async () => {
      const response = await fetch(`${server.url}/readyz?strict`)
      return `${response.status} ${await response.text()}`
    }
    const notReady = await eventually(async () => {
      const readiness = await probe()
      return readiness.startsWith('503') && readiness
    }, 'the server is not ready while its disk hangs')

    assert.match(notReady, /The database has not confirmed a write for \d+ s: its disk may hang/)
    assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 503)
    // The leases of the names have ended.
    assert.deepEqual(await fetchHost(server, NAME), { status: 200, body: 'served' })
    assert.equal(confirmed, 0, 'no write is confirmed before it is on the disk')
    await disk.release()
    await Promise.all(writes)
    await eventually(async () => (await probe()).startsWith('200'), 'the server is ready again')
    assert.deepEqual(await fetchHost(server, NAME), { status: 200, body: 'served' })
  })
