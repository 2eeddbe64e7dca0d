import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LAUNCH_COMMAND } from '../../src/base/version.ts'
import { startAgent } from '../support/agents.ts'
import { createClient, tempDir } from '../support/api.ts'
import { eventually, TIMEOUT_MS } from '../support/eventually.ts'
import { startHoldingHttp } from '../support/local-server.ts'
import { httpPortOf } from '../support/rolling-restart.ts'
import { startServerProcess } from '../support/server-process.ts'
import { requestHost, startLoad } from '../support/steady-load.ts'
import { startUpgrade } from '../support/upgrade.ts'

const HOST = 'app.adit.localhost'

test('a new release takes over from the running one: no request fails, and what is under way ends by itself', async (t) => {
  const { dataDir, server, upstream, agent, port, load } = await startLoadedServer(t)
  const { url: tcpUrl } = await agent.forward({ addr: upstream.port, proto: 'tcp' })
  const slow = requestHost(port, HOST, { path: '/wait', timeoutMs: TIMEOUT_MS })
  const upload = request({
    ...{ host: '127.0.0.1', port, method: 'PUT', agent: false },
    headers: { Host: `${HOST}:${port}` },
  })
  upload.write('first half, ')
  await eventually(() => upstream.waiting === 1 && upstream.received > 0)

  const upgrade = startUpgrade(t, dataDir)
  await upgrade.takenOver()
  const sentBefore = load.sent
  await eventually(() => load.sent > sentBefore + 50)
  upload.end('second half')
  upstream.release()

  assert.equal(await slow, '200')
  const [response] = await once(upload, 'response')
  assert.equal(response.statusCode, 200)
  assert.equal(upstream.received, 'first half, second half'.length)
  assert.equal(await upgrade.waitForExit(), 0)
  await server.ended()
  const { failed, counts } = await load.stop()
  assert.equal(failed, 0, JSON.stringify(counts))
  assert.equal((await fetch(tcpUrl.replace('tcp:', 'http:'))).status, 200)
  const call = createClient(server.url, server.apiKey)
  assert.equal((await call('GET', '/tunnel_sessions')).body.tunnel_sessions.length, 1)
})

test('a new release that fails is ended, and the running one carries on; the next upgrade succeeds', async (t) => {
  const { dataDir, server, load } = await startLoadedServer(t)
  const failing = join(dataDir, 'failing-release')
  const failpoint = 'NODE_ENV=test TEST_FAILPOINT=server.start:20:throw'
  await writeFile(failing, `#!/bin/sh\n${failpoint} exec ${LAUNCH_COMMAND.join(' ')} "$@"\n`, { mode: 0o755 })

  for (const [program, reason] of [
    [failing, 'The new release has failed: The failpoint server.start was reached.'],
    ['/bin/false', 'The new release ended during its start (exit code 1).'],
    [join(dataDir, 'missing'), 'cannot be run: no such file.'],
  ] as const) {
    const upgrade = startUpgrade(t, dataDir, [program])
    assert.equal(await upgrade.waitForExit(), 1)
    assert.ok(upgrade.stderr.includes(`${reason} The running release carries on unchanged.`), upgrade.stderr)
  }
  const upgrade = startUpgrade(t, dataDir)
  await upgrade.takenOver()

  assert.equal(await upgrade.waitForExit(), 0)
  await server.ended()
  const { failed, counts } = await load.stop()
  assert.equal(failed, 0, JSON.stringify(counts))
})

test('where no server runs, the command says so', async (t) => {
  const dataDir = await tempDir(t)

  const upgrade = startUpgrade(t, dataDir)

  assert.equal(await upgrade.waitForExit(), 1)
  assert.match(upgrade.stderr, /No server that can be upgraded runs on the data directory/)
})

/** A server with an agent whose service gets 50 requests a second. */
async function startLoadedServer(t: TestContext) {
  const dataDir = await tempDir(t)
  const server = await startServerProcess(t, dataDir)
  const upstream = await startHoldingHttp(t)
  const agent = await startAgent(t, server, server.authtoken)
  await agent.forward({ addr: upstream.port, url: `http://${HOST}` })
  const port = httpPortOf(server)
  const load = startLoad(t, { host: HOST, perSecond: 50, ports: () => [port], timeoutMs: TIMEOUT_MS })
  return { dataDir, server, upstream, agent, port, load }
}
