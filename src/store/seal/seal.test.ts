import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createRandom, mutate } from '../../../test/support/random.ts'
import { rewrap, seal, sealedKeyId, toMasterKey, UnsealError, unseal } from './seal.ts'

const key = toMasterKey(randomBytes(32))
const find = (id: string) => (id === key.id ? key : undefined)
const context = { account: 'ac_1', kind: 'thing', id: 'th_1', column: 'secrets' }

test('any text is unsealed to what was sealed', () => {
  for (const text of ['', 'secret', 'ä\u0000\u{1f600}', 'x'.repeat(100_000)]) {
    assert.equal(unseal(find, context, seal(key, context, text)), text)
  }
})

test('the same text never seals to the same value', () => {
  const sealed = new Set(Array.from({ length: 100 }, () => seal(key, context, 'secret')))

  assert.equal(sealed.size, 100)
  assert.ok([...sealed].every((each) => !each.includes('secret')))
})

test('10,000 values are sealed and unsealed, each in its own context', (t) => {
  const contexts = Array.from({ length: 10_000 }, (_, number) => ({ ...context, id: `th_${number}` }))
  const startedAt = performance.now()

  const sealed = contexts.map((each) => seal(key, each, each.id))
  const unsealed = contexts.map((each, number) => unseal(find, each, sealed[number]!))

  t.diagnostic(`${Math.round(performance.now() - startedAt)} ms`)
  assert.deepEqual(
    unsealed,
    contexts.map(({ id }) => id),
  )
})

test('a sealed value unseals only in its own context', () => {
  const sealed = seal(key, context, 'secret')
  const elsewhere = [
    { ...context, account: 'ac_2' },
    { ...context, kind: 'other' },
    { ...context, id: 'th_2' },
    { ...context, column: 'other' },
    { account: 'ac_1","thing', kind: 'th_1', id: 'secrets', column: '' },
  ]

  for (const other of elsewhere) assert.throws(() => unseal(find, other, sealed), UnsealError)
})

test('every damaged envelope is rejected with UnsealError', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const sealed = seal(key, context, 'secret')

  for (let round = 0; round < 1_000; round += 1) {
    const damaged = mutate(random, Buffer.from(sealed)).toString('latin1')
    // A mutation that decodes to the same bytes, such as a changed padding bit, is no damage.
    const decoded = (text: string) =>
      text
        .split('.')
        .map((part, index) => (index < 2 ? part : Buffer.from(part, 'base64url').toString('hex')))
    if (decoded(damaged).join() === decoded(sealed).join()) continue
    assert.throws(() => unseal(find, context, damaged), UnsealError, damaged)
  }
})

test('a value is rewrapped with another key without being decrypted', () => {
  const next = toMasterKey(randomBytes(32))
  const sealed = seal(key, context, 'secret')

  const wrapped = rewrap(find, next, context, sealed)

  assert.equal(
    unseal((id) => (id === next.id ? next : undefined), context, wrapped),
    'secret',
  )
  assert.equal(sealedKeyId(wrapped), next.id)
  assert.equal(wrapped.split('.')[3], sealed.split('.')[3])
  assert.throws(() => unseal(find, context, wrapped), /master key .* is not in the key file/)
})

test('errors name the context and never the value', () => {
  const sealed = seal(key, context, 'hunter2')

  assert.throws(
    () => unseal(find, { ...context, id: 'th_2' }, sealed),
    (error: Error) => /secrets of thing th_2/.test(error.message) && !/hunter2/.test(String(error.stack)),
  )
})
