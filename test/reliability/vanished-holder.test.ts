import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { createIdentity, openSshSkipReason, readUrl, startSsh } from '../ssh/openssh.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { fetchHost, portOf, startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'mine.adit.localhost'
const ENDPOINT_URL = `http://${HOST}`

/** Starts an agent that holds the name, connected through a relay. */
async function startHolder(t: TestContext, node: TestPlatform) {
  const relay = await startRelay(t, portOf(node.credentials.agent_addr))
  const port = await startHttp(t, (_request, response) => response.end('former'))
  const credentials = { ...node.credentials, agent_addr: `127.0.0.1:${relay.port}` }
  // One leg: a second one would go to another node, past the relay.
  const agent = await startAgent(t, { credentials }, undefined, { env: { ADIT_LEGS: '1' } })
  await agent.forward({ addr: port, url: ENDPOINT_URL })
  assert.equal((await fetchHost(node, HOST)).body, 'former')
  return relay
}

async function startNodes(t: TestContext) {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
  return { first, second }
}

test('the name of an agent whose machine has vanished can be bound with the same credential', async (t) => {
  const node = await startPlatform(t)
  const relay = await startHolder(t, node)
  const port = await startHttp(t, (_request, response) => response.end('new'))
  const successor = await startAgent(t, node)
  relay.freeze()

  await successor.forward({ addr: port, url: ENDPOINT_URL })

  assert.equal((await fetchHost(node, HOST)).body, 'new')
  const { tunnel_sessions } = (await node.call('GET', '/tunnel_sessions')).body
  assert.equal(tunnel_sessions.length, 1, 'the silent session is over')
})

test('the name can also be bound by an agent on another node', async (t) => {
  const { first, second } = await startNodes(t)
  const relay = await startHolder(t, first)
  await eventually(async () => (await fetchHost(second, HOST)).body === 'former')
  const port = await startHttp(t, (_request, response) => response.end('new'))
  const credentials = { ...second.credentials, authtoken: first.credentials.authtoken }
  const successor = await startAgent(t, { credentials })
  relay.freeze()

  await successor.forward({ addr: port, url: ENDPOINT_URL })

  assert.equal((await fetchHost(second, HOST)).body, 'new')
  await eventually(async () => (await fetchHost(first, HOST)).body === 'new')
})

test('a responsive holder keeps its name against binds on the same node and on another', async (t) => {
  const { first, second } = await startNodes(t)
  await startHolder(t, first)
  await eventually(async () => (await fetchHost(second, HOST)).body === 'former')

  for (const node of [first, second]) {
    const credentials = { ...node.credentials, authtoken: first.credentials.authtoken }
    const successor = await startAgent(t, { credentials })
    await assert.rejects(successor.forward({ addr: 80, url: ENDPOINT_URL }), /already online/)
  }

  assert.equal((await fetchHost(second, HOST)).body, 'former')
})

test('the official SDK answers the liveness probe and keeps its name', async (t) => {
  const node = await startPlatform(t)
  const port = await startHttp(t, (_request, response) => response.end('sdk'))
  const builder = new ngrok.SessionBuilder()
  const { authtoken, agent_addr, ca_file } = node.credentials
  builder.authtoken(authtoken).serverAddr(agent_addr).rootCas(ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  await session.httpEndpoint().scheme('http').domain(HOST).listenAndForward(`http://127.0.0.1:${port}`)
  const successor = await startAgent(t, node)

  await assert.rejects(successor.forward({ addr: 80, url: ENDPOINT_URL }), /already online/)

  assert.equal((await fetchHost(node, HOST)).body, 'sdk')
})

test('another credential cannot bind the name of a silent session', async (t) => {
  const node = await startPlatform(t)
  const relay = await startHolder(t, node)
  const { token } = await node.call.create('/credentials', {})
  const successor = await startAgent(t, node, token)
  relay.freeze()

  await assert.rejects(successor.forward({ addr: 80, url: ENDPOINT_URL }), /already online/)
})

test('the command line takes over the name of an agent whose machine has vanished', async (t) => {
  const node = await startPlatform(t)
  const relay = await startHolder(t, node)
  const port = await startHttp(t, (_request, response) => response.end('new'))
  relay.freeze()

  const program = startProgram(t, ['http', String(port), `--url=${ENDPOINT_URL}`, '--web-addr=false'], {
    env: cleanEnv(createTempDir(), {
      ADIT_CONNECT_URL: node.credentials.agent_addr,
      ADIT_CONNECT_CAS: node.credentials.ca_file,
      ADIT_AUTHTOKEN: node.credentials.authtoken,
    }),
  })
  await program.until(({ stdout }) => stdout.includes('Forwarding'))

  assert.equal((await fetchHost(node, HOST)).body, 'new')
})

test('an SSH client takes over the name of a vanished SSH client, and not of a responsive one', {
  skip: openSshSkipReason,
}, async (t) => {
  const node = await startPlatform(t)
  const identity = await createIdentity(node)
  const relay = await startRelay(t, portOf(node.credentials.ssh_addr))
  const credentials = { ...node.credentials, ssh_addr: `127.0.0.1:${relay.port}` }
  await readUrl(startSsh(t, { ...node, credentials }, identity, ['-R', 'mine:80:127.0.0.1:9']))
  const successor = () => startSsh(t, node, identity, ['-R', 'mine:80:127.0.0.1:9'], ['http'])
  await successor().waitForOutput(/was rejected: .*already online/)

  relay.freeze()

  assert.equal(
    await readUrl(successor()),
    `http://mine.adit.localhost:${new URL(node.credentials.http_url).port}`,
  )
})
