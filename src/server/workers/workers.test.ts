import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHost, startAgent } from '../../../test/support/agents.ts'
import { createClient } from '../../../test/support/api.ts'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { sendHttps } from '../../../test/support/https-client.ts'
import { listen, startHttp } from '../../../test/support/local-server.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { countResumed } from '../../../test/support/resumed-sessions.ts'
import { type ServerProcess, startServerProcess } from '../../../test/support/server-process.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { startUpgrade } from '../../../test/support/upgrade.ts'
import { findWorker, processTitle } from '../../../test/support/worker-processes.ts'
import { Secret } from '../../base/values/secret.ts'
import { connectAgentSession } from '../../protocol/index.ts'
import { agentIdentity } from '../../sessions/testing/platform.ts'

/** Requests on connections of their own: that all of them reach the same of two workers is practically impossible. */
const MANY = 40

async function startWorkers(
  t: TestContext,
  flags: readonly string[] = [],
  dataDir = createTempDir(),
  environment: Readonly<Record<string, string>> = {},
) {
  return startServerProcess(t, dataDir, ['--workers', '2', ...flags], { environment })
}

test('a server with two workers', async (t) => {
  const server = await startWorkers(t)

  await t.test(
    'sessions are listed as soon as their agent is online, and no longer once their credential is deleted',
    async (each) => {
      const call = createClient(server.url, server.apiKey)
      const listed = async () =>
        (await call('GET', '/tunnel_sessions')).body.tunnel_sessions.map(
          ({ credential }: { credential: { id: string } }) => credential.id,
        )

      for (let round = 0; round < 6; round++) {
        const { id, token } = await call.create('/credentials', {})
        await startAgent(each, server, token)
        assert.deepEqual(await listed(), [id])
        await call('DELETE', `/credentials/${id}`)
        assert.deepEqual(await listed(), [])
      }
    },
  )

  await t.test(
    'agents are told no address of workers, which all have the one that the agent dialled',
    async (each) => {
      const { credentials } = server
      const [host, port] = credentials.agent_addr.split(':')

      const agent = await connectAgentSession({
        host: host!,
        port: Number(port),
        ca: await readFile(credentials.ca_file, 'utf8'),
        identity: agentIdentity({ authtoken: new Secret(credentials.authtoken), maxLegs: 4 }),
        onProxy: (_header, stream) => stream.reset(),
        onCommand: async () => {},
        onClose() {},
      })
      each.after(() => agent.close())

      assert.deepEqual(agent.authResponse.Extra.ConnectAddresses, [])
    },
  )

  await t.test('either worker resumes the TLS sessions of both', async () => {
    const { credentials } = server
    const ca = await readFile(credentials.ca_file, 'utf8')
    const port = Number(new URL(credentials.https_url).port)

    assert.equal(await countResumed([port], ca, 'dashboard.adit.localhost'), 40)
  })

  await t.test('a server whose worker is being restarted stops at once', async () => {
    const killed = findWorker(server.pid, 1)!
    process.kill(killed, 'SIGKILL')
    await eventually(() => ![undefined, killed].includes(findWorker(server.pid, 1)), 'worker 1 starts again')

    assert.equal(await server.stop(), 0)
  })
})

/** Both workers admit this many requests together. */
const CAPACITY = 60
const RATE_LIMIT = {
  type: 'rate-limit',
  config: {
    ...{ name: 'all', algorithm: 'sliding_window', capacity: CAPACITY, rate: '3600s' },
    bucket_key: ['conn.server_ip'],
  },
}

