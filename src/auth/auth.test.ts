import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../../test/support/api.ts'
import { generateSshPublicKey } from '../../test/support/ssh-keys.ts'
import { parseSshPublicKey } from '../certs/index.ts'
import { createAuth, mintToken } from './index.ts'

const { fresh } = await shareApi()

async function start() {
  const api = await fresh()
  let now = 0
  const auth = createAuth({ store: api.store, clock: { now: () => Date.now(), monotonic: () => now } })
  return {
    api,
    auth,
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('an API key is identified by its token alone', async () => {
  const { api, auth } = await start()
  const { accountId, userId, apiKey } = api.account

  const principal = await auth.apiKey(apiKey.reveal())

  assert.equal(principal?.accountId, accountId)
  assert.equal(principal?.ownerId, userId)
  assert.equal(principal?.role, 'admin')
  assert.equal(principal?.active, true)
  assert.equal(await auth.apiKey(mintToken(principal.credentialId).reveal()), undefined)
  assert.equal(await auth.apiKey(api.account.authtoken.reveal()), undefined)
  assert.equal(await auth.apiKey('rubbish'), undefined)
})

test('an authtoken authenticates with its ACL', async () => {
  const { api, auth } = await start()
  const { id, token } = await api.call.create('/credentials', { acl: ['bind:app.example.com'] })

  const principal = await auth.authtoken(token)

  assert.deepEqual(principal, {
    accountId: api.account.accountId,
    credentialId: id,
    ownerId: api.account.userId,
    acl: ['bind:app.example.com'],
  })
  assert.equal(await auth.authtoken(api.account.apiKey.reveal()), undefined)
})

test('an SSH key is identified by its fingerprint', async () => {
  const { api, auth } = await start()
  const public_key = generateSshPublicKey()
  const { id } = await api.call.create('/ssh_credentials', { public_key, acl: ['*'] })

  const principal = await auth.sshKey(parseSshPublicKey(public_key).fingerprint, 'me')

  assert.equal(principal?.credentialId, id)
  assert.equal(await auth.sshKey(parseSshPublicKey(generateSshPublicKey()).fingerprint, 'me'), undefined)
})

test('a deleted key is rejected at once where it was deleted, and elsewhere within seconds (P41)', async () => {
  const { api, auth, pass } = await start()
  const { id, token } = await api.call.create('/api_keys', {})
  assert.ok(await auth.apiKey(token))
  assert.equal((await api.client(token)('GET', '/api_keys')).status, 200)

  await api.call('DELETE', `/api_keys/${id}`)

  assert.equal((await api.client(token)('GET', '/api_keys')).status, 401)
  pass(5000)
  assert.equal(await auth.apiKey(token), undefined)
})

test('a row read during a revocation is not cached', async () => {
  const { api } = await start()
  const { id, token } = await api.call.create('/api_keys', {})
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>()
  let reading = () => {}
  const started = new Promise<void>((resolve) => {
    reading = resolve
  })
  const slow = createAuth({
    store: {
      ...api.store,
      fallbackReader: {
        ...api.store.fallbackReader,
        async get(...args) {
          const row = await api.store.fallbackReader.get(...args)
          if (args[0] === 'api_keys') {
            reading()
            await gate
          }
          return row
        },
      },
    },
  })
  const looking = slow.apiKey(token)
  await started

  await api.call('DELETE', `/api_keys/${id}`)
  slow.forget(id)
  openGate()
  await looking

  assert.equal(await slow.apiKey(token), undefined)
})

test('an API key whose principal was known is read again in one round trip', async () => {
  const { api } = await start()
  let now = 0
  let [pending, sequence] = [0, 0]
  /** Counts reads that begin while no other is under way. */
  const count = async <T>(read: Promise<T>): Promise<T> => {
    if (pending === 0) sequence += 1
    pending += 1
    const value = await read
    await new Promise(setImmediate)
    pending -= 1
    return value
  }
  const { fallbackReader } = api.store
  const auth = createAuth({
    clock: { now: () => Date.now(), monotonic: () => now },
    store: {
      ...api.store,
      fallbackReader: {
        ...fallbackReader,
        get: (...args) => count(fallbackReader.get(...args)),
        holder: (...args) => count(fallbackReader.holder(...args)),
      },
    },
  })
  const token = api.account.apiKey.reveal()
  const principal = await auth.apiKey(token)
  assert.equal(sequence, 3)
  now += 5000
  sequence = 0

  const again = await Promise.all([auth.apiKey(token), auth.apiKey(token)])

  assert.equal(sequence, 1)
  assert.deepEqual(again, [principal, principal])
})

test('credentials of a deactivated or deleted owner stop working', async () => {
  const { api, auth, pass } = await start()
  const bot = await api.call.create('/bot_users', { name: 'robot' })
  const key = await api.call.create('/api_keys', { owner_id: bot.id })
  const credential = await api.call.create('/credentials', { owner_id: bot.id })
  assert.equal((await auth.apiKey(key.token))?.role, 'developer')
  assert.ok(await auth.authtoken(credential.token))

  await api.call('PATCH', `/bot_users/${bot.id}`, { body: { active: false } })

  pass(5000)
  assert.equal((await auth.apiKey(key.token))?.active, false)
  assert.equal(await auth.authtoken(credential.token), undefined)
  assert.equal((await api.client(key.token)('GET', '/api_keys')).status, 403)
  await api.call('PATCH', `/bot_users/${bot.id}`, { body: { active: true } })
  assert.equal((await api.client(key.token)('GET', '/api_keys')).status, 200)
})
