import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../../test/support/api.ts'
import { systemClock } from '../base/values/clock.ts'
import { createAccount, firstAccount } from './index.ts'

const { fresh } = await shareApi()

test('a new account has a working administrator, API key and authtoken', async () => {
  const api = await fresh()

  const account = await createAccount(api.store, {
    name: 'third',
    email: 'third@example.com',
    clock: systemClock,
  })

  const call = api.client(account.apiKey.reveal())
  const { body } = await call('GET', '/users')
  assert.deepEqual(
    body.users.map(({ id, email, role }: Record<string, string>) => [id, email, role]),
    [[account.userId, 'third@example.com', 'admin']],
  )
  assert.equal((await call('GET', '/api_keys')).body.keys[0].token, null)
  assert.equal((await call('GET', '/credentials')).body.credentials.length, 1)
})

test('account names are unique', async () => {
  const api = await fresh()
  const duplicate = { name: 'ACCOUNT-1', email: 'x@example.com', clock: systemClock }
  const revision = await api.store.revision()

  await assert.rejects(createAccount(api.store, duplicate), { name: 'NameTaken' })

  assert.equal(await api.store.revision(), revision)
})

test('the first account can be looked up', async () => {
  const api = await fresh()

  const first = await firstAccount(api.store)

  assert.equal(first?.name, 'account-1')
})
