import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import ssh2 from 'ssh2'
import type { ApiClient } from '../support/api.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'

function createKey(): { pem: string; text: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'sec1', format: 'pem' }).toString()
  const parsed = ssh2.utils.parseKey(pem)
  assert.ok(!(parsed instanceof Error))
  return { pem, text: `ecdsa-sha2-nistp256 ${parsed.getPublicSSH().toString('base64')}` }
}

/** Logs in and resolves with `in` or the error message. */
async function logIn(
  t: TestContext,
  { credentials }: TestPlatform,
  username: string,
  privateKey: string,
): Promise<string> {
  const [host = '', port = ''] = credentials.ssh_addr.split(':')
  const client = new ssh2.Client()
  t.after(() => client.destroy())
  const outcome = Promise.race([
    once(client, 'ready').then(() => 'in'),
    once(client, 'error').then(([error]) => (error as Error).message),
  ])
  client.connect({ host, port: Number(port), username, privateKey })
  const result = await outcome.catch((error: Error) => error.message)
  client.on('error', () => {})
  return result
}

async function listCredentialIds(call: ApiClient): Promise<string[]> {
  const { tunnel_sessions } = (await call('GET', '/tunnel_sessions')).body
  return tunnel_sessions.map(({ credential }: { credential: { id: string } }) => credential.id)
}

test('two accounts may store one SSH key: the user name selects the account, by default the first', async (t) => {
  const platform = await startPlatform(t)
  const other = await createSecondAccount(platform)
  const { pem, text } = createKey()
  const first = await platform.call.create('/ssh_credentials', { public_key: text })
  const second = await other.call.create('/ssh_credentials', { public_key: text })

  assert.equal(await logIn(t, platform, 'anyone', pem), 'in')
  assert.deepEqual(await listCredentialIds(platform.call), [first.id])
  assert.deepEqual(await listCredentialIds(other.call), [])

  for (const username of [other.accountId, second.id])
    assert.equal(await logIn(t, platform, username, pem), 'in')
  assert.deepEqual(await listCredentialIds(other.call), [second.id, second.id])
  assert.deepEqual(await listCredentialIds(platform.call), [first.id])

  assert.match(await logIn(t, platform, `ac_${'0'.repeat(27)}`, pem), /authentication methods failed/)
  await platform.call('DELETE', `/ssh_credentials/${first.id}`)
  assert.equal(await logIn(t, platform, 'anyone', pem), 'in')
  assert.deepEqual(await listCredentialIds(other.call), [second.id, second.id, second.id])
})
