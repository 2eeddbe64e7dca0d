import type { Sql } from '../engine/sql.ts'
import { createMasterKeyFile, Keyring, MasterKeyError } from './master-key.ts'
import { type MasterKey, rewrap, type SealContext, seal, sealedKeyId, unseal } from './seal.ts'

const KEY_CHECK_SETTING = 'store.master_key'
const KEY_CHECK_TEXT = 'sealed by the current master key'

/** The context that the value of a setting is sealed with. */
export function settingSealContext(name: string): SealContext {
  return { account: '', kind: 'settings', id: name, column: 'value' }
}

/**
 * Seals and unseals the secrets of the store. The database records the current master key, as a value sealed with it,
 * and every transaction that seals reads it again: after a rotation no process can keep using the old key.
 */
export class Sealer {
  readonly #keyring: Keyring

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  get keyring(): Keyring {
    return this.#keyring
  }

  async seal(sql: Sql, context: SealContext, text: string): Promise<string> {
    return seal(await this.currentKey(sql), context, text)
  }

  unseal(context: SealContext, sealed: string): string {
    return unseal(this.#keyring.find, context, sealed)
  }

  rewrap(newKey: MasterKey, context: SealContext, sealed: string): string {
    return rewrap(this.#keyring.find, newKey, context, sealed)
  }

  /** The key that new values are sealed with. */
  async currentKey(sql: Sql): Promise<MasterKey> {
    const check = await sql.get('SELECT value FROM settings WHERE name = ?', KEY_CHECK_SETTING)
    const id = check && sealedKeyId(String(check.value))
    const key = id === undefined ? undefined : this.#keyring.find(id)
    if (!key) throw new MasterKeyError(wrongKeyMessage(this.#keyring.file, id))
    return key
  }

  /** Makes a key of the keyring the current one. */
  async setCurrentKey(sql: Sql, key: MasterKey): Promise<void> {
    await sql.run(
      `INSERT INTO settings (name, value, sealed) VALUES (?, ?, 1)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      KEY_CHECK_SETTING,
      seal(key, settingSealContext(KEY_CHECK_SETTING), KEY_CHECK_TEXT),
    )
  }
}

/**
 * Opens the sealer of a database, inside a write transaction. Only a database that has never had a key gets a new one; for
 * any other database, a missing or wrong key fails the start.
 */
export async function openSealer(sql: Sql, keyFile: string): Promise<Sealer> {
  const check = await sql.get('SELECT value FROM settings WHERE name = ?', KEY_CHECK_SETTING)
  if (!check) {
    createMasterKeyFile(keyFile)
    const sealer = new Sealer(new Keyring(keyFile))
    await sealer.setCurrentKey(sql, sealer.keyring.keys.at(-1)!)
    return sealer
  }
  const sealer = new Sealer(new Keyring(keyFile))
  try {
    sealer.unseal(settingSealContext(KEY_CHECK_SETTING), String(check.value))
  } catch {
    throw new MasterKeyError(wrongKeyMessage(keyFile, sealedKeyId(String(check.value))))
  }
  return sealer
}

function wrongKeyMessage(file: string, id: string | undefined): string {
  return `The master key file ${file} does not hold the key ${id} that this database is sealed with: put the right key file back, or name it with --master-key-file.`
}
