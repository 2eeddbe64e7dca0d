import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Secret } from '../../base/values/secret.ts'
import { sealTokens, splitTokens, toStoredTokens } from './provider-tokens.ts'
import { createSeal } from './seal.ts'

const NOW = 1_700_000_000
const tokens = { access_token: 'access', identity_token: 'identity', refresh_token: 'refresh' }

test('tokens are renewed a minute before they expire, and short ones after half of their lifetime', () => {
  const delayOf = (access_token: number, identity_token = 86_400) =>
    toStoredTokens(
      { tokens, lifetimes: { access_token, identity_token } },
      ['access_token', 'identity_token'],
      NOW,
    ).renew_at! - NOW

  assert.deepEqual(
    [3600, 100, 30, 0].map((seconds) => delayOf(seconds)),
    [3540, 50, 15, 5],
  )
  assert.equal(delayOf(3600, 600), 540)
})

test('a refresh token is stored with the tokens that it renews, once they are known to expire with a time', () => {
  const store = (names: Parameters<typeof toStoredTokens>[1], lifetimes: { access_token?: number }) =>
    Object.keys(toStoredTokens({ tokens, lifetimes }, names, NOW))

  assert.deepEqual(store(['access_token'], { access_token: 3600 }), [
    ...['access_token', 'issued_at', 'refresh_token', 'renew_at'],
  ])
  assert.deepEqual(store(['access_token'], {}), ['access_token', 'issued_at', 'refresh_token'])
  assert.deepEqual(store(['refresh_token'], { access_token: 3600 }), ['refresh_token', 'issued_at'])
})

test('a refresh token that does not fit in the cookies is left out, and everything that fits is sealed', () => {
  const seal = createSeal(new Secret(randomBytes(32)))
  const grantOf = (length: number) => ({
    tokens: { access_token: 'a'.repeat(length), refresh_token: 'r'.repeat(300) },
    lifetimes: { access_token: 3600 },
  })
  let largest = 0
  for (let length = 4000; length < 4600; length++) {
    const stored = toStoredTokens(grantOf(length), ['access_token'], NOW)
    const sealed = sealTokens(seal, 'as_1', stored)
    if (stored.refresh_token !== undefined) assert.ok(sealed !== undefined)
    if (sealed === undefined) continue
    largest = length
    assert.ok(splitTokens(sealed).length <= 2 && sealed.length <= 6000)
  }

  assert.equal(toStoredTokens(grantOf(4000), ['access_token'], NOW).refresh_token?.length, 300)
  assert.equal(toStoredTokens(grantOf(largest), ['access_token'], NOW).refresh_token, undefined)
  assert.ok(largest > 4400, String(largest))
})
