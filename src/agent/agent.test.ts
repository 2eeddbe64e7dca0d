import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { startHttp } from '../../test/support/local-server.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { Secret } from '../base/values/secret.ts'
import { ProtocolError, StreamType } from '../protocol/index.ts'
import { UntrustedServer } from './connect/dial.ts'
import { toTunnelSpec } from './spec/spec.ts'
import { createRecordingLog, startAgent, testSettings } from './testing/agent.ts'
import { TestGateway } from './testing/gateway.ts'
import { StartError } from './tunnels/tunnels.ts'

const GET = 'GET /hello HTTP/1.1\r\nHost: x\r\n\r\n'

async function startLocal(t: TestContext, greeting = 'hello'): Promise<string> {
  return String(await startHttp(t, (request, response) => response.end(`${greeting} ${request.url}`)))
}

const web = (addr: string, options = {}) => toTunnelSpec('web', { proto: 'http', addr, ...options })

test('a request reaches the local service through its tunnel', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent, lines } = startAgent(t, gateway)

  const tunnel = await agent.tunnels.start(web(addr))
  const response = await gateway.request(tunnel.publicUrl, GET)

  assert.match(response, /hello \/hello$/)
  assert.equal(agent.connection.status, 'online')
  assert.ok(agent.connection.latencyMs !== undefined)
  assert.equal(agent.captures.size, 1)
  const log = lines.join('')
  assert.match(log, /msg="tunnel session started" obj=tunnels\.session/)
  assert.match(log, /msg="client session established" obj=tunnels\.session id=ts_/)
  assert.match(
    log,
    new RegExp(
      `msg="started tunnel" obj=tunnels name=web addr=http://localhost:${addr} url=${tunnel.publicUrl}`,
    ),
  )
  assert.match(log, /msg="join connections" obj=join id=\w+ l=127\.0\.0\.1:\d+ r=203\.0\.113\.9:1234/)
})

test('the agent reports its identity and the commands it supports', async (t) => {
  const gateway = await TestGateway.start(t)
  const { agent } = startAgent(t, gateway, { program: { stop() {}, reexec: undefined } })
  await agent.connection.session(5000)

  const extra = gateway.auths[0]?.Extra as Record<string, unknown>
  assert.equal(extra.ClientType, 'adit')
  assert.equal(extra.Metadata, 'of a test')
  assert.equal(extra.StopUnsupportedError, '')
  assert.equal(extra.RestartUnsupportedError, '')
})

test('an agent whose file of captured requests is in use serves, and says why it keeps none', async (t) => {
  const gateway = await TestGateway.start(t)
  const captureFile = join(createTempDir(), 'captures')
  const first = startAgent(t, gateway, { settings: testSettings(gateway, { captureFile }) })
  const second = startAgent(t, gateway, { settings: testSettings(gateway, { captureFile }) })

  const { publicUrl } = await second.agent.tunnels.start(web(await startLocal(t)))
  assert.match(await gateway.request(publicUrl, GET), /hello \/hello$/)

  assert.equal(second.agent.captures.size, 1)
  assert.match(
    second.lines.join(''),
    /lvl=warn msg="captured requests are kept in memory only" .*Another agent keeps its captured requests in .*--inspect-db-file/,
  )
  assert.doesNotMatch(first.lines.join(''), /kept in memory/)
})

test('an invalid token stops the agent with the reason, and the token is never logged', async (t) => {
  const gateway = await TestGateway.start(t)
  const { location } = testSettings(gateway)
  const settings = testSettings(gateway, {
    location: { ...location, authtoken: new Secret('wrong-secret-token') },
  })
  const { ended, lines } = startAgent(t, gateway, { settings })

  await assert.rejects(ended, (error) => error instanceof ProtocolError && error.number === 107)
  assert.match(lines.join(''), /lvl=eror msg="failed to auth"/)
  assert.doesNotMatch(lines.join(''), /wrong-secret-token/)
})

