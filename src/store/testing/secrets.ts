import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom } from '../../../test/support/random.ts'
import { addMasterKey, rotateMasterKey } from '../backup/rotate.ts'
import { createMasterKeyFile, Keyring, MasterKeyError } from '../seal/master-key.ts'
import { UnsealError } from '../seal/seal.ts'
import { ACCOUNT, draft, put, type StoreContract, write } from './fixtures.ts'

/** Sealed values and the master key. */
export const secretContract: StoreContract = {
  'settings are stored, and sealed when they are secret': async ({ database, store }) => {
    await store.putSetting('cursor', '42')
    await store.putSetting('cursor', '41', { ifAbsent: true })
    assert.equal(await store.setting('cursor'), '42')
    await store.putSetting('cursor', '43')
    await store.putSetting('host_key', 'very secret', { secret: true })

    const second = await database.open()

    assert.equal(await second.setting('cursor'), '43')
    assert.equal(await second.setting('host_key'), 'very secret')
    assert.equal(await second.setting('none'), undefined)
    const stored = await database.execute("SELECT value FROM settings WHERE name = 'host_key'")
    assert.doesNotMatch(String(stored[0]?.value), /secret/)
  },

  'no file of the database contains a secret in plain text': async ({ t, database, store }) => {
    if (!database.directories) return t.skip('the files of this server are not accessible')
    const secrets = Array.from({ length: 20 }, () => `canary${randomBytes(18).toString('hex')}`)
    for (const [index, secret] of secrets.entries()) {
      const row = draft({ id: `th_${index}`, secrets: { token: secret } })
      await put(store, row)
      await write(store, (tx) => tx.update({ ...row, secrets: { token: secret, more: secret } }))
      await store.putSetting(`key_${index}`, secret, { secret: true })
      if (index % 2) await write(store, (tx) => tx.remove('thing', ACCOUNT, `th_${index}`))
    }
    await put(store, draft({ data: { description: 'findable text' } }))

    const leaked = new Set<string>()
    for (const bytes of filesIn(database.directories)) {
      for (const text of [...secrets, 'findable text']) if (bytes.includes(text)) leaked.add(text)
    }

    assert.deepEqual([...leaked], ['findable text'])
    assert.equal((await store.get('thing', ACCOUNT, 'th_0'))?.secrets?.token, secrets[0])
  },

  'a sealed value that was changed, truncated or moved does not unseal, and others still do': async ({
    database,
    store,
  }) => {
    await put(
      store,
      draft({ id: 'th_1', secrets: { token: 'one' } }),
      draft({ id: 'th_2', secrets: { token: 'two' } }),
      draft({ id: 'th_3', secrets: { token: 'three' } }),
    )
    const [first, second] = await database.execute('SELECT sealed FROM resources ORDER BY id')
    const good = String(first?.sealed)
    const random = createRandom()
    const broken = [String(second?.sealed), '', 'v1', 'v1...', good.replace('v1', 'v2'), `${good}.x`]
    for (let index = 0; index < 40; index += 1) {
      broken.push(good.slice(0, random.below(good.length - 1)))
      const position = good.lastIndexOf('.') - 20 - random.below(40)
      broken.push(good.slice(0, position) + (good[position] === 'A' ? 'B' : 'A') + good.slice(position + 1))
    }

    for (const sealed of broken) {
      await database.execute(`UPDATE resources SET sealed = '${sealed}' WHERE id = 'th_1'`)
      const rows = await store.list('thing', ACCOUNT, { limit: 10 })
      assert.throws(() => rows[2]?.secrets, UnsealError, `seed ${random.seed}: ${sealed}`)
      assert.deepEqual(rows[0]?.secrets, { token: 'three' })
    }

    await database.execute(`UPDATE resources SET sealed = '${good}' WHERE id = 'th_1'`)
    assert.deepEqual((await store.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'one' })
  },

  'a database does not open without its master key, or with another': async ({ database, store }) => {
    await store.close()
    const elsewhere = `${database.masterKeyFile}.elsewhere`

    await assert.rejects(database.open({ masterKeyFile: elsewhere }), (error) => {
      assert.ok(error instanceof MasterKeyError)
      assert.match(error.message, /missing.*put the file back/)
      return true
    })
    createMasterKeyFile(elsewhere)
    await assert.rejects(database.open({ masterKeyFile: elsewhere }), (error) => {
      assert.ok(error instanceof MasterKeyError)
      assert.match(error.message, /does not hold the key/)
      return true
    })

    await (await database.open()).check()
  },

  'the master key is rotated while the store is in use': async ({ database, store }) => {
    const other = await database.open()
    const before = `${database.masterKeyFile}.before`
    copyFileSync(database.masterKeyFile, before)
    await put(
      store,
      ...Array.from({ length: 50 }, (_, n) => draft({ id: `th_${n}`, secrets: { n: String(n) } })),
    )
    await store.putSetting('host_key', 'kept', { secret: true })
    const readBefore = await other.get('thing', ACCOUNT, 'th_7')

    let writing = true
    const writer = (async () => {
      for (let n = 0; writing; n += 1) {
        const row = draft({ id: `th_${n % 50}`, secrets: { n: String(n % 50) } })
        await write(n % 2 ? store : other, (tx) => tx.update(row))
      }
    })()
    const { rewrapped } = await rotateMasterKey(store)
    writing = false
    await writer
    await put(other, draft({ id: 'th_new', secrets: { n: 'new' } }))

    assert.ok(rewrapped >= 3, 'the settings of the store at least')
    await Promise.all([store.close(), other.close()])
    await assert.rejects(database.open({ masterKeyFile: before }), MasterKeyError)
    const reopened = await database.open()
    for (let n = 0; n < 50; n += 1) {
      assert.deepEqual((await reopened.get('thing', ACCOUNT, `th_${n}`))?.secrets, { n: String(n) })
    }
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_new'))?.secrets, { n: 'new' })
    assert.equal(await reopened.setting('host_key'), 'kept')
    assert.equal(await reopened.verifyAudit(ACCOUNT), undefined)
    assert.deepEqual(readBefore?.secrets, { n: '7' }, 'a row read before the rotation still unseals')
  },

  'an interrupted rotation is finished by the next': async ({ database, store }) => {
    await put(store, draft({ id: 'th_1', secrets: { token: 'old' } }))
    addMasterKey(database.masterKeyFile)
    const next = new Keyring(database.masterKeyFile).keys.at(-1)!
    // The state after a crash right after the switch: the new key is current, and nothing is rewrapped.
    await store.inTransaction((sql) => store.sealer.setCurrentKey(sql, next))
    await put(store, draft({ id: 'th_2', secrets: { token: 'new' } }))

    const other = await database.open()
    await rotateMasterKey(other)

    assert.deepEqual(new Keyring(database.masterKeyFile).keys, [next])
    const reopened = await database.open()
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'old' })
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_2'))?.secrets, { token: 'new' })
  },
}

function* filesIn(directories: readonly string[]): Generator<Buffer> {
  for (const directory of directories) {
    for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      const path = join(directory, name)
      try {
        if (statSync(path).isFile()) yield readFileSync(path)
      } catch (error) {
        // The server removes files meanwhile, such as logs that it recycles.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
    }
  }
}
