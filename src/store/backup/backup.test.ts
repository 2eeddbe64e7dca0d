import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { mountSmallDisk } from '../../../test/support/full-disk.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createRandom } from '../../../test/support/random.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { TABLES } from '../engine/schema.ts'
import {
  BackupError,
  backup,
  type DurableStore,
  MasterKeyError,
  NewerSchema,
  openStore,
  restore,
} from '../index.ts'
import { draft, put, write } from '../testing/fixtures.ts'
import { assertNothingLost, startWriters } from '../write/writers.contract.ts'

interface Location {
  readonly url?: string
  readonly dataDir: string
  readonly log: typeof silentLog
}

async function createLocation(t: TestContext, engine: 'sqlite' | 'postgres'): Promise<Location> {
  const dataDir = createTempDir()
  if (engine === 'sqlite') return { dataDir, log: silentLog }
  return { url: (await createTestDatabase(t)).url, dataDir, log: silentLog }
}

async function openAt(t: TestContext, location: Location): Promise<DurableStore> {
  const store = await openStore({
    ...location,
    masterKeyFile: join(location.dataDir, 'master.key'),
    clock: systemClock,
  })
  t.after(() => store.close())
  return store
}

async function readTables(store: DurableStore): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {}
  for (const table of TABLES) {
    const rows = await store.engine.reader.all(`SELECT * FROM ${table}`)
    tables[table] = rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort()
  }
  return tables
}

for (const from of ['sqlite', 'postgres'] as const) {
  for (const to of ['sqlite', 'postgres'] as const) {
    test(`a backup of ${from} is restored into ${to} completely`, async (t) => {
      const source = await createLocation(t, from)
      const secret = `canary${randomBytes(16).toString('hex')}`
      const store = await openAt(t, source)
      await put(store, draft({ id: 'th_1', secrets: { secret }, claims: [{ scope: 'name', name: 'one' }] }))
      await put(
        store,
        draft({ id: 'th_2', references: [{ field: 'via', target: 'th_1', onDelete: 'restrict' }] }),
      )
      await put(store, ...Array.from({ length: 1_100 }, () => draft()))
      await write(store, (tx) => tx.update(draft({ id: 'th_2', data: { text: 'ä\u0000\u{1f600}' } })))
      await store.putSetting('host_key', secret, { secret: true })
      await store.lease('job', 'node', 60_000)
      await store.pruneChanges(1)
      const archive = join(createTempDir(), 'backup.db')

      await backup(source, archive)
      const target = await createLocation(t, to)
      await restore(target, archive)
      copyFileSync(join(source.dataDir, 'master.key'), join(target.dataDir, 'master.key'))
      const restored = await openAt(t, target)

      assert.deepEqual(await readTables(restored), await readTables(store))
      assert.deepEqual((await restored.get('thing', 'ac_one', 'th_1'))?.secrets, { secret })
      assert.equal(await restored.verifyAudit('ac_one'), undefined)
      await put(restored, draft())
      const bytes = readFileSync(archive)
      const key = readFileSync(join(source.dataDir, 'master.key'), 'utf8').trim()
      for (const hidden of [secret, key, Buffer.from(key, 'base64')]) assert.ok(!bytes.includes(hidden))
      assert.equal(statSync(archive).mode & 0o077, 0)
    })
  }
}

test('a backup taken during writes is consistent', async (t) => {
  const source = await createLocation(t, 'sqlite')
  const archives = createTempDir()
  const writers = await startWriters(source.dataDir, undefined, 'run')

  for (const name of ['1', '2', '3']) await backup(source, join(archives, name))
  await writers.kill()

  for (const name of ['1', '2', '3']) {
    const target = await createLocation(t, 'sqlite')
    await restore(target, join(archives, name))
    copyFileSync(join(source.dataDir, 'master.key'), join(target.dataDir, 'master.key'))
    await assertNothingLost(await openAt(t, target), new Map())
  }
  assert.deepEqual(readdirSync(archives).sort(), ['1', '2', '3'])
})

test('a restored database without its master key does not open, and the error says what is missing', async (t) => {
  const source = await createLocation(t, 'sqlite')
  await put(await openAt(t, source), draft({ secrets: { token: 'sealed' } }))
  const archive = join(createTempDir(), 'backup.db')
  await backup(source, archive)
  const target = await createLocation(t, 'sqlite')
  await restore(target, archive)

  await assert.rejects(openAt(t, target), (error) => {
    assert.ok(error instanceof MasterKeyError)
    assert.match(error.message, /^The master key file .*master\.key is missing.*: put the file back/)
    return true
  })
  assert.ok(!existsSync(join(target.dataDir, 'master.key')))
})

