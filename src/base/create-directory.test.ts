import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDirectory } from './create-directory.ts'

function createRoot(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'adit-directory-'))
  t.after(() => rmSync(root, { recursive: true }))
  return root
}

test('a directory is created with its parents and its mode, and may exist already', (t) => {
  const path = join(createRoot(t), 'a', 'b', 'c')

  createDirectory(path, 0o700)
  createDirectory(path, 0o700)

  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
})

test('a link to a directory stands for it', (t) => {
  const root = createRoot(t)
  symlinkSync(root, join(root, 'link'))

  createDirectory(join(root, 'link'))
  createDirectory(join(root, 'link', 'below'))

  assert.ok(statSync(join(root, 'below')).isDirectory())
})

test('a file in its place, or on the way to it, is an error', (t) => {
  const file = join(createRoot(t), 'file')
  writeFileSync(file, '')

  assert.throws(() => createDirectory(file), { code: 'EEXIST' })
  assert.throws(() => createDirectory(join(file, 'below')), { code: 'ENOTDIR' })
})

test('a file system that takes no directories is an error, not an endless loop', {
  skip: process.platform !== 'linux',
}, () => {
  assert.throws(() => createDirectory('/proc/adit/data'), { code: 'ENOENT', path: '/proc/adit' })
})
