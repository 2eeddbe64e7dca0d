import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { lockFile } from './file-lock.ts'

test('a file is locked once, until it is released', () => {
  const path = join(createTempDir(), 'lock')
  const release = lockFile(path)

  assert.ok(release)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(lockFile(path), undefined)
  release()
  const again = lockFile(path)
  assert.ok(again)
  again()
  assert.equal(statSync(path).size, 0)
})

test('a lock in a directory that does not exist throws', () => {
  assert.throws(() => lockFile(join(createTempDir(), 'none', 'lock')), /unable to open/)
})
