import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { ConfigError } from '../config/error.ts'
import { readManifest, readUpdateKey } from './manifest.ts'

const keys = generateKeyPairSync('ed25519')
const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024

const VALID = {
  name: 'adit',
  version: '1.3.0',
  archive: { file: 'adit-server-1.3.0.tgz', sha256: 'a'.repeat(64), size: 1000 },
}

function read(content: unknown, key: KeyObject = keys.privateKey) {
  const bytes = Buffer.from(JSON.stringify(content))
  return readManifest(bytes, sign(null, bytes, key).toString('base64'), keys.publicKey)
}

test('a signed manifest names a version and its archive', () => {
  assert.deepEqual(read(VALID), { version: VALID.version, archive: VALID.archive, executables: {} })
})

test('a manifest names the executable of each platform', () => {
  const executables = { 'linux-x64': { file: 'adit-1.3.0-linux-x64.gz', sha256: 'b'.repeat(64), size: 9 } }
  assert.deepEqual(read({ ...VALID, executables }).executables, executables)
  assert.throws(() => read({ ...VALID, executables: { 'linux-x64': { file: '../x' } } }), /names no archive/)
})

test('a manifest of another product is rejected, even with a good signature', () => {
  assert.throws(() => read({ ...VALID, name: 'other' }), /names no version of adit/)
})

test('a signature of another key, or of other bytes, is rejected', () => {
  assert.throws(() => read(VALID, generateKeyPairSync('ed25519').privateKey), /does not match the update key/)
  const signature = sign(null, Buffer.from('other'), keys.privateKey).toString('base64')
  assert.throws(
    () => readManifest(Buffer.from(JSON.stringify(VALID)), signature, keys.publicKey),
    /does not match the update key/,
  )
  assert.throws(
    () => readManifest(Buffer.from(JSON.stringify(VALID)), 'AAAA', keys.publicKey),
    /does not match the update key/,
  )
})

for (const [what, content, message] of [
  ['no object', 'adit', /names no version/],
  ['no version', { ...VALID, version: undefined }, /names no version/],
  ['a version that is none', { ...VALID, version: 'latest' }, /names no version/],
  ['a version in a list', { ...VALID, version: ['1.3.0'] }, /names no version/],
  ['no archive', { ...VALID, archive: undefined }, /names no archive/],
  [
    'an archive outside the channel',
    { ...VALID, archive: { ...VALID.archive, file: '../x' } },
    /names no archive/,
  ],
  [
    'a file name that begins with a dot',
    { ...VALID, archive: { ...VALID.archive, file: '.x' } },
    /names no archive/,
  ],
  [
    'a file name that is too long',
    { ...VALID, archive: { ...VALID.archive, file: 'x'.repeat(202) } },
    /names no archive/,
  ],
  [
    'a digest of 63 digits',
    { ...VALID, archive: { ...VALID.archive, sha256: 'a'.repeat(63) } },
    /no SHA-256/,
  ],
  [
    'a digest of 65 digits',
    { ...VALID, archive: { ...VALID.archive, sha256: 'a'.repeat(65) } },
    /no SHA-256/,
  ],
  ['a digest in a list', { ...VALID, archive: { ...VALID.archive, sha256: ['a'.repeat(64)] } }, /no SHA-256/],
  ['no digest', { ...VALID, archive: { ...VALID.archive, sha256: 1 } }, /no SHA-256/],
  ['an empty archive', { ...VALID, archive: { ...VALID.archive, size: 0 } }, /no size/],
  [
    'an archive that is too large',
    { ...VALID, archive: { ...VALID.archive, size: MAX_ARCHIVE_BYTES + 1 } },
    /no size/,
  ],
  ['a size that is no number', { ...VALID, archive: { ...VALID.archive, size: '1000' } }, /no size/],
] as const)
  test(`a manifest with ${what} is rejected`, () => {
    assert.throws(() => read(content), message)
  })

test('an archive of the maximum size and a file name of the maximum length are accepted', () => {
  const archive = { ...VALID.archive, file: 'x'.repeat(201), size: MAX_ARCHIVE_BYTES }

  assert.deepEqual(read({ ...VALID, archive }).archive, archive)
})

test('an update key is read from PEM, from a file and from 32 bytes in base64', () => {
  const pem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const raw = Buffer.from(String(keys.publicKey.export({ format: 'jwk' }).x), 'base64url')
  const dir = createTempDir()
  // A part of these names could be a key in base64.
  const files = ['key.pem', `.${'k'.repeat(43)}`, `${'k'.repeat(43)}.pem`].map((name) => join(dir, name))
  for (const file of files) writeFileSync(file, pem)

  for (const text of [pem, ...files, raw.toString('base64'), raw.toString('base64url')])
    assert.ok(readUpdateKey(text).equals(keys.publicKey), text)
})

test('an update key of another kind, or a missing file, is rejected with a sentence', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey

  for (const text of [rsa.export({ type: 'spki', format: 'pem' }).toString(), '/no/such/key.pem', ''])
    assert.throws(
      () => readUpdateKey(text),
      (error) => error instanceof ConfigError && /update_key cannot be used/.test(error.message),
    )
})
