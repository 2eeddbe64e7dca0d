import assert from 'node:assert/strict'
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { isInFallbackCopy } from '../../../test/support/fallback-copy.ts'
import { createRandom } from '../../../test/support/random.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { countDroppedCommits } from '../engine/sqlite/sqlite-log.ts'
import { acceptLoss, backup, describeLoss, openStore, restore, StoreUnavailable } from '../index.ts'
import { draft, put } from '../testing/fixtures.ts'
import { startWriters } from '../write/writers.contract.ts'

const FILES = ['adit.db', 'adit.db-wal', 'adit.db-highwater', 'master.key']

const optionsFor = (dataDir: string) => ({
  ...{ dataDir, masterKeyFile: join(dataDir, 'master.key') },
  ...{ clock: systemClock, log: silentLog },
})

async function openIn(t: TestContext, dataDir: string) {
  const store = await openStore(optionsFor(dataDir))
  t.after(() => store.close())
  return store
}

/** A copy of a database as it is, like that of a process killed now. */
function copyOf(dataDir: string): string {
  const copy = createTempDir()
  for (const name of FILES) copyFileSync(join(dataDir, name), join(copy, name))
  return copy
}

/** A data directory whose process was killed after these acknowledged writes, all of them in the log. */
async function killedAfter(t: TestContext, writes: number): Promise<string> {
  const dataDir = createTempDir()
  const store = await openIn(t, dataDir)
  for (let index = 0; index < writes; index++) await put(store, draft({ id: `th_${index}` }))
  return copyOf(dataDir)
}

function flipBit(file: string, offset: number, bit: number): void {
  const bytes = readFileSync(file)
  bytes[offset]! ^= 1 << bit
  writeFileSync(file, bytes)
}

test('sqlite: one flipped bit anywhere in the log loses nothing, or the database is not opened', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const killed = await killedAfter(t, 20)
  const { size } = statSync(join(killed, 'adit.db-wal'))
  let found = 0

  for (let round = 0; round < 60; round++) {
    const dataDir = copyOf(killed)
    // Headers of the log and of its frames are a small part of it.
    const offset = round < 32 ? round : random.below(size)
    flipBit(join(dataDir, 'adit.db-wal'), offset, random.below(8))
    const before = FILES.map((name) => readFileSync(join(dataDir, name)))

    const opened = await openStore(optionsFor(dataDir)).catch((error: Error) => error)

    if (opened instanceof Error) {
      found += 1
      assert.ok(opened instanceof StoreUnavailable)
      assert.match(opened.message, /damaged.*adit server repair --accept-loss/)
      for (const [index, name] of FILES.entries())
        assert.ok(before[index]!.equals(readFileSync(join(dataDir, name))), `${name} is as it was`)
    } else {
      assert.equal((await opened.list('thing', 'ac_one', { limit: 100 })).length, 20, `bit at ${offset}`)
      await opened.close()
    }
  }

  assert.ok(found > 30, `${found} damaged logs were found`)
})

test('sqlite: a flipped bit in the last commit is noticed by the high-water mark', async (t) => {
  const dataDir = await killedAfter(t, 3)
  const log = join(dataDir, 'adit.db-wal')
  flipBit(log, statSync(log).size - 10, 0)

  // It might be what a power failure leaves of a commit that was never confirmed.
  assert.equal(countDroppedCommits(log), 1)
  assert.match(
    describeLoss(dataDir) ?? '',
    /^1 changes and 1 audit records .* \(it is at revision 2 and was at 3\)$/,
  )
})

test('sqlite: an unfinished commit at the end of the log is no damage', async (t) => {
  const dataDir = await killedAfter(t, 3)
  const whole = readFileSync(join(dataDir, 'adit.db-wal'))
  const store = await openIn(t, dataDir)
  await put(store, draft({ id: 'th_unconfirmed' }))
  const { length } = readFileSync(join(dataDir, 'adit.db-wal'))

  const torn = copyOf(dataDir)
  for (const name of ['adit.db-highwater', 'adit.db']) copyFileSync(join(dataDir, name), join(torn, name))
  truncateSync(join(torn, 'adit.db-wal'), length - 1)

  assert.equal(countDroppedCommits(join(torn, 'adit.db-wal')), 0)
  assert.ok(length > whole.length)
})

test('sqlite: a log that began anew over an older one is no damage, also while other processes write to it', async () => {
  const dataDir = createTempDir()
  const writers = await startWriters(dataDir, undefined, 'r')
  for (let round = 0; round < 50; round++) {
    assert.equal(describeLoss(dataDir), undefined)
    await new Promise(setImmediate)
  }
  await writers.kill()

  assert.equal(describeLoss(dataDir), undefined)
})

