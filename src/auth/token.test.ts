import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { newId } from '../base/values/id.ts'
import { isTokenShaped, mintToken, tokenDigest } from './token.ts'

test('a token begins with its id and carries 256 random bits', () => {
  const id = newId('ak')

  const tokens = Array.from({ length: 1000 }, () => mintToken(id).reveal())

  for (const token of tokens) {
    const [prefix, secret = ''] = token.split('_')
    assert.equal(`ak_${prefix}`, id)
    assert.ok(Math.log2(62 ** secret.length) >= 256)
    assert.ok(isTokenShaped(token))
  }
  assert.equal(new Set(tokens).size, tokens.length)
})

test('every character of the alphabet is about equally likely', () => {
  const text = Array.from({ length: 2000 }, () => mintToken('ak_').reveal().slice(1)).join('')
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  const expected = text.length / 62

  assert.equal(counts.size, 62)
  for (const [character, count] of counts)
    assert.ok(Math.abs(count - expected) < expected * 0.2, `${character} came ${count} times`)
})

test('a token is redacted when printed', () => {
  const token = mintToken(newId('ak'))

  for (const text of [String(token), JSON.stringify({ token }), inspect(token), `${token}`])
    assert.ok(!text.includes(token.reveal()))
})

test('text that cannot be a token is recognised without a lookup', () => {
  for (const text of [
    '',
    'x',
    'a_b',
    `${'a'.repeat(27)}_${'b'.repeat(42)}`,
    `${'a'.repeat(27)}_${'é'.repeat(43)}`,
  ])
    assert.equal(isTokenShaped(text), false, text)
})

test('a digest is deterministic and reveals nothing of its token', () => {
  const token = mintToken(newId('cr')).reveal()

  assert.equal(tokenDigest(token), tokenDigest(token))
  assert.equal(tokenDigest(token).length, 64)
  assert.notEqual(tokenDigest(token), tokenDigest(`${token.slice(0, -1)}!`))
})
