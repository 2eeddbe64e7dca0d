import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { writeMmdb } from '../../test/support/mmdb-writer.ts'
import { openStoreOf } from '../../test/support/open-store.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import { openIpDataFiles } from '../store/index.ts'
import { followIpData, importIpData } from './ip-data.ts'

async function openFiles(
  t: TestContext,
  { databaseUrl, dataDir = createTempDir() }: { databaseUrl?: string; dataDir?: string } = {},
) {
  const store = await openStoreOf({ dataDir, databaseUrl })
  /** Runs before the store is closed. */
  const cleanup: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const stop of cleanup) await stop()
    await store.close()
  })
  return { store, files: openIpDataFiles(store), cleanup, dataDir }
}

const importText = (
  files: Parameters<typeof importIpData>[0],
  path: string,
  text: string,
  category?: string,
) => importIpData(files, { path, bytes: Buffer.from(text), category }, systemClock)

test('a process uses files that are imported, replaced and removed while it runs', async (t) => {
  const { files, cleanup } = await openFiles(t)
  await importText(files, '/tmp/office.txt', '10.0.0.0/8\n', 'office')
  const data = followIpData(files, silentLog, 5)
  await data.start()
  cleanup.push(() => data.stop())
  assert.deepEqual(data.lookUp('10.1.2.3')?.categories, ['office'])

  await importText(files, '/tmp/office.txt', '10.0.0.0/8 home')
  await eventually(() => data.lookUp('10.1.2.3')?.categories?.[0] === 'home')
  const database = writeMmdb([['10.0.0.0/8', { country: { iso_code: 'AU' } }]])
  await importIpData(files, { path: 'places.mmdb', bytes: database, category: undefined }, systemClock)
  await eventually(() => data.lookUp('10.1.2.3')?.location?.country_code === 'AU')
  assert.equal(await files.remove('office.txt'), true)
  await eventually(() => data.lookUp('10.1.2.3')?.categories === undefined)
  assert.equal(await files.remove('office.txt'), false)
})

test('a node uses what was imported at another one, on PostgreSQL', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const importing = await openFiles(t, { databaseUrl })
  const { files, cleanup } = await openFiles(t, { databaseUrl, dataDir: importing.dataDir })
  const data = followIpData(files, silentLog, 5)
  await data.start()
  cleanup.push(() => data.stop())
  assert.equal(data.lookUp('10.1.2.3'), undefined)

  await importText(importing.files, 'office.txt', '10.0.0.0/8\n', 'office')
  // More than one chunk.
  const places = Array.from({ length: 256 }, (_, index): Parameters<typeof writeMmdb>[0][number] => [
    `10.${index}.0.0/16`,
    { city: { names: { en: `${index} ${'x'.repeat(3000)}` } }, country: { iso_code: 'AU' } },
  ])
  const bytes = writeMmdb(places)
  assert.ok(bytes.length > 600_000)
  await importIpData(importing.files, { path: 'places.mmdb', bytes, category: undefined }, systemClock)

  await eventually(() => data.lookUp('10.1.2.3')?.categories?.[0] === 'office')
  await eventually(() => data.lookUp('10.1.2.3')?.location?.country_code === 'AU')
  await importing.files.remove('places.mmdb')
  await eventually(() => data.lookUp('10.1.2.3')?.location === undefined)
})

test('a file of several chunks comes back as it was, and a removed one leaves nothing', async (t) => {
  const { store, files } = await openFiles(t)
  const bytes = Buffer.alloc(1_200_000, 'some bytes that repeat ')

  await files.put('large', bytes, 1)

  const [file] = await files.list()
  assert.deepEqual([file?.name, file?.size, file?.importedAt], ['large', bytes.length, 1])
  assert.ok((await files.read(file!))?.equals(bytes))
  await files.remove('large')
  assert.equal(await files.read(file!), undefined)
  assert.deepEqual(await store.engine.reader.all('SELECT number FROM ip_data_chunks'), [])
})

test('a file that cannot be used is rejected and changes nothing', async (t) => {
  const { files } = await openFiles(t)

  await assert.rejects(importText(files, 'a.txt', 'nonsense\nmore'), /a\.txt cannot be imported: line 2/)

  assert.deepEqual(await files.list(), [])
})

test('while files cannot be read, what was loaded before stays', async (t) => {
  let fails = false
  const bytes = writeMmdb([['10.0.0.0/8', { country: { iso_code: 'AU' } }]])
  let polls = 0
  const files = {
    async list() {
      polls++
      if (fails) throw new Error('the database is away')
      return [{ name: 'a', digest: 'a', size: 1, importedAt: 1 }]
    },
    read: async () => bytes,
  }
  const data = followIpData(files, silentLog, 5)
  await data.start()
  t.after(() => data.stop())
  fails = true
  const before = polls

  await eventually(() => polls > before + 1)

  assert.equal(data.lookUp('10.1.2.3')?.location?.country_code, 'AU')
})
