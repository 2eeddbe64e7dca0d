import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AgentHandle, ConnectOptions } from '../../src/agent/index.ts'
import type { ServerLimits } from '../../src/server/index.ts'
import { fetchHost, portOf, startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-ports.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase, startPostgres } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { signalServer } from '../support/worker-processes.ts'

/** An agent whose service answers with the agent's id. */
interface Contender {
  readonly id: string
  bind(host: string): Promise<'bound' | 'refused'>
  close(): Promise<void>
}

type Node = Pick<TestPlatform, 'credentials'>

async function startContender(
  t: TestContext,
  id: string,
  node: Node,
  authtoken: string,
  options?: Pick<ConnectOptions, 'config'>,
): Promise<Contender> {
  const port = await startHttp(t, (_request, response) => response.end(id))
  const agent: AgentHandle = await startAgent(t, node, authtoken, options)
  return {
    id,
    bind: (host) =>
      agent.forward({ addr: port, url: `http://${host}` }).then(
        () => 'bound' as const,
        (error: Error) => {
          assert.match(
            error.message,
            /already online|used by another account|does not answer|database is unavailable/,
          )
          return 'refused' as const
        },
      ),
    close: () => agent.close(),
  }
}

/** Polls the names on all nodes and records which agents answer for each. */
function startPolling(nodes: readonly Node[], hosts: readonly string[]) {
  const responders = new Map<string, Set<string>>(hosts.map((host) => [host, new Set()]))
  let stopping = false
  const pollEach = async (node: Node) => {
    for (const host of hosts) {
      const { status, body } = await fetchHost(node, host)
      if (status === 200) responders.get(host)!.add(body)
    }
  }
  const polling = Promise.all(
    nodes.map(async (node) => {
      while (!stopping) await pollEach(node)
      await pollEach(node)
    }),
  )
  return {
    responders,
    async stop() {
      stopping = true
      await polling
    },
  }
}

const CONTENDED = Array.from({ length: 20 }, (_, index) => `both-${index}.adit.localhost`)

const platforms = {
  async 'three nodes on PostgreSQL'(t: TestContext) {
    const { url } = await createTestDatabase(t)
    const first = await startPlatform(t, ['--database-url', url])
    const flags = ['--database-url', url, '--master-key-file', join(first.dataDir, 'master.key')]
    const others = [await startPlatform(t, flags), await startPlatform(t, flags)]
    return { nodes: [first, ...others], other: await createSecondAccount(first) }
  },
  async 'one node on SQLite'(t: TestContext) {
    const node = await startPlatform(t)
    return { nodes: [node, node, node], other: await createSecondAccount(node) }
  },
}

for (const [description, start] of Object.entries(platforms)) {
  test(`200 concurrent binds of two accounts never bind a name twice: ${description}`, async (t) => {
    const { nodes, other } = await start(t)
    const tokens = [nodes[0]!.credentials.authtoken, other.authtoken]
    const contenders = await Promise.all(
      nodes.flatMap((node, index) =>
        tokens.map((token, account) => startContender(t, `agent-${index}-${account}`, node, token)),
      ),
    )
    const poller = startPolling([...new Set(nodes)], CONTENDED)

    const outcomes = await Promise.all(
      contenders.map(async ({ id, bind }) => {
        const ownHosts = Array.from({ length: 14 }, (_, index) => `own-${index}-${id}.adit.localhost`)
        const [contended, distinct] = await Promise.all([
          Promise.all(CONTENDED.map(bind)),
          Promise.all(ownHosts.map(bind)),
        ])
        return { id, contended, distinct }
      }),
    )
    const holders = CONTENDED.map((_, index) =>
      outcomes.filter(({ contended }) => contended[index] === 'bound').map(({ id }) => id),
    )
    for (const node of new Set(nodes))
      for (const [index, host] of CONTENDED.entries())
        await eventually(async () => (await fetchHost(node, host)).body === holders[index]![0])
    await poller.stop()

    for (const { id, distinct } of outcomes) assert.ok(!distinct.includes('refused'), id)
    for (const [index, host] of CONTENDED.entries()) {
      assert.equal(holders[index]!.length, 1, `${host}: ${holders[index]}`)
      assert.deepEqual([...poller.responders.get(host)!], holders[index], `${host}: agents that answered`)
    }
  })
}

const LIMITS: ServerLimits = {
  graceMs: 1000,
  claims: { leaseMs: 2500, renewMs: 500, retryMs: 250, stallMs: 1000 },
}

