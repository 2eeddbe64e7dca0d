import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../../src/base/values/secret.ts'
import { connectAgentSession } from '../../src/protocol/index.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'

/** Connects an agent to the ingress by name; the server certificate must match that name. */
function connectThroughIngress({ credentials, caPem }: TestPlatform, servername: string, authtoken: string) {
  const [host = '', port = ''] = credentials.agent_addr.split(':')
  return connectAgentSession({
    host,
    port: Number(port),
    servername,
    ca: caPem,
    identity: {
      authtoken: new Secret(authtoken),
      version: '1.0.0',
      userAgent: 'adit/1.0.0',
      clientType: 'adit',
      os: 'linux',
      arch: 'amd64',
      commands: { restart: '', stop: '', update: '' },
    },
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose: () => {},
  })
}

test('agents connect through the ingress of their own account, and not through that of another', async (t) => {
  const platform = await startPlatform(t)
  const ingress = await platform.call.create('/agent_ingresses', { domain: 'tunnel.example.com' })
  const other = await createSecondAccount(platform)
  const [name = ''] = ingress.region_domains as string[]

  const session = await connectThroughIngress(platform, name, platform.credentials.authtoken)
  t.after(() => session.close())

  assert.equal(name, 'tunnel.us.tunnel.example.com')
  // A worker tells the API of its sessions a moment later.
  await eventuallyEqual(
    async () => (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions.length,
    1,
  )
  await assert.rejects(connectThroughIngress(platform, name, other.authtoken), /belongs to another account/)
})
