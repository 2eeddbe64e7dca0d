import { randomBytes } from 'node:crypto'
import type { DurableStore } from './durable-store.ts'
import { readMasterKeys, writeMasterKeys } from './master-key.ts'
import { secretsPlace } from './rows.ts'
import { type MasterKey, masterKey, type SealedPlace, sealedWith } from './seal.ts'
import type { SqlRecord } from './sql.ts'
import { settingPlace, type Vault } from './vault.ts'

const PAGE = 500

/**
 * Wraps every sealed value with a new master key while the store is in use, and takes the old key out of the file.
 * Killed on the way it can be run again: both keys stay in the file until nothing needs the old one. Where several
 * machines have a key file of their own, `addMasterKey` and copying the file come first.
 */
export async function rotateMasterKey(store: DurableStore): Promise<{ rewrapped: number }> {
  const { vault, engine } = store
  const { keyring } = vault
  keyring.reload()
  const current = await vault.current(engine.reader)
  if (keyring.keys.length === 1) addMasterKey(keyring.file)
  keyring.reload()
  // The last key of the file is where rotation goes, also when an earlier one was cut short after switching to it.
  const target = keyring.keys.at(-1)!
  // From this commit on every process seals with the new key, so that one pass over the rest finds all of it.
  if (target.id !== current.id) await store.inTransaction((sql) => vault.makeCurrent(sql, target))
  const rewrapped = (await rewrapRows(store, target)) + (await rewrapSettings(store, target))
  writeMasterKeys(keyring.file, [target])
  keyring.reload()
  return { rewrapped }
}

/** Puts a fresh key behind those in a file, for a rotation later. */
export function addMasterKey(file: string): void {
  const keys = readMasterKeys(file)
  writeMasterKeys(file, [...keys, masterKey(randomBytes(32))])
}

async function rewrapRows(store: DurableStore, target: MasterKey): Promise<number> {
  let count = 0
  let after = ''
  for (;;) {
    const page = await store.engine.reader.all(
      'SELECT account, kind, id, sealed FROM resources WHERE id > ? ORDER BY id LIMIT ?',
      after,
      PAGE,
    )
    const stale = page.filter((row) => needsRewrap(row.sealed, target))
    if (stale.length > 0) {
      count += await store.inTransaction(async (sql) => {
        let done = 0
        for (const row of stale) {
          const { account, kind, id } = row as Record<'account' | 'kind' | 'id', string>
          // A row written meanwhile is sealed with the new key already, and is left alone.
          done += await sql.run(
            'UPDATE resources SET sealed = ? WHERE account = ? AND kind = ? AND id = ? AND sealed = ?',
            rewrapped(store.vault, target, secretsPlace({ account, kind, id }), row),
            account,
            kind,
            id,
            row.sealed!,
          )
        }
        return done
      })
    }
    if (page.length < PAGE) return count
    after = page.at(-1)!.id as string
    // The embedded engine answers without waiting: others get their turn here.
    await new Promise(setImmediate)
  }
}

async function rewrapSettings(
  { engine, vault, inTransaction }: DurableStore,
  target: MasterKey,
): Promise<number> {
  const settings = await engine.reader.all('SELECT name, value AS sealed FROM settings WHERE sealed = 1')
  return inTransaction(async (sql) => {
    let done = 0
    for (const setting of settings.filter(({ sealed }) => needsRewrap(sealed, target))) {
      done += await sql.run(
        'UPDATE settings SET value = ? WHERE name = ? AND value = ?',
        rewrapped(vault, target, settingPlace(String(setting.name)), setting),
        setting.name!,
        setting.sealed!,
      )
    }
    return done
  })
}

function needsRewrap(sealed: SqlRecord[string] | undefined, target: MasterKey): boolean {
  return typeof sealed === 'string' && sealedWith(sealed) !== target.id
}

function rewrapped(vault: Vault, target: MasterKey, place: SealedPlace, row: SqlRecord): string {
  return vault.rewrap(target, place, row.sealed as string)
}
