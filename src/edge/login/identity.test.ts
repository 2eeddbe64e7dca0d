import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFieldValue } from '../message/ascii.ts'
import { createIdentityFields } from './identity-fields.ts'
import { fitIdentity, fitsCookie } from './identity-size.ts'
import { isAllowed } from './sign-in.ts'

const ada = { id: '1', name: 'Ada', email: 'ada@example.com', groups: ['staff'], claims: { dept: 'x' } }

test('an identity that fits is kept complete; otherwise claims are dropped first, then the last groups', () => {
  const groups = Array.from({ length: 500 }, (_, index) => `group ${index}`)

  const many = fitIdentity({ ...ada, groups })

  assert.deepEqual(fitIdentity(ada), ada)
  assert.deepEqual(many.claims, {})
  assert.ok(many.groups.length > 50 && many.groups.length < 500)
  assert.deepEqual(many.groups, groups.slice(0, many.groups.length))
  assert.ok(JSON.stringify(many).length <= 2400)
  assert.deepEqual([fitsCookie(ada), fitsCookie({ ...ada, id: 'x'.repeat(3000) })], [true, false])
})

test('any provider data makes valid header fields and cannot inject one', () => {
  const hostile = { ...ada, id: 'a\r\nx: y', name: 'Ädä\u0000\u0007 雪', groups: ['a\nb', '\u007f'] }

  for (const { name, value } of createIdentityFields(hostile)) assert.ok(isFieldValue(value), name)
})

test('emails and domains are compared in full and case-insensitively', () => {
  const allowed = { emails: ['ada@example.com'], domains: ['corp.test'] }
  const isAdmitted = (email: string) => isAllowed({ ...ada, email }, allowed)

  assert.deepEqual(['Ada@Example.com', 'x@corp.test', 'x@CORP.test'].map(isAdmitted), [true, true, true])
  assert.deepEqual(
    [
      '',
      'corp.test',
      'x@evilcorp.test',
      'x@corp.test.evil',
      'bob@example.com',
      'x@sub.corp.test',
      'a@corp.test@evil',
    ].map(isAdmitted),
    [false, false, false, false, false, false, false],
  )
  assert.equal(isAllowed({ ...ada, email: '' }, { emails: [], domains: [] }), true)
})

test('a hundred thousand groups are truncated in one pass', { timeout: 60_000 }, () => {
  const groups = Array.from({ length: 100_000 }, (_, index) => `group-${index}`)

  const { groups: fitted } = fitIdentity({ id: 'x', name: '', email: '', groups, claims: { groups } })

  assert.ok(fitted.length > 100 && fitted.length < 400, String(fitted.length))
  assert.deepEqual(fitted, groups.slice(0, fitted.length))
})
