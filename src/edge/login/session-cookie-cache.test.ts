import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../base/secret.ts'
import { createSeal, type Seal } from './seal.ts'
import { OpenedSessions } from './session-cookie-cache.ts'

const seal = createSeal(new Secret(Buffer.alloc(32, 1)))
const sessionOf = (id: string) => ({
  id,
  place: 'p',
  version: 'v',
  identity: { id, name: 'Ada', email: 'ada@example.com', groups: [], claims: {} },
  since: 1,
  seen: 1,
})

function counted(): { seal: Seal; opened: () => number } {
  let opened = 0
  const counting: Seal = {
    ...seal,
    open(purpose, text) {
      opened++
      return seal.open(purpose, text)
    },
  }
  return { seal: counting, opened: () => opened }
}

test('a cookie is opened once, however often it comes', () => {
  const { seal: counting, opened } = counted()
  const sessions = new OpenedSessions(counting)
  const text = seal.close('session', sessionOf('a'))

  for (let time = 0; time < 3; time++) assert.deepEqual(sessions.open(text)?.session, sessionOf('a'))

  assert.equal(opened(), 1)
  assert.ok(sessions.open(text)?.fields.some(({ value }) => value === 'ada@example.com'))
})

test('what was not sealed here as a session is refused each time, and not remembered', () => {
  const sessions = new OpenedSessions(seal)
  const text = seal.close('session', sessionOf('a'))
  sessions.open(text)

  for (const wrong of ['', 'x', `${text}AAAA`, text.slice(0, -1), seal.close('ticket', sessionOf('a'))])
    assert.equal(sessions.open(wrong), undefined, wrong)
  assert.equal(sessions.size, 1)
})

test('only so many are remembered, and those that keep coming longest', () => {
  const { seal: counting, opened } = counted()
  const sessions = new OpenedSessions(counting, 10)
  const regular = seal.close('session', sessionOf('regular'))

  for (let index = 0; index < 100; index++) {
    sessions.open(regular)
    sessions.open(seal.close('session', sessionOf(String(index))))
  }

  assert.ok(sessions.size <= 20)
  assert.equal(opened(), 101)
})