/** Starts a node as a process that can be stopped and killed. */
async function startNode(t: TestContext, flags: readonly string[], existingDataDir?: string) {
  const dataDir = existingDataDir ?? createTempDir()
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, 'node.fixture.ts'), '--data-dir', dataDir, ...ANY_PORTS, ...flags],
    {
      env: { ...process.env, ADIT_TEST_LIMITS: JSON.stringify(LIMITS) },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  const credentials: TestPlatform['credentials'] = JSON.parse(
    await readFile(join(dataDir, 'credentials.json'), 'utf8'),
  )
  return { child, dataDir, credentials }
}

test('names of a killed or paused node can be bound elsewhere, and the paused node never serves them again', async (t) => {
  const { url } = await createTestDatabase(t)
  const commonFlags = ['--log-level', 'error', '--name-cooldown', '0', '--database-url', url]
  const killedNode = await startNode(t, commonFlags)
  const flags = [...commonFlags, '--master-key-file', join(killedNode.dataDir, 'master.key')]
  const [stoppedNode, thirdNode] = [await startNode(t, flags), await startNode(t, flags)]
  const { authtoken } = killedNode.credentials
  const other = await createSecondAccount({ ...killedNode, databaseUrl: url })
  // An agent that noticed the pause would move to another node and take its names along.
  const patient = join(createTempDir(), 'patient.yml')
  await writeFile(patient, 'version: "2"\nheartbeat_tolerance: 10m\n')
  const previous = {
    killed: await startContender(t, 'on the killed node', killedNode, authtoken),
    stopped: await startContender(t, 'on the stopped node', stoppedNode, authtoken, { config: [patient] }),
  }
  const hosts = (state: string) => Array.from({ length: 5 }, (_, index) => `${state}-${index}.adit.localhost`)
  const successor = await startContender(t, 'the next holder', thirdNode, other.authtoken)
  for (const host of hosts('killed')) assert.equal(await previous.killed.bind(host), 'bound')
  for (const host of hosts('stopped')) assert.equal(await previous.stopped.bind(host), 'bound')
  for (const host of [...hosts('killed'), ...hosts('stopped')]) {
    await eventually(async () => (await fetchHost(thirdNode, host)).status === 200)
    assert.equal(await successor.bind(host), 'refused', 'they are online elsewhere')
  }

  killedNode.child.kill('SIGKILL')
  // Its agent would move to another node and take its names along, too.
  await previous.killed.close()
  signalServer(stoppedNode.child.pid!, 'SIGSTOP')
  const takeOver = (host: string) =>
    eventually(async () => (await successor.bind(host)) === 'bound', `the next holder binds ${host}`, 30_000)
  await Promise.all([...hosts('killed'), ...hosts('stopped')].map(takeOver))
  // Sent while the node is stopped, and answered as soon as it resumes.
  const pendingVisits = hosts('stopped').map((host) => fetchHost(stoppedNode, host))
  signalServer(stoppedNode.child.pid!, 'SIGCONT')

  for (const response of await Promise.all(pendingVisits))
    assert.notEqual(response.body, 'on the stopped node')
  for (const host of hosts('stopped')) {
    await eventually(async () => {
      const { body } = await fetchHost(stoppedNode, host)
      assert.notEqual(body, 'on the stopped node')
      return body === 'the next holder'
    }, `the stopped node forwards ${host}`)
    assert.equal((await fetchHost(thirdNode, host)).body, 'the next holder')
  }
  for (const host of hosts('killed')) assert.equal((await fetchHost(thirdNode, host)).body, 'the next holder')
})

test('while PostgreSQL is down agents keep and resume their names, and cannot bind new ones', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const flags = ['--database-url', postgres.url]
  const initial = await startPlatform(t, flags)
  await initial.stop()
  const node = await startPlatform(t, flags, initial.dataDir)
  const port = await startHttp(t, (_request, response) => response.end('served'))
  const relay = await startRelay(t, portOf(node.credentials.agent_addr))
  const credentials = { ...node.credentials, agent_addr: `127.0.0.1:${relay.port}` }
  const agent = await startAgent(t, { credentials })
  await agent.forward({ addr: port, url: 'http://held.adit.localhost' })
  const lateAgent = await startAgent(t, node)

  await postgres.stop()
  await assert.rejects(
    lateAgent.forward({ addr: port, url: 'http://new.adit.localhost' }),
    /database is unavailable/,
  )
  assert.equal((await fetchHost(node, 'held.adit.localhost')).body, 'served')
  relay.cut()
  await eventually(
    async () => agent.status === 'online' && (await fetchHost(node, 'held.adit.localhost')).body === 'served',
    'the agent resumes its name',
  )

  await postgres.start()
  await eventually(
    async () =>
      lateAgent.forward({ addr: port, url: 'http://new.adit.localhost' }).then(
        () => true,
        () => false,
      ),
    'new names are bound again',
  )
  assert.equal((await fetchHost(node, 'held.adit.localhost')).body, 'served')
})
