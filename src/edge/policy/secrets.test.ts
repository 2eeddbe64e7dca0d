import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Vault, VaultSecret } from '../../resources/index.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test('a policy reads the current value of a secret, of its own account alone', async (t) => {
  const { edge, ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({
      on_http_request: [
        {
          actions: [
            { type: 'basic-auth', config: { credentials: ["ann:${secrets.get('team/passwords', 'ann')}"] } },
          ],
        },
      ],
    }),
  )
  const foreign = new TestConfiguration(edge, 'ac_other')
  const foreignVault = foreign.create(Vault, { name: 'team/passwords' })
  foreign.create(VaultSecret, { vault_id: foreignVault, name: 'ann', value: 'foreign-password' })
  await foreign.waitUntilApplied()
  const statusOf = async (password: string) => (await ask({ headers: basic(`ann:${password}`) })).status

  const absent = await statusOf('foreign-password')
  const config = new TestConfiguration(edge)
  const vault = config.create(Vault, { name: 'team/passwords' })
  const secret = config.create(VaultSecret, { vault_id: vault, name: 'ann', value: 'first-password' })
  await config.waitUntilApplied()
  const first = [await statusOf('first-password'), await statusOf('foreign-password')]
  config.update(secret, { value: 'second-password' })
  await config.waitUntilApplied()
  const second = [await statusOf('first-password'), await statusOf('second-password')]
  config.update(vault, { name: 'renamed' })
  await config.waitUntilApplied()
  const renamed = await statusOf('second-password')
  config.update(vault, { name: 'team/passwords' })
  config.remove(secret)
  await config.waitUntilApplied()
  const removed = await statusOf('second-password')

  assert.deepEqual([absent, first, second, renamed, removed], [500, [200, 401], [401, 200], 500, 500])
})