test('an untrusted server stops the agent with an error that names the next step', async (t) => {
  const gateway = await TestGateway.start(t)
  const { location } = testSettings(gateway)
  const settings = testSettings(gateway, { location: { ...location, cas: undefined } })
  const { ended } = startAgent(t, gateway, { settings })

  await assert.rejects(ended, (error) => error instanceof UntrustedServer && /--root-cas/.test(error.message))
})

test('after a lost session the tunnels are back under the same names', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent, lines } = startAgent(t, gateway)
  const first = await agent.tunnels.start(web(addr))
  const labelled = await agent.tunnels.start(toTunnelSpec('edge', { labels: ['a=b'], addr }))
  const tcp = await agent.tunnels.start(toTunnelSpec('ssh', { proto: 'tcp', addr }))
  const urls = [first.publicUrl, tcp.publicUrl]
  const session = agent.connection.welcome?.Extra.AgentSessionID

  gateway.stop()
  await eventually(() => agent.connection.status === 'reconnecting')
  await gateway.listen(gateway.port)
  await eventually(() => agent.connection.status === 'online')

  assert.deepEqual([first.publicUrl, tcp.publicUrl], urls)
  assert.notEqual(agent.connection.welcome?.Extra.AgentSessionID, session)
  assert.match(await gateway.request(first.publicUrl, GET), /hello/)
  assert.ok(gateway.tunnels.has(labelled.binding.id))
  const [, secondAuth] = gateway.auths as { ClientId: string; Extra: { Cookie: string } }[]
  assert.match(secondAuth!.ClientId, /^client-/)
  assert.equal(secondAuth!.Extra.Cookie, 'cookie')
  assert.match(lines.join(''), /lvl=eror msg="session closed, starting reconnect loop"/)
})

test('an unresponsive server is detected by the heartbeat', async (t) => {
  const gateway = await TestGateway.start(t)
  const settings = testSettings(gateway, { heartbeat: { intervalMs: 200, toleranceMs: 300 } })
  const { agent, lines } = startAgent(t, gateway, { settings })
  await agent.connection.session(5000)

  gateway.freeze()
  await eventually(() => agent.connection.status === 'reconnecting')

  assert.match(lines.join(''), /msg="heartbeat timeout, terminating session"/)
})

test('a tunnel rejected after a reconnect does not take the session down', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent } = startAgent(t, gateway)
  const tunnel = await agent.tunnels.start(web(addr))
  gateway.bindError = new ProtocolError('taken', 334)

  gateway.goAway()
  await eventually(() => agent.connection.status === 'online' && !tunnel.online)

  assert.equal(agent.tunnels.get('web'), tunnel)
})

test('two schemes start two tunnels under one host name', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent } = startAgent(t, gateway)

  const tunnel = await agent.tunnels.start(web(addr, { schemes: ['http', 'https'] }))

  const [https, http] = agent.tunnels.list()
  assert.equal(tunnel, https)
  assert.equal(http?.name, 'web (http)')
  assert.equal(http?.publicUrl, https?.publicUrl.replace('https', 'http'))
  assert.equal(await agent.tunnels.stop('web'), true)
  assert.deepEqual(agent.tunnels.list(), [http])
})

test('a rejected tunnel reports the reason and releases its name', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent } = startAgent(t, gateway)
  gateway.bindError = new ProtocolError('https://x.test is already online.', 334)

  await assert.rejects(
    agent.tunnels.start(web(addr)),
    (error) =>
      error instanceof StartError && error.code === 'ERR_ADIT_334' && /already online/.test(error.message),
  )
  gateway.bindError = undefined
  await agent.tunnels.start(web(addr))
  await assert.rejects(agent.tunnels.start(web(addr)), /tunnel "web" already exists/)
})