test('sqlite: a file that was replaced by an earlier one, cut or emptied is not opened', async (t) => {
  const dataDir = createTempDir()
  const first = await openIn(t, dataDir)
  await put(first, draft())
  await first.close()
  const earlier = copyOf(dataDir)
  const second = await openIn(t, dataDir)
  await put(second, draft())
  await second.close()

  const replaced = copyOf(dataDir)
  for (const name of ['adit.db', 'adit.db-wal']) copyFileSync(join(earlier, name), join(replaced, name))
  const cut = copyOf(dataDir)
  truncateSync(join(cut, 'adit.db'), 8192)
  const emptied = copyOf(dataDir)
  truncateSync(join(emptied, 'adit.db'))

  for (const damaged of [replaced, cut, emptied])
    await assert.rejects(openStore(optionsFor(damaged)), /damaged/)
  await assert.rejects(backup({ dataDir: replaced, log: silentLog }, join(replaced, 'backup')), /damaged/)
})

/** A data directory whose copy has all changes, and a copy of the directory before the last two of them. */
async function withEarlier(t: TestContext): Promise<{ dataDir: string; earlier: string }> {
  const dataDir = createTempDir()
  const first = await openIn(t, dataDir)
  await put(first, draft({ id: 'th_1' }))
  await first.close()
  const earlier = copyOf(dataDir)
  const second = await openStore({ ...optionsFor(dataDir), keepCopy: true })
  await put(second, draft({ id: 'th_2' }))
  await put(second, draft({ id: 'th_3' }))
  await eventually(() => isInFallbackCopy(dataDir, 'th_3'), 'the copy has all changes')
  await second.close()
  return { dataDir, earlier }
}

/** Opens a database beside a copy that is newer; resolves when the copy has followed it. */
async function openBesideNewerCopy(t: TestContext, dataDir: string): Promise<void> {
  const store = await openStore({ ...optionsFor(dataDir), keepCopy: true })
  t.after(() => store.close())
  await put(store, draft({ id: 'th_new' }))
  await eventually(() => isInFallbackCopy(dataDir, 'th_new'), 'the copy follows the database')
  assert.ok(!isInFallbackCopy(dataDir, 'th_2'))
}

test('sqlite: a database that was replaced by an earlier one with its high-water mark is noticed by the fallback copy', async (t) => {
  const { dataDir, earlier } = await withEarlier(t)
  for (const name of FILES) copyFileSync(join(earlier, name), join(dataDir, name))

  assert.match(describeLoss(dataDir) ?? '', /^2 changes and 0 audit records .* revision 1 and was at 3\)$/)
  await assert.rejects(openStore(optionsFor(dataDir)), /damaged/)

  acceptLoss(dataDir, 'damaged-1')
  assert.equal(describeLoss(dataDir), undefined)
  await openBesideNewerCopy(t, dataDir)
})

test('sqlite: a backup that is older than the fallback copy beside it is restored, and the copy follows it', async (t) => {
  const { dataDir, earlier } = await withEarlier(t)
  await backup({ dataDir: earlier, log: silentLog }, join(earlier, 'backup'))
  for (const name of readdirSync(dataDir)) if (name.startsWith('adit.db')) rmSync(join(dataDir, name))

  await restore({ dataDir, log: silentLog }, join(earlier, 'backup'))

  assert.equal(describeLoss(dataDir), undefined)
  await openBesideNewerCopy(t, dataDir)
})

test('sqlite: the fallback copy of another database proves nothing, nor does a damaged one', async (t) => {
  const { dataDir } = await withEarlier(t)
  const other = await killedAfter(t, 1)
  const copy = join(other, 'last-known.db')
  for (const name of ['last-known.db', 'last-known.db-wal'])
    copyFileSync(join(dataDir, name), join(other, name))

  assert.equal(describeLoss(other), undefined)
  writeFileSync(copy, 'not a database at all '.repeat(1000))
  assert.equal(describeLoss(other), undefined)
})

test('sqlite: a repaired database is used with what is left, keeps all files and never assigns a lost revision again', async (t) => {
  const dataDir = await killedAfter(t, 5)
  const log = join(dataDir, 'adit.db-wal')
  flipBit(log, statSync(log).size - 10, 0)
  const damaged = readFileSync(log)

  acceptLoss(dataDir, 'damaged-1')

  assert.equal(describeLoss(dataDir), undefined)
  const store = await openIn(t, dataDir)
  assert.equal((await store.list('thing', 'ac_one', { limit: 100 })).length, 4)
  assert.ok((await store.revision()) > 5)
  await put(store, draft())
  assert.equal(await store.verifyAudit('ac_one'), undefined)
  assert.deepEqual(readFileSync(join(dataDir, 'damaged-1', 'adit.db-wal')), damaged)
})

test('sqlite: a restored backup is older than what was there, and no damage', async (t) => {
  const source = createTempDir()
  const store = await openIn(t, source)
  await put(store, draft())
  await backup({ dataDir: source, log: silentLog }, join(source, 'backup'))
  const dataDir = createTempDir()
  writeFileSync(join(dataDir, 'adit.db-highwater'), '{"revision":100,"audits":100}')
  copyFileSync(join(source, 'master.key'), join(dataDir, 'master.key'))

  await restore({ dataDir, log: silentLog }, join(source, 'backup'))

  assert.equal((await (await openIn(t, dataDir)).list('thing', 'ac_one', { limit: 10 })).length, 1)
})
