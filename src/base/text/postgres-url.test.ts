import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasPassword, identifyPostgres, parsePostgresUrl } from './postgres-url.ts'

test('the URL of a database is read in each form that PostgreSQL knows', () => {
  const hostsOf = (text: string) => parsePostgresUrl(text)?.hosts

  assert.deepEqual(hostsOf('postgres://adit:pw@db.example.com:5433/adit'), ['db.example.com:5433'])
  assert.deepEqual(hostsOf('postgresql://adit@[2001:db8::1]/adit'), ['[2001:db8::1]'])
  assert.deepEqual(hostsOf('postgres://adit:pw@a:5432,b:5433/adit?target_session_attrs=read-write'), [
    'a:5432',
    'b:5433',
  ])
  assert.deepEqual(hostsOf('postgres://adit:pw@/adit?host=/run/postgresql'), [''])
  assert.deepEqual(hostsOf('postgres://adit:a%40b@%2Frun%2Fpostgresql/adit'), ['%2Frun%2Fpostgresql'])
  assert.deepEqual(hostsOf('postgres://localhost'), ['localhost'])
  for (const wrong of [
    'mysql://a/b',
    'postgres:/a',
    'postgres://a b/c',
    'postgres://a:x/b',
    'postgres://u:%zz@a/b',
    'postgres://a,/b',
  ])
    assert.equal(parsePostgresUrl(wrong), undefined, wrong)
})

test('a database is the same whoever connects, and its identity holds no password', () => {
  for (const url of [
    'postgres://adit:hunter2@db/adit?sslmode=require',
    'postgres://db/adit?user=other&password=hunter2&sslmode=require',
  ])
    assert.equal(identifyPostgres(url), 'postgres://db/adit?sslmode=require')
  assert.equal(identifyPostgres('postgres://u:hunter2@a,b:1/adit'), 'postgres://a,b:1/adit')
})

test('a password is found in either place', () => {
  assert.equal(hasPassword('postgres://adit:hunter2@db/adit'), true)
  assert.equal(hasPassword('postgres://db/adit?user=adit&password=hunter2'), true)
  assert.equal(hasPassword('postgres://adit@db/adit?user=adit'), false)
})
