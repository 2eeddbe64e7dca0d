import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines } from '../../../../test/support/engines.ts'

for (const [engine, start] of Object.entries(engines))
  test(`vaults hold secrets whose values are never returned (${engine})`, async (t) => {
    const { call, callAsOther } = await start(t)
    const vault = await call.create('/vaults', { name: 'webhooks' })
    const other = await call.create('/vaults', { name: 'other' })
    const foreign = await callAsOther.create('/vaults', { name: 'webhooks' })
    const secret = await call.create('/vault_secrets', {
      vault_name: 'webhooks',
      name: 'github',
      value: 'swordfish',
    })
    await call.create('/vault_secrets', { vault_id: other.id, name: 'github', value: 'swordfish' })

    const renamed = await call('PATCH', `/vaults/${vault.id}`, { body: { name: 'hooks' } })
    const changed = await call('PATCH', `/vault_secrets/${secret.id}`, { body: { value: 'swordfish 2' } })
    const listed = await call('GET', `/vaults/${vault.id}/secrets`)
    const audit = await call('GET', '/audit_events')

    assert.deepEqual(
      [vault.created_by, secret.created_by.id, secret.vault.id, secret.vault_name, secret.value],
      [vault.last_updated_by, vault.created_by, vault.id, 'webhooks', null],
    )
    assert.match(vault.created_by, /^usr_/)
    assert.equal(renamed.body.name, 'hooks')
    assert.deepEqual([changed.body.vault_name, changed.body.value], ['hooks', null])
    assert.deepEqual(listed.body.secrets, [changed.body])
    assert.doesNotMatch(JSON.stringify([renamed, changed, listed, audit]), /swordfish/)
    const rejections: [what: string, status: number, body: object][] = [
      ['no vault', 400, { name: 'a', value: 'b' }],
      ['an unknown vault', 400, { name: 'a', value: 'b', vault_name: 'webhooks' }],
      ['a vault of another account', 400, { name: 'a', value: 'b', vault_id: foreign.id }],
      ['two vaults', 400, { name: 'a', value: 'b', vault_id: other.id, vault_name: 'hooks' }],
      ['a name that is taken', 409, { name: 'github', value: 'b', vault_name: 'hooks' }],
    ]
    for (const [what, status, body] of rejections)
      assert.equal((await call('POST', '/vault_secrets', { body })).status, status, what)
    assert.equal((await call('POST', '/vaults', { body: { name: 'hooks' } })).status, 409)
    assert.equal((await callAsOther('GET', `/vaults/${vault.id}/secrets`)).status, 404)
  })

test('the secrets of a vault are listed in pages, and a vault is deleted after its secrets', async (t) => {
  const { call } = await engines.SQLite!(t)
  const [vault, other] = [
    await call.create('/vaults', { name: 'one' }),
    await call.create('/vaults', { name: 'two' }),
  ]
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) {
    ids.unshift((await call.create('/vault_secrets', { vault_id: vault.id, name, value: 'x' })).id)
    await call.create('/vault_secrets', { vault_id: other.id, name, value: 'x' })
  }

  const first = await call('GET', `/vaults/${vault.id}/secrets?limit=2`)
  const second = await call('GET', first.body.next_page_uri)
  const found = await call(
    'GET',
    `/vaults/${vault.id}/secrets?filter=${encodeURIComponent('obj.name == "b"')}`,
  )
  const inUse = await call('DELETE', `/vaults/${vault.id}`)
  for (const id of ids) await call('DELETE', `/vault_secrets/${id}`)
  const deleted = await call('DELETE', `/vaults/${vault.id}`)

  const idsOf = (...pages: (typeof first)[]) =>
    pages.flatMap(({ body }) => body.secrets.map(({ id }: { id: string }) => id))
  assert.deepEqual([idsOf(first, second), second.body.next_page_uri], [ids, null])
  assert.deepEqual(idsOf(found), [ids[1]])
  assert.deepEqual([inUse.status, deleted.status], [409, 204])
  assert.match(inUse.body.msg, /vault secret/)
})
