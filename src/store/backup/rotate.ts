import { randomBytes } from 'node:crypto'
import type { DurableStore } from '../durable-store.ts'
import type { SqlRecord } from '../engine/sql.ts'
import { readMasterKeys, writeMasterKeys } from '../seal/master-key.ts'
import { type MasterKey, type SealContext, sealedKeyId, toMasterKey } from '../seal/seal.ts'
import { type Sealer, settingSealContext } from '../seal/sealer.ts'
import { secretsSealContext } from '../write/rows.ts'

const PAGE_SIZE = 500

/**
 * Rewraps every sealed value with a new master key while the store is in use, and removes the old key from the file. An
 * interrupted rotation can be run again: both keys stay in the file until nothing needs the old one. Where several
 * machines have their own key file, call `addMasterKey` and distribute the file first.
 */
export async function rotateMasterKey(store: DurableStore): Promise<{ rewrapped: number }> {
  const { sealer, engine } = store
  const { keyring } = sealer
  keyring.reload()
  const current = await sealer.currentKey(engine.reader)
  if (keyring.keys.length === 1) addMasterKey(keyring.file)
  keyring.reload()
  // The last key of the file is the target, also when an interrupted rotation already switched to it.
  const target = keyring.keys.at(-1)!
  // From this commit on every process seals with the new key, so that one pass covers all older values.
  if (target.id !== current.id) await store.inTransaction((sql) => sealer.setCurrentKey(sql, target))
  const rewrapped = (await rewrapRows(store, target)) + (await rewrapSettings(store, target))
  writeMasterKeys(keyring.file, [target])
  keyring.reload()
  return { rewrapped }
}

/** Appends a new key to a file, for a later rotation. */
export function addMasterKey(file: string): void {
  const keys = readMasterKeys(file)
  writeMasterKeys(file, [...keys, toMasterKey(randomBytes(32))])
}

async function rewrapRows(store: DurableStore, target: MasterKey): Promise<number> {
  let count = 0
  let after = ''
  for (;;) {
    const page = await store.engine.reader.all(
      'SELECT account, kind, id, sealed FROM resources WHERE id > ? ORDER BY id LIMIT ?',
      after,
      PAGE_SIZE,
    )
    const staleRows = page.filter((row) => needsRewrap(row.sealed, target))
    if (staleRows.length > 0) {
      count += await store.inTransaction(async (sql) => {
        let updated = 0
        for (const row of staleRows) {
          const { account, kind, id } = row as Record<'account' | 'kind' | 'id', string>
          // A row written meanwhile is already sealed with the new key and is left alone.
          updated += await sql.run(
            'UPDATE resources SET sealed = ? WHERE account = ? AND kind = ? AND id = ? AND sealed = ?',
            rewrapValue(store.sealer, target, secretsSealContext({ account, kind, id }), row),
            account,
            kind,
            id,
            row.sealed!,
          )
        }
        return updated
      })
    }
    if (page.length < PAGE_SIZE) return count
    after = page.at(-1)!.id as string
    // The embedded engine is synchronous: yields to the event loop.
    await new Promise(setImmediate)
  }
}

async function rewrapSettings(
  { engine, sealer, inTransaction }: DurableStore,
  target: MasterKey,
): Promise<number> {
  const settings = await engine.reader.all('SELECT name, value AS sealed FROM settings WHERE sealed = 1')
  return inTransaction(async (sql) => {
    let updated = 0
    for (const setting of settings.filter(({ sealed }) => needsRewrap(sealed, target))) {
      updated += await sql.run(
        'UPDATE settings SET value = ? WHERE name = ? AND value = ?',
        rewrapValue(sealer, target, settingSealContext(String(setting.name)), setting),
        setting.name!,
        setting.sealed!,
      )
    }
    return updated
  })
}

function needsRewrap(sealed: SqlRecord[string] | undefined, target: MasterKey): boolean {
  return typeof sealed === 'string' && sealedKeyId(sealed) !== target.id
}

function rewrapValue(sealer: Sealer, target: MasterKey, context: SealContext, row: SqlRecord): string {
  return sealer.rewrap(target, context, row.sealed as string)
}
