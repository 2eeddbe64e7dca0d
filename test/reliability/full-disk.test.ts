import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { mountSmallDisk } from '../support/full-disk.ts'
import { startHttp } from '../support/local-server.ts'
import { httpPortOf, startLeggedAgent } from '../support/rolling-restart.ts'
import { startServerProcess } from '../support/server-process.ts'
import { startLoad } from '../support/steady-load.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'app.adit.localhost'

for (const [state, method] of [
  ['stopped', 'stop'],
  ['killed', 'kill'],
] as const)
  test(`a server that was ${state} restarts on a full disk without losing data`, async (t) => {
    const disk = await mountSmallDisk(t)
    if (disk === undefined) return
    const dataDir = join(disk.path, 'data')
    const first = await startServerProcess(t, dataDir)
    const call = createClient(first.url, first.apiKey)
    const { id } = await call.create('/ip_policies', { description: 'before the disk was full' })
    await first[method]()
    const root = await readFile(join(dataDir, 'ca.pem'), 'utf8')
    const { api_key: apiKey } = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'))
    await disk.fill()

    const second = await startServerProcess(t, dataDir)

    const url = /API and dashboard +(\S+)/.exec(second.output())![1]!
    const callAgain = createClient(url, apiKey)
    assert.equal((await callAgain('GET', `/ip_policies/${id}`)).body.description, 'before the disk was full')
    assert.equal(await readFile(join(dataDir, 'ca.pem'), 'utf8'), root)
    assert.equal(second.apiKey, apiKey)
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.endsWith('.new')),
      [],
    )
    await disk.free()
    await callAgain.create('/ip_policies', { description: 'after it' })
    await second.stop()
  })

for (const workers of [1, 2])
  test(`with ${workers} workers, a full disk that rejects writes fails no request under load (P4)`, async (t) => {
    const disk = await mountSmallDisk(t, 64)
    if (disk === undefined) return
    const server = await startServerProcess(t, join(disk.path, 'data'), ['--workers', String(workers)])
    const call = createClient(server.url, server.apiKey)
    const upstream = await startHttp(t, (_request, response) => response.end('served'))
    await startLeggedAgent(t, server, { upstream, host: HOST })
    const load = startLoad(t, { host: HOST, perSecond: 200, ports: () => [httpPortOf(server)] })
    const sendMore = (requests: number) => {
      const before = load.sent
      return eventually(() => load.sent >= before + requests)
    }
    await sendMore(100)

    await disk.fill()

    // The write-ahead log may have room for some more.
    const untilRejected = () =>
      eventually(async () => (await call('POST', '/ip_policies', { body: {} })).status === 503)
    await untilRejected()
    await sendMore(500)
    await untilRejected()
    await disk.free()
    await call.create('/ip_policies', {})
    await sendMore(100)
    const { total, failed, counts } = await load.stop()
    assert.equal(failed, 0, `${failed} of ${total} failed: ${JSON.stringify(counts)}`)
  })

test('the first start on a full disk fails with one error message and exit code 1', async (t) => {
  const disk = await mountSmallDisk(t, 4)
  if (disk === undefined) return
  await disk.fill()

  await assert.rejects(startServerProcess(t, join(disk.path, 'data')), /ERROR: {2}.*(disk is full|disk I\/O)/)
})

test('readiness fails while the disk is full and recovers when space is freed', async (t) => {
  const disk = await mountSmallDisk(t)
  if (disk === undefined) return
  const server = await startServerProcess(t, join(disk.path, 'data'))
  const call = createClient(server.url, server.apiKey)
  const { id } = await call.create('/ip_policies', {})
  assert.equal((await call('GET', '/readyz?strict')).status, 200)

  await disk.fill()

  const readiness = await call('GET', '/readyz?strict')
  assert.equal(readiness.status, 503)
  assert.match(readiness.body.reason, /disk .*is full/)
  assert.equal((await call('GET', '/healthz')).status, 200)
  assert.equal((await call('GET', `/ip_policies/${id}`)).status, 200)
  await disk.free()
  assert.equal((await call('GET', '/readyz?strict')).status, 200)
  await call.create('/ip_policies', {})
})

test('readiness reports failing writes while the disk has space, and recovers when they succeed', async (t) => {
  if (spawnSync('prlimit', ['--version']).status !== 0) return t.skip('util-linux prlimit is not installed')
  const server = await startServerProcess(t, createTempDir(), ['--roles', 'api'])
  const call = createClient(server.url, server.apiKey)
  const limitFileSize = (bytes: string) => {
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:`], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  }

  limitFileSize('1')

  assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 503)
  const readiness = await call('GET', '/readyz?strict')
  assert.equal(readiness.status, 503)
  assert.match(readiness.body.reason, /database/)
  limitFileSize('unlimited')
  assert.equal((await call('GET', '/readyz?strict')).status, 200)
  await call.create('/ip_policies', {})
})
