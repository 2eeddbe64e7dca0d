import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../../test/support/random.ts'
import { cookieName, readCookie, sessionCookie } from './cookie.ts'

test('a cookie is matched by its full name', () => {
  const header = 'xadit_session=no; adit_session=yes; adit_session2=no'

  assert.equal(readCookie(header, 'adit_session'), 'yes')
  assert.equal(readCookie(header, 'session'), undefined)
  assert.equal(readCookie(undefined, 'adit_session'), undefined)
})

test('any Cookie header can be parsed', () => {
  for (const header of ['', ';', '=', 'adit_session', '; ;=;', 'adit_session=', 'a=b=c', '__proto__=x'])
    assert.ok(['', undefined].includes(readCookie(header, 'adit_session')), header)
})

test('over 20,000 random headers the first cookie of the name is read, and nothing throws', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const fragments = [
    'adit_session',
    'a',
    '=',
    ';',
    ' ',
    '; ',
    '"',
    '\t',
    '%',
    'é',
    '__Host-',
    ',',
    'x'.repeat(40),
  ]
  for (const _ of rounds(20_000)) {
    const header = Array.from({ length: random.below(12) }, () => random.pick(fragments)).join('')
    const value = readCookie(header, 'adit_session')
    assert.ok(value === undefined || header.includes(value), header)
    assert.equal(readCookie(`adit_session=v;${header}`, 'adit_session'), 'v', header)
  }
})

test('over TLS the cookie has the __Host- prefix and the flags it requires', () => {
  assert.equal(cookieName(true), '__Host-adit_session')
  assert.equal(cookieName(false), 'adit_session')
  const cookie = sessionCookie('t', true, 60)
  assert.equal(cookie, '__Host-adit_session=t; Max-Age=60; HttpOnly; SameSite=Strict; Path=/; Secure')
})
