import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../base/secret.ts'
import { createSeal } from './seal.ts'

const seal = createSeal(new Secret(Buffer.alloc(32, 1)))

test('what was sealed is opened for the same purpose alone', () => {
  const text = seal.close('session', { a: 1 })

  assert.deepEqual(seal.open('session', text), { a: 1 })
  for (const purpose of ['ticket', 'state', 'login x', 'session ', '', 'Session'])
    assert.equal(seal.open(purpose, text), undefined, purpose)
})

test('nothing else is opened: changed, cut, grown, or of another key', () => {
  const text = seal.close('session', { a: 1 })
  const bytes = Buffer.from(text, 'base64url')

  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    assert.equal(seal.open('session', changed.toString('base64url')), undefined, `byte ${at}`)
    assert.equal(seal.open('session', bytes.subarray(0, at).toString('base64url')), undefined, `cut at ${at}`)
  }
  assert.equal(seal.open('session', `${text}AAAA`), undefined)
  assert.equal(createSeal(new Secret(Buffer.alloc(32, 2))).open('session', text), undefined)
})

test('the same value never looks the same, and cannot be read', () => {
  const texts = new Set(Array.from({ length: 50 }, () => seal.close('session', 'ada@example.com')))

  assert.equal(texts.size, 50)
  for (const text of texts) assert.ok(!Buffer.from(text, 'base64url').includes('ada'))
})
