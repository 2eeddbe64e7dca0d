import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import ngrok from '@ngrok/ngrok'
import { Secret } from '../../src/base/values/secret.ts'
import { connectAgentSession } from '../../src/protocol/index.ts'
import { agentIdentity } from '../../src/sessions/testing/platform.ts'
import { ADIT_FROM_SOURCES } from '../support/adit-program.ts'
import { startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

// The SDK calls back shortly after a connection is lost, and aborts a process that is exiting at that moment.
after(() => delay(500))

/** Keeps a server that starts or stops from going on, since it writes to the database; returns the release. */
function blockWrites(t: TestContext, dataDir: string): () => void {
  const database = new DatabaseSync(join(dataDir, 'adit.db'))
  t.after(() => database.close())
  database.exec('BEGIN IMMEDIATE')
  return () => database.exec('COMMIT')
}

/** Whether something accepts connections at a port. */
async function isAccepted(t: TestContext, port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  t.after(() => socket.destroy())
  try {
    await once(socket, 'connect')
    socket.on('error', () => {})
    return true
  } catch {
    return false
  }
}

for (const workers of ['1', '2'])
  test(`with --workers ${workers}, agents can connect from the first moment of a start`, async (t) => {
    const port = await findFreePorts(1)
    const flags = ['--workers', workers, '--agent-addr', `127.0.0.1:${port}`]
    const first = await startPlatform(t, flags)
    await first.stop()
    const release = blockWrites(t, first.dataDir)
    let isStarted = false
    const starting = startPlatform(t, flags, first.dataDir).finally(() => {
      isStarted = true
    })
    await eventually(() => isAccepted(t, port), 'the port is open')
    const connecting = startAgent(t, first)
    // Reported once the server has started, which stops it again.
    connecting.catch(() => {})
    assert.equal(isStarted, false)
    release()
    await starting

    const agent = await connecting
    await agent.close()
  })

test('agents can connect while the code of the server is being loaded', async (t) => {
  const port = await findFreePorts(1)
  const directory = createTempDir()
  const [hook, loading, released] = ['hook.mjs', 'loading', 'released'].map((name) => join(directory, name))
  // Loading stops at this file until the test goes on.
  writeFileSync(
    hook!,
    `import { registerHooks } from 'node:module'
import { existsSync, writeFileSync } from 'node:fs'
const turn = new Int32Array(new SharedArrayBuffer(4))
registerHooks({
  load(url, context, nextLoad) {
    if (url.endsWith('/src/server/index.ts')) {
      writeFileSync(${JSON.stringify(loading)}, '')
      while (!existsSync(${JSON.stringify(released)})) Atomics.wait(turn, 0, 0, 10)
    }
    return nextLoad(url, context)
  },
})
`,
  )
  const starting = startServerProcess(t, createTempDir(), ['--agent-addr', `127.0.0.1:${port}`], {
    environment: { NODE_OPTIONS: `--import=${hook}` },
    program: ADIT_FROM_SOURCES,
  })
  await eventually(() => existsSync(loading!), 'the server is being loaded')

  assert.equal(await isAccepted(t, port), true)

  writeFileSync(released!, '')
  const server = await starting
  assert.equal(await server.stop(), 0)
})

test('agents can connect until the last moment of a stop', async (t) => {
  const platform = await startPlatform(t, ['--workers', '1'])
  const [host = '', port = ''] = platform.credentials.agent_addr.split(':')
  const disconnected = Promise.withResolvers<void>()
  await connectAgentSession({
    host,
    port: Number(port),
    ca: platform.caPem,
    identity: agentIdentity({ authtoken: new Secret(platform.credentials.authtoken) }),
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose: () => disconnected.resolve(),
  })
  const release = blockWrites(t, platform.dataDir)
  let isStopped = false
  const stopping = platform.stop().finally(() => {
    isStopped = true
  })
  await disconnected.promise

  assert.equal(await isAccepted(t, Number(port)), true)
  assert.equal(isStopped, false)
  release()
  await stopping
})

test('the official SDK finds the port of agents again after a restart, and its names are served', async (t) => {
  const port = await findFreePorts(1)
  const flags = ['--agent-addr', `127.0.0.1:${port}`]
  const first = await startPlatform(t, flags)
  const failedAttempts: string[] = []
  let reconnects = true
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(first.credentials.authtoken).serverAddr(`localhost:${port}`)
  builder.caCert(Buffer.from(first.caPem)).handleDisconnection((_address: string, error: string) => {
    failedAttempts.push(error)
    return reconnects
  })
  const session = await builder.connect()
  t.after(() => {
    reconnects = false
    return session.close().catch(() => {})
  })
  const upstream = `http://127.0.0.1:${await startHttp(t, (_request, response) => response.end('served'))}`
  const listener = await session.httpEndpoint().listenAndForward(upstream)
  await first.stop()

  const second = await startPlatform(t, flags, first.dataDir)

  const { hostname } = new URL(listener.url() ?? '')
  const url = `https://${hostname}:${new URL(second.credentials.https_url).port}`
  await eventually(async () => (await (await second.fetch(url)).text()) === 'served', 'the name is served')
  // The first is the loss of the connection itself.
  t.diagnostic(`attempts that failed: ${failedAttempts.length - 1}`)
  assert.ok(failedAttempts.length > 0, 'the session outlived its server')
})
