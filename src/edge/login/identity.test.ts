import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFieldValue } from '../message/ascii.ts'
import { ALLOW_EVERYONE, type AllowRules, requireAllowed } from './allow-rules.ts'
import { createIdentityFields } from './identity-fields.ts'
import { fitIdentity, fitsCookie } from './identity-size.ts'
import { type Identity, SignInError } from './sign-in.ts'

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

test('groups reach the upstream one by one, and it learns when the list was cut', () => {
  const fieldsOf = (groups: readonly string[]) =>
    Object.fromEntries(
      createIdentityFields(fitIdentity({ ...ada, groups }))
        .filter(({ name }) => name.startsWith('adit-auth-user-groups'))
        .map(({ name, value }) => [name, value]),
    )

  assert.deepEqual(fieldsOf(['staff', 'x,admins', '100 %', 'a\r\nb']), {
    'adit-auth-user-groups': 'staff,x%2Cadmins,100 %25,a%0D%0Ab',
  })
  const many = Array.from({ length: 500 }, (_, index) => `group ${index}`)
  assert.equal(fieldsOf(many)['adit-auth-user-groups-truncated'], 'true')
  assert.deepEqual(fieldsOf([]), {})
})

function isAllowed(identity: Identity, rules: Partial<AllowRules>): boolean {
  try {
    requireAllowed(identity, { ...ALLOW_EVERYONE, ...rules })
    return true
  } catch (error) {
    assert.ok(error instanceof SignInError, String(error))
    return false
  }
}

test('emails and domains are compared in full and case-insensitively', () => {
  const isAdmitted = (email: string) =>
    isAllowed({ ...ada, email }, { emails: ['ada@example.com'], domains: ['corp.test'] })

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
  assert.equal(isAllowed({ ...ada, email: '' }, {}), true)
})

test('groups admit their members, and names are compared exactly', () => {
  const groups = (...names: string[]) => isAllowed(ada, { groups: names })

  assert.deepEqual([groups('staff'), groups('ops', 'staff')], [true, true])
  assert.deepEqual([groups('ops'), groups('Staff'), groups('sta')], [false, false, false])
})

test('claims: each name must have one of its values, whether it is one value, a list or nested', () => {
  const claims = {
    dept: 'ops',
    roles: ['dev', 'admin'],
    level: 3,
    mfa: true,
    'https://example.com/team': 'edge',
    realm_access: { roles: ['editor'] },
    email: 'eve@example.com',
  }
  const admits = (...rules: string[]) => isAllowed({ ...ada, claims }, { claims: rules })

  for (const rule of [
    'dept=ops',
    'roles=admin',
    'level=3',
    'mfa=true',
    'https://example.com/team=edge',
    'realm_access.roles=editor',
    'email=ada@example.com',
  ])
    assert.equal(admits(rule), true, rule)
  for (const rule of [
    'dept=op',
    'dept=OPS',
    'roles=dev,admin',
    'unknown=x',
    'dept.length=3',
    'realm_access=[object Object]',
    '__proto__=x',
    'toString.name=toString',
    'email=eve@example.com',
  ])
    assert.equal(admits(rule), false, rule)
  assert.equal(admits('dept=sales', 'dept=ops'), true, 'values of one name are alternatives')
  assert.equal(admits('dept=ops', 'roles=guest'), false, 'every name has to match')
})

test('rules of different kinds have to be met together', () => {
  const both = (rules: Partial<AllowRules>) => isAllowed(ada, { emails: ['ada@example.com'], ...rules })

  assert.equal(both({ groups: ['staff'], claims: ['dept=x'] }), true)
  assert.equal(both({ groups: ['ops'] }), false)
  assert.equal(both({ claims: ['dept=y'] }), false)
})

test('a hundred thousand groups are truncated in one pass', { timeout: 60_000 }, () => {
  const groups = Array.from({ length: 100_000 }, (_, index) => `group-${index}`)

  const { groups: fitted } = fitIdentity({ id: 'x', name: '', email: '', groups, claims: { groups } })

  assert.ok(fitted.length > 100 && fitted.length < 400, String(fitted.length))
  assert.deepEqual(fitted, groups.slice(0, fitted.length))
})
