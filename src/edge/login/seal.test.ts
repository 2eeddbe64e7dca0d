import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../base/values/secret.ts'
import { createSeal } from './seal.ts'

const seal = createSeal(new Secret(Buffer.alloc(32, 1)))

test('a sealed value opens for the same purpose only', () => {
  const text = seal.encrypt('session', { a: 1 })

  assert.deepEqual(seal.decrypt('session', text), { a: 1 })
  for (const purpose of ['ticket', 'state', 'login x', 'session ', '', 'Session'])
    assert.equal(seal.decrypt(purpose, text), undefined, purpose)
})

test('altered, truncated, extended and foreign values are rejected', () => {
  const text = seal.encrypt('session', { a: 1 })
  const bytes = Buffer.from(text, 'base64url')

  for (let offset = 0; offset < bytes.length; offset++) {
    const changed = Buffer.from(bytes)
    changed[offset]! ^= 1
    assert.equal(seal.decrypt('session', changed.toString('base64url')), undefined, `byte ${offset}`)
    assert.equal(
      seal.decrypt('session', bytes.subarray(0, offset).toString('base64url')),
      undefined,
      `cut at ${offset}`,
    )
  }
  assert.equal(seal.decrypt('session', `${text}AAAA`), undefined)
  assert.equal(createSeal(new Secret(Buffer.alloc(32, 2))).decrypt('session', text), undefined)
})

test('equal values never look equal and cannot be read', () => {
  const texts = new Set(Array.from({ length: 50 }, () => seal.encrypt('session', 'ada@example.com')))

  assert.equal(texts.size, 50)
  for (const text of texts) assert.ok(!Buffer.from(text, 'base64url').includes('ada'))
})