test('stopping a tunnel unbinds it', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent } = startAgent(t, gateway)
  await agent.tunnels.start(web(addr))

  assert.equal(await agent.tunnels.stop('web'), true)

  assert.equal(gateway.tunnels.size, 0)
  assert.equal(await agent.tunnels.stop('web'), false)
})

test('restart opens a new session with the same names', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent } = startAgent(t, gateway)
  const tunnel = await agent.tunnels.start(web(addr))
  const previousId = agent.connection.welcome?.Extra.AgentSessionID
  const url = tunnel.publicUrl

  await gateway.session!.command(StreamType.Restart, {})
  await eventually(() => gateway.auths.length === 2 && agent.connection.status === 'online')

  assert.notEqual(agent.connection.welcome?.Extra.AgentSessionID, previousId)
  assert.equal(tunnel.publicUrl, url)
  assert.match(await gateway.request(url, GET), /hello/)
})

test('stop ends the program after the response was sent', async (t) => {
  const gateway = await TestGateway.start(t)
  let stopped = 0
  const { agent, lines } = startAgent(t, gateway, { program: { stop: () => stopped++, reexec: undefined } })
  await agent.connection.session(5000)

  await gateway.session!.command(StreamType.Stop, {})
  await eventually(() => stopped === 1)

  assert.match(lines.join(''), /msg="received stop request" obj=app stopReq=stop/)
})

test('disallowed commands are rejected with the reason', async (t) => {
  const gateway = await TestGateway.start(t)
  const settings = testSettings(gateway, { remoteManagement: false })
  const { agent } = startAgent(t, gateway, { settings, program: { stop() {}, reexec: undefined } })
  await agent.connection.session(5000)

  const { session } = gateway
  await assert.rejects(session!.command(StreamType.Stop, {}), /remote management is disabled/)
  await assert.rejects(
    session!.command(StreamType.Update, { Version: '', PermitMajorVersion: false }),
    /remote management/,
  )
})

test('update is rejected with its documented reason when there is none', async (t) => {
  const gateway = await TestGateway.start(t)
  const { agent } = startAgent(t, gateway, { program: { stop() {}, reexec: undefined } })
  await agent.connection.session(5000)

  await assert.rejects(
    gateway.session!.command(StreamType.Update, { Version: '', PermitMajorVersion: false }),
    /no update is available/,
  )
})

test('a tunnel stopped by the server is removed', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent, lines } = startAgent(t, gateway)
  const tunnel = await agent.tunnels.start(web(addr))

  gateway.session!.stopTunnel(tunnel.binding.id, 'the name was taken away', 'ERR_NGROK_1')
  await eventually(() => agent.tunnels.list().length === 0)

  assert.match(lines.join(''), /the name was taken away.*ERR_ADIT_1/)
})

test('closing unbinds everything and closes the session cleanly', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startLocal(t)
  const { agent, ended } = startAgent(t, gateway)
  await agent.tunnels.start(web(addr))

  await agent.close()
  await ended

  assert.equal(gateway.calls.at(-1)?.type, StreamType.Unbind)
  assert.equal(agent.connection.status, 'closed')
})

test('the agent waits for a server that is not running yet', async (t) => {
  const gateway = await TestGateway.start(t)
  gateway.stop()
  const { agent, lines } = startAgent(t, gateway)
  await eventually(() => lines.join('').includes('failed to reconnect session'))

  await gateway.listen(gateway.port)
  await agent.connection.session(5000)

  assert.match(lines.join(''), /nothing listens at localhost:\d+ \(connection refused\)/)
})

test('the token never appears in a debug log', async (t) => {
  const gateway = await TestGateway.start(t)
  const { log, lines } = createRecordingLog()
  const { agent } = startAgent(t, gateway, { log })
  await agent.connection.session(5000)

  log.debug('handshake', { auth: JSON.stringify(gateway.auths) })

  assert.ok(lines.length > 0)
  assert.doesNotMatch(lines.join(''), new RegExp(gateway.token))
})