/** An HTTPS edge that responds by itself, and requests to it on connections of their own. */
async function createEdge(server: ServerProcess, body: string) {
  const call = createClient(server.url, server.apiKey)
  const host = 'edge.adit.localhost'
  await call.create('/reserved_domains', { domain: host })
  const backend = await call.create('/backends/http_response', { body, status_code: 200 })
  const edge = await call.create('/edges/https', { hostports: [`${host}:443`] })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    ...{ match_type: 'path_prefix', match: '/' },
    backend: { backend_id: backend.id },
  })
  const ca = await readFile(server.credentials.ca_file, 'utf8')
  const port = Number(new URL(server.credentials.https_url).port)
  const ask = async () => {
    const { status, body } = await sendHttps(port, ca, { host })
    return `${status} ${body}`
  }
  return {
    ask,
    /** Whether both workers respond with this body. */
    isServed: async (expected: string) => {
      const bodies = await Promise.all(Array.from({ length: MANY }, ask))
      return bodies.every((each) => each === expected)
    },
    update: (text: string) =>
      call('PATCH', `/backends/http_response/${backend.id}`, { body: { body: text } }),
    limitRate: () =>
      call('PUT', `/edges/https/${edge.id}/routes/${route.id}/traffic_policy`, {
        body: { enabled: true, value: JSON.stringify({ on_http_request: [{ actions: [RATE_LIMIT] }] }) },
      }),
    /** The requests that each worker counted. */
    async counts() {
      const { body: metrics } = await call('GET', '/metrics')
      const lines = String(metrics).matchAll(/^adit_edge_requests_total\{.*worker="(\d)".*\} (\d+)$/gm)
      return Object.fromEntries([...lines].map(([, worker, count]) => [worker, Number(count)]))
    },
  }
}

const databases = {
  SQLite: async () => [],
  PostgreSQL: async (t: TestContext) => ['--database-url', (await createTestDatabase(t)).url],
}

for (const [name, databaseFlags] of Object.entries(databases))
  test(`on ${name}, both workers serve configuration and agents, and one that is killed comes back`, async (t) => {
    const server = await startWorkers(t, await databaseFlags(t))
    const edge = await createEdge(server, 'first')
    await eventually(() => edge.isServed('200 first'))
    const counts = await edge.counts()
    assert.ok((counts[1] ?? 0) > 0 && (counts[2] ?? 0) > 0, JSON.stringify(counts))

    await edge.update('second')
    assert.ok(await edge.isServed('200 second'), 'a change that was answered holds at both workers')

    const port = await startHttp(t, (_request, response) => response.end('agent'))
    const agent = await startAgent(t, server)
    await agent.forward({ addr: port, url: 'http://app.adit.localhost' })
    for (let request = 0; request < MANY; request++)
      assert.deepEqual(await fetchHost(server, 'app.adit.localhost'), { status: 200, body: 'agent' })
    const { body } = await createClient(server.url, server.apiKey)('GET', '/tunnel_sessions')
    assert.equal(body.tunnel_sessions.length, 1)

    const killed = findWorker(server.pid, 1)!
    const outcomes: { response: string; isLater: boolean }[] = []
    let isOver = false
    const visitor = async () => {
      while (!isOver) {
        const isLater = server.output().includes('worker ended: restarting')
        outcomes.push({ response: await edge.ask(), isLater })
      }
    }
    const visitors = [visitor(), visitor()]
    await eventually(() => outcomes.length > MANY)
    process.kill(killed, 'SIGKILL')
    await eventually(
      () => ![undefined, killed].includes(findWorker(server.pid, 1)),
      'the worker is restarted',
    )
    await eventually(async () => ((await edge.counts())[1] ?? 0) > 0, 'the worker serves again')
    isOver = true
    await Promise.all(visitors)

    // Only requests that began while the worker lived.
    const failed = outcomes.filter(({ response }) => response !== '200 second')
    assert.ok(
      failed.every(({ isLater }) => !isLater),
      JSON.stringify(failed),
    )
    assert.ok(outcomes.some(({ isLater }) => isLater))
    assert.match(
      server.output(),
      /"worker":1,"pid":\d+,"code":null,"signal":"SIGKILL".*worker ended: restarting/,
    )
    await eventually(async () => (await fetchHost(server, 'app.adit.localhost')).status === 200)

    const { status, body: problem } = await edge.limitRate()
    assert.equal(status, 200, JSON.stringify(problem))
    const responses = await Promise.all(Array.from({ length: 3 * CAPACITY }, edge.ask))
    assert.equal(responses.filter((response) => response === '200 second').length, CAPACITY)
    assert.equal(responses.filter((response) => response.startsWith('429 ')).length, 2 * CAPACITY)
    await server.stop()
  })

