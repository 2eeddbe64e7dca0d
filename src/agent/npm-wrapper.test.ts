import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gatewayFlags } from '../../test/support/agent-process.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { BASE_ROOT, VERSION } from '../base/version.ts'
import { ProtocolError } from '../protocol/index.ts'
import { TestGateway } from './testing/gateway.ts'
import { startHttpService } from './testing/local-api.ts'

interface Client {
  listTunnels(): Promise<{ tunnels: { name: string; public_url: string; uri: string }[] }>
  tunnelDetail(name: string): Promise<{ public_url: string }>
  listRequests(options?: object): Promise<{ requests: { id: string; request: { uri: string } }[] }>
  requestDetail(id: string): Promise<{ id: string }>
  replayRequest(id: string, tunnelName?: string): Promise<boolean>
  deleteAllRequests(): Promise<boolean>
}

interface Wrapper {
  connect(options: object): Promise<string>
  disconnect(url?: string): Promise<void>
  kill(): Promise<void>
  getUrl(): string
  getApi(): Client
  getVersion(options: object): Promise<string>
  authtoken(options: object): Promise<void>
  upgradeConfig(options: object): Promise<void>
}

/** The published npm wrapper; only the program it starts is ours. */
function loadWrapper(t: TestContext, gateway: TestGateway) {
  const require = createRequire(import.meta.url)
  for (const path of Object.keys(require.cache))
    if (path.includes('/node_modules/ngrok/')) delete require.cache[path]
  const wrapper = require('ngrok') as Wrapper
  t.after(() => wrapper.kill())
  const home = createTempDir()
  const [, rootCas] = gatewayFlags(gateway, home)
  const launcher = join(home, 'ngrok')
  const settings = `HOME=${home} ADIT_DATA_DIR=${home}/data ADIT_CONNECT_URL=localhost:${gateway.port} ADIT_${rootCas!.slice(2).replace('root-cas', 'ROOT_CAS')}`
  writeFileSync(launcher, `#!/bin/sh\n${settings} exec ${join(BASE_ROOT, 'bin', 'adit')} "$@"\n`)
  chmodSync(launcher, 0o700)
  return { wrapper, home, common: { binPath: () => home, authtoken: gateway.token } }
}

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`

test('the npm wrapper connects, lists, inspects, replays and disconnects', async (t) => {
  const gateway = await TestGateway.start(t)
  const { wrapper, home, common } = loadWrapper(t, gateway)
  const received: string[] = []
  const addr = await startHttpService(t, (request, response) => {
    received.push(request.url ?? '')
    response.end('hello')
  })
  const states: string[] = []
  let ended = () => {}
  const terminated = new Promise<void>((resolve) => {
    ended = resolve
  })

  const configPath = join(home, 'wrapper.yml')
  writeFileSync(configPath, `version: "2"\ntunnels:\n  web: {proto: http, addr: ${addr}}\n`, { mode: 0o600 })

  const url = await wrapper.connect({
    ...common,
    configPath,
    name: 'web',
    onStatusChange: (state: string) => states.push(state),
    onTerminated: ended,
  })
  assert.match(url, /^https:\/\/n\d+\.test$/)
  assert.match(await gateway.request(url, GET('/one')), /hello/)

  const api = wrapper.getApi()
  assert.match(wrapper.getUrl(), /^http:\/\/127\.0\.0\.1:\d+$/)
  const { tunnels } = await api.listTunnels()
  assert.deepEqual(
    tunnels.map(({ public_url }) => public_url),
    [url],
  )
  const { name } = tunnels[0]!
  assert.equal((await api.tunnelDetail(name)).public_url, url)

  const [captured] = (await api.listRequests({ limit: 50, tunnel_name: name })).requests
  assert.equal(captured?.request.uri, '/one')
  assert.equal((await api.requestDetail(captured!.id)).id, captured!.id)
  assert.equal(await api.replayRequest(captured!.id), true)
  assert.equal((await api.listRequests()).requests.length, 2)
  await eventually(() => received.length === 2)
  assert.equal(await api.deleteAllRequests(), true)
  assert.deepEqual((await api.listRequests()).requests, [])

  const second = await wrapper.connect({ ...common, proto: 'tcp', addr: 22 })
  assert.match(second, /^tcp:\/\/tcp\.test:\d+$/)
  await wrapper.disconnect(second)
  await wrapper.disconnect()
  assert.deepEqual((await api.listTunnels()).tunnels, [])

  await wrapper.kill()
  await terminated
  assert.ok(states.includes('connected'))
})

test('errors reach users of the wrapper with their cause', async (t) => {
  const gateway = await TestGateway.start(t)
  const { wrapper, common } = loadWrapper(t, gateway)
  await wrapper.connect({ ...common, addr: 80 })

  await assert.rejects(wrapper.connect({ ...common, proto: 'x', addr: 80 }), {
    name: 'NgrokClientError',
    message: 'invalid tunnel configuration',
  })
  gateway.bindError = new ProtocolError('https://taken.test is already online.', 334)
  await assert.rejects(
    wrapper.connect({ ...common, addr: 80 }),
    (error: { body: { msg: string; details: { err: string } } }) => {
      assert.equal(error.body.msg, 'failed to start tunnel')
      assert.match(error.body.details.err, /already online/)
      return true
    },
  )
})

test('the wrapper waits for a server that is slow to answer', async (t) => {
  const gateway = await TestGateway.start(t)
  const { wrapper, common } = loadWrapper(t, gateway)
  let open = () => {}
  gateway.authGate = new Promise((resolve) => {
    open = resolve
  })

  // The wrapper, whose calls this process makes, retries on one specific response.
  const onResponse = (message: unknown) => {
    if ((message as { response: IncomingMessage }).response.statusCode === 503) open()
  }
  subscribe('http.client.response.finish', onResponse)
  t.after(() => unsubscribe('http.client.response.finish', onResponse))

  assert.match(await wrapper.connect({ ...common, addr: 80 }), /^https:/)
})

test('the wrapper saves the token, upgrades a file and reads the version', async (t) => {
  const gateway = await TestGateway.start(t)
  const { wrapper, home, common } = loadWrapper(t, gateway)
  const configPath = join(home, 'my.yml')
  writeFileSync(configPath, 'tunnels: {}\n', { mode: 0o600 })

  await wrapper.authtoken({ ...common, authtoken: 'SAVED', configPath })
  assert.match(readFileSync(configPath, 'utf8'), /authtoken: SAVED/)
  await wrapper.upgradeConfig({ ...common, configPath })
  assert.match(await wrapper.getVersion(common), new RegExp(`${VERSION}$`))
})
