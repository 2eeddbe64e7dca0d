import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { mountSmallDisk } from '../support/full-disk.ts'
import { startServerProcess } from '../support/server-process.ts'

for (const [how, end] of [
  ['stopped', 'stop'],
  ['killed', 'kill'],
] as const)
  test(`a server that was ${how} starts again on a full disk, and loses nothing by it`, async (t) => {
    const disk = await mountSmallDisk(t)
    if (disk === undefined) return
    const dataDir = join(disk.path, 'data')
    const first = await startServerProcess(t, dataDir)
    const call = createClient(first.url, first.apiKey)
    const { id } = await call.create('/ip_policies', { description: 'before the disk was full' })
    await first[end]()
    const root = await readFile(join(dataDir, 'ca.pem'), 'utf8')
    const { api_key: apiKey } = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'))
    await disk.fill()

    const second = await startServerProcess(t, dataDir)

    const url = /API and dashboard +(\S+)/.exec(second.said())![1]!
    const later = createClient(url, apiKey)
    assert.equal((await later('GET', `/ip_policies/${id}`)).body.description, 'before the disk was full')
    assert.equal(await readFile(join(dataDir, 'ca.pem'), 'utf8'), root)
    assert.equal(second.apiKey, apiKey)
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.endsWith('.new')),
      [],
    )
    await disk.free()
    await later.create('/ip_policies', { description: 'after it' })
    await second.stop()
  })

test('the first start on a full disk ends with one sentence and exit code 1', async (t) => {
  const disk = await mountSmallDisk(t, 4)
  if (disk === undefined) return
  await disk.fill()

  await assert.rejects(startServerProcess(t, join(disk.path, 'data')), /ERROR: {2}.*(disk is full|disk I\/O)/)
})
