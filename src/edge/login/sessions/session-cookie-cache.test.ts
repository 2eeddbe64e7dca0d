import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../../base/values/secret.ts'
import { encryptScoped } from '../scoped-seal.ts'
import { createSeal, type Seal } from '../seal.ts'
import { SessionCookieCache } from './session-cookie-cache.ts'

const seal = createSeal(new Secret(Buffer.alloc(32, 1)))
const createSession = (id: string) => ({
  id,
  scopeId: 's',
  version: 'v',
  identity: { id, name: 'Ada', email: 'ada@example.com', groups: [], claims: {} },
  since: 1,
  seen: 1,
})

function createCountingSeal(): { seal: Seal; decryptions: () => number } {
  let count = 0
  const counting: Seal = {
    ...seal,
    decrypt(purpose, text) {
      count++
      return seal.decrypt(purpose, text)
    },
  }
  return { seal: counting, decryptions: () => count }
}

test('a cookie is decrypted once, however often it is sent', () => {
  const { seal: counting, decryptions } = createCountingSeal()
  const cache = new SessionCookieCache(counting)
  const text = encryptScoped(seal, 'session', createSession('a'))

  for (let n = 0; n < 3; n++) assert.partialDeepStrictEqual(cache.get(text)?.session, createSession('a'))

  assert.equal(decryptions(), 1)
  assert.ok(cache.get(text)?.fields.some(({ value }) => value === 'ada@example.com'))
})

test('cookies keep the name of the scope that earlier releases read and write', () => {
  const { scopeId, ...rest } = createSession('a')
  const text = seal.encrypt('session', { ...rest, place: scopeId })

  assert.equal(new SessionCookieCache(seal).get(text)?.session.scopeId, scopeId)
  assert.deepEqual(seal.decrypt('session', encryptScoped(seal, 'session', createSession('a'))), {
    ...rest,
    place: scopeId,
  })
})

test('a cookie that is not a sealed session is rejected each time and not cached', () => {
  const cache = new SessionCookieCache(seal)
  const text = encryptScoped(seal, 'session', createSession('a'))
  cache.get(text)

  for (const invalid of [
    '',
    'x',
    `${text}AAAA`,
    text.slice(0, -1),
    encryptScoped(seal, 'ticket', createSession('a')),
  ])
    assert.equal(cache.get(invalid), undefined, invalid)
  assert.equal(cache.size, 1)
})

test('the cache is bounded and keeps the cookies in use', () => {
  const { seal: counting, decryptions } = createCountingSeal()
  const cache = new SessionCookieCache(counting, 10)
  const regular = encryptScoped(seal, 'session', createSession('regular'))

  for (let index = 0; index < 100; index++) {
    cache.get(regular)
    cache.get(encryptScoped(seal, 'session', createSession(String(index))))
  }

  assert.ok(cache.size <= 20)
  assert.equal(decryptions(), 101)
})
