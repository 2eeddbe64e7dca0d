import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlatformName, isPublicSuffix } from './index.ts'

test('the domain and its parents, and the platform labels and all names below, belong to the platform', () => {
  for (const name of [
    'adit.test',
    '*.adit.test',
    'test',
    '*.test',
    'idp.adit.test',
    'api.adit.test',
    'dashboard.adit.test',
    'a.dashboard.adit.test',
    'a.cname.adit.test',
    '*.connect.adit.test',
    'kubernetes-bindings.adit.test',
  ])
    assert.ok(isPlatformName(name, 'adit.test'), name)
  for (const name of [
    'app.adit.test',
    'myidp.adit.test',
    'idp.app.adit.test',
    'idp.example.com',
    '*.app.adit.test',
  ])
    assert.ok(!isPlatformName(name, 'adit.test'), name)
})

test('both sections of the Public Suffix List count, and only the suffixes themselves', () => {
  for (const name of ['com', 'co.uk', 'github.io', 's3.amazonaws.com', 'anything.ck', 'xn--p1ai'])
    assert.ok(isPublicSuffix(name), name)
  for (const name of [
    'example.com',
    'a.co.uk',
    'a.github.io',
    'www.ck',
    'app.adit.localhost',
    'corp.internal',
    'a.test',
  ])
    assert.ok(!isPublicSuffix(name), name)
})
