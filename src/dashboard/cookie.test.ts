import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cookieName, readCookie, sessionCookie } from './cookie.ts'

test('a cookie is found among others, by its whole name', () => {
  const header = 'xadit_session=no; adit_session=yes; adit_session2=no'

  assert.equal(readCookie(header, 'adit_session'), 'yes')
  assert.equal(readCookie(header, 'session'), undefined)
  assert.equal(readCookie(undefined, 'adit_session'), undefined)
})

test('whatever a Cookie header holds can be read', () => {
  for (const header of ['', ';', '=', 'adit_session', '; ;=;', 'adit_session=', 'a=b=c', '__proto__=x'])
    assert.ok(['', undefined].includes(readCookie(header, 'adit_session')), header)
})

test('over TLS the name has a prefix that browsers guard, and needs its flags', () => {
  assert.equal(cookieName(true), '__Host-adit_session')
  assert.equal(cookieName(false), 'adit_session')
  const cookie = sessionCookie('t', true, 60)
  assert.equal(cookie, '__Host-adit_session=t; Max-Age=60; HttpOnly; SameSite=Strict; Path=/; Secure')
})
