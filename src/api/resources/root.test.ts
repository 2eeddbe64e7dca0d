import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../../../test/support/api.ts'

const { fresh } = await shareApi()

test('the root lists the address of every list', async () => {
  const api = await fresh()
  const { body } = await api.call('GET', '/')

  assert.equal(body.uri, `${api.url}/`)
  assert.equal(body.subresource_uris.ip_policies, `${api.url}/ip_policies`)
  for (const [kind, uri] of Object.entries<string>(body.subresource_uris))
    assert.equal((await api.call('GET', uri.slice(api.url.length))).status, 200, kind)
})

test('a call learns its key, its account and its user', async () => {
  const api = await fresh()
  const { accountId, userId } = api.account

  const { body } = await api.call('GET', '/self', { headers: { 'ngrok-version': '2' } })

  assert.equal(body.user, userId)
  assert.equal(body.account.id, accountId)
  assert.equal(body.account.min_api_version, 2)
  assert.equal(body.api_key.owner_id, userId)
  assert.equal(body.api_key.token, null)
})
