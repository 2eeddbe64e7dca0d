import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../base/secret.ts'
import { createResume } from './resume.ts'

const resume = createResume(new Secret(Buffer.alloc(32, 1)))
const other = createResume(new Secret(Buffer.alloc(32, 2)))

test('a cookie proves one client of one credential, to the server that made it', () => {
  const cookie = resume.cookie('cr_1', 'client')

  assert.equal(resume.proves(cookie, 'cr_1', 'client'), true)
  assert.equal(resume.proves(cookie, 'cr_2', 'client'), false)
  assert.equal(resume.proves(cookie, 'cr_1', 'client2'), false)
  assert.equal(other.proves(cookie, 'cr_1', 'client'), false)
  assert.equal(resume.proves('', 'cr_1', 'client'), false)
  assert.equal(resume.proves(`${cookie}AA`, 'cr_1', 'client'), false)
})

test('a bind token gives its URL back to its credential only', () => {
  const token = resume.bindToken('cr_1', 'tcp://t.test:20000')
  const forged = `${Buffer.from('tcp://t.test:20001').toString('base64url')}.${token.split('.')[1]}`

  assert.equal(resume.boundUrl(token, 'cr_1'), 'tcp://t.test:20000')
  assert.equal(resume.boundUrl(token, 'cr_2'), undefined)
  assert.equal(other.boundUrl(token, 'cr_1'), undefined)
  assert.equal(resume.boundUrl(forged, 'cr_1'), undefined)
  assert.equal(resume.boundUrl('', 'cr_1'), undefined)
})

test('facts cannot be moved from one place to another', () => {
  const cookie = resume.cookie('cr_1', 'x')

  assert.equal(resume.proves(cookie, 'cr_', '1x'), false)
  assert.notEqual(resume.cookie('bind', 'x'), resume.bindToken('bind', 'x').split('.')[1])
})