test('a stop lets requests at workers finish, and ends all processes', async (t) => {
  const server = await startWorkers(t)
  const upstreamHasIt = Promise.withResolvers<() => void>()
  const port = await startHttp(t, (_request, response) => upstreamHasIt.resolve(() => response.end('done')))
  const agent = await startAgent(t, server)
  await agent.forward({ addr: port, url: 'http://slow.adit.localhost' })
  const workers = [1, 2].map((number) => findWorker(server.pid, number)!)

  const response = fetchHost(server, 'slow.adit.localhost')
  const finish = await upstreamHasIt.promise
  const stopped = server.stop()
  const httpPort = Number(new URL(server.credentials.http_url).port)
  await eventually(() => isFree(httpPort), 'no worker listens any more')
  finish()

  assert.deepEqual(await response, { status: 200, body: 'done' })
  await stopped
  assert.deepEqual(workers.map(processTitle), ['', ''])
})

test('workers end with their control process, and the next start works at once', async (t) => {
  const dataDir = createTempDir()
  const server = await startWorkers(t, [], dataDir)
  const workers = [1, 2].map((number) => findWorker(server.pid, number)!)
  await server.kill()
  await eventuallyEqual(async () => workers.map(processTitle).join(''), '')

  const { http_url, https_url, ssh_addr } = server.credentials
  const [http, https] = [http_url, https_url].map((url) => `127.0.0.1:${new URL(url).port}`) as [
    string,
    string,
  ]
  const flags = ['--http-addr', http, '--https-addr', https, '--ssh-addr', ssh_addr]
  const next = await startWorkers(t, flags, dataDir)

  assert.deepEqual([next.credentials.http_url, next.credentials.ssh_addr], [http_url, ssh_addr])
  const edge = await createEdge(next, 'served')
  await eventually(
    async () => (await edge.isServed('200 served')) && Object.keys(await edge.counts()).length === 2,
  )
  await next.stop()
})

test('a worker of a new release that crashes before the running one has handed over serves after its restart', async (t) => {
  const [dataDir, programs] = [createTempDir(), createTempDir()]
  const [notified, mayReturn] = [join(programs, 'notified'), join(programs, 'may-return')]
  // The running release hands over when this program has returned.
  const notify = `#!/bin/sh\necho "$@" > ${notified}\nwhile [ ! -e ${mayReturn} ]; do sleep 0.05; done\n`
  await writeFile(join(programs, 'systemd-notify'), notify, { mode: 0o755 })
  const server = await startWorkers(t, [], dataDir, {
    ...{ NOTIFY_SOCKET: '/run/systemd/notify', PATH: `${programs}:${process.env.PATH}` },
  })
  const edge = await createEdge(server, 'served')
  const upgrade = startUpgrade(t, dataDir)
  const release = Number(await eventually(async () => /\d+/.exec(await readFile(notified, 'utf8'))?.[0]))
  const crashed = findWorker(release, 1)!

  process.kill(crashed, 'SIGKILL')
  await eventually(() => server.output().includes('worker is back'))
  await writeFile(mayReturn, '')
  await upgrade.takenOver()
  assert.equal(await upgrade.waitForExit(), 0)

  await eventually(async () => {
    await edge.isServed('200 served')
    return ((await edge.counts())[1] ?? 0) > 0
  }, 'the worker serves requests')
})

test('a port that another program uses fails the start with the usual sentence', async (t) => {
  const port = await listen(t, createServer())

  await assert.rejects(startWorkers(t, ['--http-addr', `127.0.0.1:${port}`]), (error: Error) =>
    error.message.includes(`ERROR:  127.0.0.1:${port} is in use by another program.`),
  )
})

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true })
  const isListening = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]).catch(() => false)
  if (isListening) await new Promise((resolve) => server.close(resolve))
  return isListening
}
