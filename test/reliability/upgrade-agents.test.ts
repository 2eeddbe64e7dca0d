import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import ngrok from '@ngrok/ngrok'
import { createIdentity, openSshSkipReason as skip, startSsh } from '../ssh/openssh.ts'
import { startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually, eventuallyEqual, TIMEOUT_MS } from '../support/eventually.ts'
import { startHoldingHttp } from '../support/local-server.ts'
import { httpPortOf } from '../support/rolling-restart.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { requestHost, startLoad } from '../support/steady-load.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startUpgrade } from '../support/upgrade.ts'

const SDK_HOST = 'sdk.adit.localhost'
const SSH_HOST = 'ssh.adit.localhost'
const PER_SECOND = 20

// The SDK calls back shortly after a connection is lost, and aborts a process that is exiting at that moment.
after(() => delay(500))

async function forwardBySdk(t: TestContext, { credentials }: ServerProcess, port: number): Promise<void> {
  const builder = new ngrok.SessionBuilder()
  builder
    .authtoken(credentials.authtoken)
    .serverAddr(credentials.agent_addr.replace('127.0.0.1', 'localhost'))
  builder.caCert(await readFile(credentials.ca_file))
  let reconnects = true
  builder.handleDisconnection(() => reconnects)
  const session = await builder.connect()
  t.after(() => {
    reconnects = false
    return session.close()
  })
  await session.httpEndpoint().scheme('HTTP').domain(SDK_HOST).listenAndForward(`http://127.0.0.1:${port}`)
}

test('agents that cannot move are served until the former release ends, and their URLs work again after it', {
  skip,
}, async (t) => {
  const dataDir = createTempDir()
  const server = await startServerProcess(t, dataDir, ['--workers', '1'])
  const upstream = await startHoldingHttp(t)
  const port = httpPortOf(server)
  const call = createClient(server.url, server.apiKey)
  const identity = await createIdentity({ call })
  const forwardBySsh = () => startSsh(t, server, identity, ['-R', `ssh:80:127.0.0.1:${upstream.port}`])
  const ssh = forwardBySsh()
  await forwardBySdk(t, server, upstream.port)
  await (await startAgent(t, server)).forward({ addr: upstream.port, url: 'http://held.adit.localhost' })
  for (const host of [SDK_HOST, SSH_HOST]) await eventuallyEqual(() => requestHost(port, host), '200')
  const held = requestHost(port, 'held.adit.localhost', { path: '/wait', timeoutMs: 2 * TIMEOUT_MS })
  await eventually(() => upstream.waiting === 1)
  const startLoads = () =>
    [SDK_HOST, SSH_HOST].map((host) =>
      startLoad(t, { host, perSecond: PER_SECOND, ports: () => [port], timeoutMs: TIMEOUT_MS }),
    )
  const sessionIds = async (): Promise<string[]> =>
    (await call('GET', '/tunnel_sessions')).body.tunnel_sessions.map(({ id }: { id: string }) => id)
  const former = await sessionIds()
  const loads = startLoads()

  const upgrade = startUpgrade(t, dataDir)
  await upgrade.takenOver()
  // The agent that can move has done so, and the former release waits for its request.
  await eventually(async () => (await sessionIds()).some((id) => !former.includes(id)))
  const sent = loads.map((load) => load.sent)
  await eventually(() => loads.every((load, index) => load.sent > sent[index]! + 3 * PER_SECOND))
  const outcomes = await Promise.all(loads.map((load) => load.stop()))

  for (const { failed, counts } of outcomes) assert.equal(failed, 0, JSON.stringify(counts))
  const later = startLoads()
  upstream.release()
  assert.equal(await held, '200')
  assert.equal(await upgrade.waitForExit(), 0)
  await ssh.waitForExit(TIMEOUT_MS)
  forwardBySsh()
  for (const host of [SDK_HOST, SSH_HOST]) await eventuallyEqual(() => requestHost(port, host), '200')
  for (const load of later) t.diagnostic(JSON.stringify((await load.stop()).counts))
})
