import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { addMasterKey } from '../backup/rotate.ts'
import { createMasterKeyFile, Keyring, MasterKeyError } from './master-key.ts'

function keyFile(): string {
  const directory = createTempDir()
  return join(directory, 'master.key')
}

test('a new key file holds 32 random bytes and only its owner can read it', () => {
  const file = keyFile()

  createMasterKeyFile(file)

  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(Buffer.from(readFileSync(file, 'utf8').trim(), 'base64').length, 32)
  assert.deepEqual(readdirSync(join(file, '..')), ['master.key'])
})

test('an existing key file is never replaced', () => {
  const file = keyFile()
  createMasterKeyFile(file)
  const before = readFileSync(file, 'utf8')

  createMasterKeyFile(file)

  assert.equal(readFileSync(file, 'utf8'), before)
})

test('a key file that others can read, or a group can write, is rejected with the command to fix it', () => {
  const file = keyFile()
  createMasterKeyFile(file)

  for (const mode of [0o604, 0o602, 0o601, 0o620, 0o777]) {
    chmodSync(file, mode)
    assert.throws(
      () => new Keyring(file),
      (error) => error instanceof MasterKeyError && error.message.includes(`run chmod 600 ${file}`),
    )
  }
  chmodSync(file, 0o440)
  assert.equal(new Keyring(file).keys.length, 1)
})

test('a file that is not a key is rejected, and the error does not repeat its text', () => {
  const file = keyFile()

  for (const text of ['', 'hunter2', 'A'.repeat(43), `${'A'.repeat(43)}=x`, '{"key":"hunter2"}']) {
    writeFileSync(file, text, { mode: 0o600 })
    assert.throws(
      () => new Keyring(file),
      (error) => error instanceof MasterKeyError && !error.message.includes('hunter2'),
      text,
    )
  }
})

test('a running keyring finds a key that was added to its file, and keeps its cached keys', () => {
  const file = keyFile()
  createMasterKeyFile(file)
  const keyring = new Keyring(file)
  const [old] = keyring.keys
  addMasterKey(file)
  const added = new Keyring(file).keys.at(-1)
  rmSync(file)
  createMasterKeyFile(file)
  const replaced = new Keyring(file).keys[0]

  assert.equal(keyring.find(replaced!.id)?.id, replaced?.id)
  assert.equal(keyring.find(old!.id)?.id, old?.id)
  assert.equal(keyring.find(added!.id), undefined)
})
