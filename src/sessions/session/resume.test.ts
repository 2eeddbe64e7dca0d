import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Secret } from '../../base/values/secret.ts'
import { createResumeTokens } from './resume.ts'

const resume = createResumeTokens(new Secret(Buffer.alloc(32, 1)))
const other = createResumeTokens(new Secret(Buffer.alloc(32, 2)))

test('a cookie proves one client of one credential, to the server that issued it', () => {
  const cookie = resume.createCookie('cr_1', 'client', 7)

  assert.equal(resume.verifyCookie(cookie, 'cr_1', 'client'), 7)
  assert.equal(resume.verifyCookie(cookie, 'cr_2', 'client'), undefined)
  assert.equal(resume.verifyCookie(cookie, 'cr_1', 'client2'), undefined)
  assert.equal(other.verifyCookie(cookie, 'cr_1', 'client'), undefined)
  assert.equal(resume.verifyCookie('', 'cr_1', 'client'), undefined)
  assert.equal(resume.verifyCookie(`${cookie}AA`, 'cr_1', 'client'), undefined)
  assert.equal(resume.verifyCookie(cookie.replace(/^7/, '8'), 'cr_1', 'client'), undefined)
})

test('a cookie without a fence still proves its client, with fence 0', () => {
  const key = Buffer.alloc(32, 1)
  const facts = JSON.stringify(['client', 'cr_1', 'client'])
  const cookie = createHmac('sha256', key).update(facts).digest('base64url')

  assert.equal(resume.verifyCookie(cookie, 'cr_1', 'client'), 0)
  assert.equal(resume.verifyCookie(cookie, 'cr_1', 'client2'), undefined)
})

test('a bind token yields its URL to its credential only', () => {
  const token = resume.createBindToken('cr_1', 'tcp://t.test:20000')
  const forged = `${Buffer.from('tcp://t.test:20001').toString('base64url')}.${token.split('.')[1]}`

  assert.equal(resume.verifyBindToken(token, 'cr_1'), 'tcp://t.test:20000')
  assert.equal(resume.verifyBindToken(token, 'cr_2'), undefined)
  assert.equal(other.verifyBindToken(token, 'cr_1'), undefined)
  assert.equal(resume.verifyBindToken(forged, 'cr_1'), undefined)
  assert.equal(resume.verifyBindToken('', 'cr_1'), undefined)
})

test('fields cannot be shifted between positions', () => {
  const cookie = resume.createCookie('cr_1', 'x', 1)

  assert.equal(resume.verifyCookie(cookie, 'cr_', '1x'), undefined)
  assert.notEqual(
    resume.createCookie('bind', 'x', 1).split('.')[1],
    resume.createBindToken('bind', 'x').split('.')[1],
  )
})
