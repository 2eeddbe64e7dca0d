import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Secret } from '../../src/base/values/secret.ts'
import { connectAgentSession } from '../../src/protocol/index.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { readText } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import type { Credentials } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { signalServer } from '../support/worker-processes.ts'

const NAME = 'moves.adit.localhost'

/** Starts two server processes on one database. */
async function startNodes(t: TestContext) {
  const flags = ['--database-url', (await createTestDatabase(t)).url, '--log-level', 'error']
  const dirs = [createTempDir(), createTempDir()] as const
  const first = await startServerProcess(t, dirs[0], flags)
  const second = await startServerProcess(t, dirs[1], [
    ...flags,
    '--master-key-file',
    join(dirs[0], 'master.key'),
  ])
  const [firstCredentials, secondCredentials] = dirs.map(
    (dir) => JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8')) as Credentials,
  )
  return {
    first: { ...first, credentials: firstCredentials! },
    second: { ...second, credentials: secondCredentials! },
  }
}

/** Connects an agent session and returns the connect addresses the node announces. */
async function listConnectAddresses({
  credentials: { agent_addr, ca_file, authtoken },
}: {
  credentials: Credentials
}) {
  const session = await connectAgentSession({
    host: '127.0.0.1',
    port: Number(agent_addr.split(':')[1]),
    servername: 'localhost',
    ca: readFileSync(ca_file, 'utf8'),
    identity: {
      ...{ version: '1', userAgent: 'adit/1', clientType: 'adit', os: 'linux', arch: 'x64' },
      ...{ authtoken: new Secret(authtoken), clientId: '', cookie: '' },
      commands: { restart: 'no', stop: 'no', update: 'no' },
    },
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose: () => {},
  })
  session.close()
  return (session.authResponse.Extra?.ConnectAddresses ?? []).map(({ ServerAddr }) => ServerAddr)
}

async function getBody({ credentials }: { credentials: Credentials }): Promise<string> {
  const port = Number(new URL(credentials.http_url).port)
  const request = get({ host: '127.0.0.1', port, headers: { Host: NAME }, agent: false, timeout: 5000 })
  request.on('timeout', () => request.destroy(new Error('no answer')))
  const [response] = await once(request, 'response')
  return readText(response)
}

test('an agent fails over to the other node when its node freezes, and both nodes serve it after the thaw', async (t) => {
  const { first, second } = await startNodes(t)
  const port = await startHttp(t, (_request, response) => response.end('served'))
  const { agent_addr, ca_file, authtoken } = first.credentials
  await eventually(
    async () => (await listConnectAddresses(first)).includes(second.credentials.agent_addr),
    'the first node names the second',
  )
  const agent = startProgram(t, ['http', String(port), `--url=http://${NAME}`, '--web-addr=false'], {
    env: {
      ...cleanEnv(createTempDir()),
      ADIT_CONNECT_URL: agent_addr,
      ADIT_CONNECT_CAS: ca_file,
      ADIT_AUTHTOKEN: authtoken,
      ADIT_CONNECT_TIMEOUT: '2s',
      ADIT_HEARTBEAT_INTERVAL: '1s',
      ADIT_HEARTBEAT_TOLERANCE: '2s',
    },
  })
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  await eventually(async () => (await getBody(second)) === 'served', 'the second node serves it')

  signalServer(first.pid, 'SIGSTOP')
  t.after(() => signalServer(first.pid, 'SIGCONT'))
  const call = createClient(second.credentials.api_url, first.credentials.api_key)
  await eventually(async () => (await getBody(second)) === 'served', 'the agent is at the second node')
  signalServer(first.pid, 'SIGCONT')

  for (const node of [first, second])
    await eventually(async () => (await getBody(node)) === 'served', 'both nodes serve it')
  await eventually(
    async () => (await call('GET', '/tunnel_sessions')).body.tunnel_sessions.length === 1,
    'the session at the node that froze is over',
  )
  assert.equal(await getBody(first), 'served')
})
