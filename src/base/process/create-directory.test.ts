import assert from 'node:assert/strict'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createDirectory } from './create-directory.ts'

test('a directory is created with its parents and its mode, and may exist already', () => {
  const path = join(createTempDir(), 'a', 'b', 'c')

  createDirectory(path, 0o700)
  createDirectory(path, 0o700)

  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
})

test('a link to a directory stands for it', () => {
  const root = createTempDir()
  symlinkSync(root, join(root, 'link'))

  createDirectory(join(root, 'link'))
  createDirectory(join(root, 'link', 'below'))

  assert.ok(statSync(join(root, 'below')).isDirectory())
})

test('a file in its place, or on the way to it, is an error', () => {
  const file = join(createTempDir(), 'file')
  writeFileSync(file, '')

  assert.throws(() => createDirectory(file), { code: 'EEXIST' })
  assert.throws(() => createDirectory(join(file, 'below')), { code: 'ENOTDIR' })
})

test('a file system that takes no directories is an error, not an endless loop', {
  skip: process.platform !== 'linux',
}, () => {
  assert.throws(() => createDirectory('/proc/adit/data'), { code: 'ENOENT', path: '/proc/adit' })
})
