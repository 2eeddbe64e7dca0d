import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords, generatePassword, PasswordQueueFull, validatePassword } from './passwords.ts'

const cost = { N: 16, r: 1, p: 1 }

test('only the same password matches its hash', async () => {
  const passwords = createPasswords(cost)
  const stored = await passwords.hash('correct horse battery')

  assert.equal(await passwords.find('a', 'correct horse battery', [stored]), stored)
  assert.equal(await passwords.find('a', 'correct horse battery ', [stored]), undefined)
  assert.equal(await passwords.find('a', '', [stored]), undefined)
  assert.equal(await passwords.find('a', 'correct horse battery', []), undefined)
})

test('each hash of the same password differs and contains its cost', async () => {
  const passwords = createPasswords(cost)

  const [one, other] = await Promise.all([passwords.hash('the same words'), passwords.hash('the same words')])

  assert.notEqual(one, other)
  assert.match(one, /^scrypt\$16\$1\$1\$[A-Za-z0-9+/=]{24}\$[A-Za-z0-9+/=]{44}$/)
  const costlier = createPasswords({ N: 32, r: 2, p: 1 })
  assert.equal(
    await costlier.find('a', 'the same words', [other, one]),
    other,
    'a hash with an earlier cost still matches',
  )
})

test('the default cost is the recommended one for scrypt', async () => {
  const stored = await createPasswords().hash('correct horse battery')

  assert.match(stored, /^scrypt\$32768\$8\$3\$/)
})

test('equivalent Unicode encodings are the same password', async () => {
  const passwords = createPasswords(cost)
  const stored = await passwords.hash('caf\u00e9 caf\u00e9 caf\u00e9')

  assert.equal(await passwords.find('a', 'cafe\u0301 cafe\u0301 cafe\u0301', [stored]), stored)
})

test('the queue of passwords is bounded, and all queued ones are checked', async () => {
  const passwords = createPasswords(cost)

  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, source) => passwords.find(`source ${source}`, 'guess', [])),
  )

  const rejected = results.filter((outcome) => outcome.status === 'rejected')
  assert.equal(rejected.length, 50 - 2 - 32)
  assert.ok(rejected.every(({ reason }) => reason instanceof PasswordQueueFull))
  assert.equal(await passwords.find('a', 'guess', []), undefined, 'the queue has room again')
})

test('a source that sends many passwords fills half of the queue, and others take turns with it', async () => {
  const passwords = createPasswords(cost)
  const order: string[] = []
  const check = (source: string) =>
    passwords.find(source, 'guess', []).then(
      () => order.push(source),
      (error) => assert.ok(error instanceof PasswordQueueFull),
    )

  const flood = Array.from({ length: 50 }, () => check('flood'))
  await Promise.all([...flood, check('one'), check('other')])

  assert.equal(order.length, 2 + 16 + 2)
  assert.ok(order.indexOf('one') <= 5 && order.indexOf('other') <= 5, order.join())
})

test('passwords of one address are checked together: the other hashes have the salt of the first', async () => {
  const passwords = createPasswords(cost)
  const first = await passwords.hash('correct horse battery')
  const second = await passwords.hash('another horse battery', [first])
  const ofEarlierCost = await createPasswords({ N: 32, r: 1, p: 1 }).hash('a third horse battery')

  assert.equal(second.split('$')[4], first.split('$')[4])
  assert.notEqual(second, first)
  assert.notEqual((await passwords.hash('a third horse battery', [ofEarlierCost])).split('$')[1], '32')
  const stored = [ofEarlierCost, first, second]
  assert.equal(await passwords.find('a', 'another horse battery', stored), second)
  assert.equal(await passwords.find('a', 'a third horse battery', stored), ofEarlierCost)
})

test('the length of a chosen password is counted in characters', () => {
  assert.match(validatePassword('eleven chars'.slice(1))!, /at least 12 characters; this one has 11/)
  assert.equal(validatePassword('twelve chars'), undefined)
  assert.match(validatePassword('😀'.repeat(11))!, /has 11/)
  assert.match(validatePassword('x'.repeat(1001))!, /at most 1000/)
})

test('a generated password is long, readable and unique', () => {
  const generated = Array.from({ length: 100 }, () => generatePassword().reveal())

  for (const password of generated) assert.match(password, /^([a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/)
  assert.equal(new Set(generated).size, 100)
})