test('a backup never replaces a file, and a restore never replaces a database', async (t) => {
  const source = await createLocation(t, 'sqlite')
  const postgres = await createLocation(t, 'postgres')
  await put(await openAt(t, source), draft())
  await openAt(t, postgres)
  const archive = join(createTempDir(), 'backup.db')
  await backup(source, archive)

  await assert.rejects(backup(source, archive), BackupError)
  await assert.rejects(restore(source, archive), BackupError)
  await assert.rejects(restore(postgres, archive), BackupError)
  await assert.rejects(backup(await createLocation(t, 'sqlite'), `${archive}.2`), /There is no database/)
  await assert.rejects(restore(await createLocation(t, 'sqlite'), `${archive}.3`), /There is no file/)
})

/** Turns a backup into one of a release that wrote no digest. */
function withoutDigest(file: string, statements = ''): void {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA application_id = 0; ${statements}`)
  const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number }
  const { page_count: count } = database.prepare('PRAGMA page_count').get() as { page_count: number }
  database.close()
  truncateSync(file, size * count)
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a backup of ${engine} with any flipped bit or missing byte is rejected`, async (t) => {
    const source = await createLocation(t, engine)
    await put(await openAt(t, source), ...Array.from({ length: 50 }, () => draft()))
    const archive = join(createTempDir(), 'backup.db')
    await backup(source, archive)
    const intact = readFileSync(archive)
    const random = createRandom()
    t.diagnostic(`SEED=${random.seed}`)
    const target = await createLocation(t, 'sqlite')
    const trailer = Array.from({ length: 90 }, (_, index) => intact.length - 1 - index)
    const anywhere = Array.from({ length: 300 }, () => random.below(intact.length))

    for (const offset of [...anywhere, ...trailer, ...Array.from({ length: 100 }, (_, index) => index)]) {
      const damaged = Buffer.from(intact)
      damaged[offset]! ^= 1 << random.below(8)
      writeFileSync(archive, damaged)
      await assert.rejects(restore(target, archive), BackupError, `a bit of byte ${offset} is flipped`)
    }
    for (const length of [0, 1, 71, 4096, intact.length - 84, intact.length - 1]) {
      writeFileSync(archive, intact.subarray(0, length))
      await assert.rejects(restore(target, archive), BackupError, `cut to ${length} bytes`)
    }

    assert.deepEqual(readdirSync(target.dataDir), [])
    writeFileSync(archive, intact)
    assert.deepEqual(await restore(target, archive), { verified: true })
  })

test('a backup of an earlier release, without a digest, is restored and reported as unverified', async (t) => {
  const source = await createLocation(t, 'sqlite')
  const store = await openAt(t, source)
  await put(store, draft({ id: 'th_1' }))
  const archive = join(createTempDir(), 'backup.db')
  await backup(source, archive)
  withoutDigest(archive)
  const target = await createLocation(t, 'sqlite')

  assert.deepEqual(await restore(target, archive), { verified: false })

  copyFileSync(join(source.dataDir, 'master.key'), join(target.dataDir, 'master.key'))
  assert.deepEqual(await readTables(await openAt(t, target)), await readTables(store))
})

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a backup of ${engine} to a full disk fails with a clear error and leaves no files`, async (t) => {
    const disk = await mountSmallDisk(t, 2)
    if (disk === undefined) return
    const source = await createLocation(t, engine)
    await put(await openAt(t, source), ...Array.from({ length: 50 }, () => draft()))
    await disk.fill()
    const before = readdirSync(disk.path)

    await assert.rejects(backup(source, join(disk.path, 'backup.db')), (error) => {
      assert.ok(error instanceof BackupError)
      assert.match(error.message, /backup\.db cannot be written: the disk is full/)
      return true
    })

    assert.deepEqual(readdirSync(disk.path), before)
  })

test('a damaged or newer backup is rejected and leaves no files', async (t) => {
  const source = await createLocation(t, 'sqlite')
  await put(await openAt(t, source), ...Array.from({ length: 200 }, () => draft()))
  const archive = join(createTempDir(), 'backup.db')
  await backup(source, archive)
  const target = await createLocation(t, 'sqlite')
  const damaged = (name: string, damage: (file: string) => void) => {
    const file = `${archive}.${name}`
    copyFileSync(archive, file)
    damage(file)
    return file
  }
  const short = damaged('short', (file) => truncateSync(file, 40_000))
  const text = damaged('text', (file) => writeFileSync(file, 'not a database'))
  const newer = damaged('newer', (file) =>
    withoutDigest(file, 'INSERT INTO schema_versions (version, compatible_from) VALUES (1000, 1)'),
  )

  await assert.rejects(restore(target, short), BackupError)
  await assert.rejects(restore(target, text), BackupError)
  await assert.rejects(restore(target, newer), NewerSchema)

  assert.deepEqual(readdirSync(target.dataDir), [])
})
