import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createIdentity, openSshSkipReason, startSsh } from '../ssh/openssh.ts'
import { portOf, startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { listen } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'

const FLAGS = ['--trusted-proxies', '127.0.0.1', '--proxy-protocol', 'agent,ssh']

/** A proxy that says every client is at this address; returns its own. */
async function startProxy(t: TestContext, address: string, client: string): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const upstream = connect(portOf(address), '127.0.0.1')
    upstream.on('error', () => socket.destroy())
    t.after(() => upstream.destroy())
    // In one write with the client's first bytes: none of them may be lost.
    socket.once('data', (chunk) => {
      upstream.write(`PROXY TCP4 ${client} 203.0.113.5 4711 4443\r\n${chunk.toString('latin1')}`, 'latin1')
      socket.pipe(upstream)
    })
    upstream.pipe(socket)
  })
  return `127.0.0.1:${await listen(t, server)}`
}

test('agents behind a PROXY protocol proxy have their own address, and IP restrictions judge it', async (t) => {
  const { credentials, call } = await startPlatform(t, FLAGS)
  const policy = await call.create('/ip_policies', {})
  const rule = { ip_policy_id: policy.id, cidr: '198.51.100.0/24', action: 'allow' }
  await call.create('/ip_policy_rules', rule)
  await call.create('/ip_restrictions', { type: 'agent', enforced: true, ip_policy_ids: [policy.id] })
  const dial = async (client: string) =>
    startAgent(t, {
      credentials: { ...credentials, agent_addr: await startProxy(t, credentials.agent_addr, client) },
    })

  const rejection = await eventually(
    () =>
      dial('192.0.2.7').then(
        (agent) => agent.close(),
        (error: Error) => error,
      ),
    'the restriction',
  )
  await dial('198.51.100.7')

  assert.match(String(rejection), /192\.0\.2\.7/)
  const { body } = await call('GET', '/tunnel_sessions')
  assert.ok(body.tunnel_sessions.some(({ ip }: { ip: string }) => ip === '198.51.100.7'))
})

test('SSH clients behind a PROXY protocol proxy have their own address', {
  skip: openSshSkipReason,
}, async (t) => {
  const platform = await startPlatform(t, FLAGS)
  const ssh_addr = await startProxy(t, platform.credentials.ssh_addr, '198.51.100.7')
  const proxied = { ...platform, credentials: { ...platform.credentials, ssh_addr } }
  const identity = await createIdentity(platform)

  const ssh = startSsh(t, proxied, identity, ['-o', 'ConnectTimeout=60', '-R', '80:127.0.0.1:1'])
  await ssh.waitForOutput(/http:\/\/\S+ ->/, 60_000)

  const { body } = await platform.call('GET', '/tunnel_sessions')
  assert.deepEqual(
    body.tunnel_sessions.map(({ ip }: { ip: string }) => ip),
    ['198.51.100.7'],
  )
})
