import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { BASE_ROOT } from '../../src/base/version.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startLightAgents } from '../support/light-agents.ts'
import { startHttp } from '../support/local-server.ts'
import type { Credentials } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { requestHost } from '../support/steady-load.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Few enough to fill a listener: 128 clients each for HTTP, HTTPS and TCP ports, 81 clients of the API. */
const OPEN_FILES = 1024
/** Connections that the greedy sources try to hold in total. */
const ATTEMPTED_CONNECTIONS = 480
const HOST = 'app.adit.localhost'
const SOURCE_COUNTS = [1, 2, 8, 12]

interface Listener {
  readonly name: string
  /** The first bytes of a client that sends nothing more. */
  readonly firstBytes: Buffer
  port(): number
  /** Rejects when a client from this address is not served. */
  assertServes(source: string): Promise<void>
}

const ports = { api: 0, http: 0, https: 0, agent: 0, ssh: 0, dns: 0, peer: 0, probe: 0, tcp: 0 }
const CLIENT_HELLO_START = Buffer.from([22, 3, 1])
const HEAD_START = Buffer.from('GET / HTTP/1.1\r\nHost: adit.localhost\r\nX: ')

const listeners: Listener[] = [
  {
    name: 'the API',
    firstBytes: HEAD_START,
    port: () => ports.api,
    assertServes: (source) => assertResponds(ports.api, source),
  },
  {
    name: 'public HTTP',
    firstBytes: HEAD_START,
    port: () => ports.http,
    assertServes: (source) => assertResponds(ports.http, source),
  },
  {
    name: 'HTTPS',
    firstBytes: CLIENT_HELLO_START,
    port: () => ports.https,
    assertServes: (source) => assertHandshakes(ports.https, source),
  },
  {
    name: 'a TCP port',
    firstBytes: Buffer.alloc(0),
    port: () => ports.tcp,
    assertServes: (source) => assertReplies(ports.tcp, source, Buffer.from('hello'), /^hello$/),
  },
  {
    name: 'the agents',
    firstBytes: CLIENT_HELLO_START,
    port: () => ports.agent,
    assertServes: (source) => assertHandshakes(ports.agent, source),
  },
  {
    name: 'SSH',
    firstBytes: Buffer.from('SSH-2.0-'),
    port: () => ports.ssh,
    assertServes: (source) =>
      assertReplies(ports.ssh, source, Buffer.from('SSH-2.0-OpenSSH_9.9\r\n'), /^SSH-2\.0-/),
  },
  {
    name: 'other nodes',
    firstBytes: CLIENT_HELLO_START,
    port: () => ports.peer,
    assertServes: (source) => assertHandshakes(ports.peer, source),
  },
  {
    name: 'DNS over TCP',
    firstBytes: Buffer.from([0]),
    port: () => ports.dns,
    assertServes: (source) => assertReplies(ports.dns, source, dnsQuery(), /adit/),
  },
]

suite('sources that hold many connections', () => {
  const cleanups: (() => unknown)[] = []
  before(() => startPrograms(cleanups))
  after(async () => {
    for (const step of cleanups) await step()
  })

  for (const { name, firstBytes, port, assertServes } of listeners) {
    for (const [group, count] of SOURCE_COUNTS.entries()) {
      test(`${name}: ${count} cannot starve another source`, async (t) => {
        const sources = Array.from({ length: count }, (_, index) => `127.${group + 1}.${index + 1}.1`)
        await Promise.all(
          Array.from({ length: ATTEMPTED_CONNECTIONS }, (_, index) =>
            holdConnection(t, port(), sources[index % count]!, firstBytes),
          ),
        )

        await assertServes(`127.${group + 1}.200.1`)
        await assertResponds(ports.api, '127.0.0.1', '/healthz')
        await assertResponds(ports.probe, '127.0.0.1', '/readyz')
      })
    }
  }

  test('probes on a dedicated listener are answered while their own address fills the API listener', async (t) => {
    await Promise.all(
      Array.from({ length: ATTEMPTED_CONNECTIONS }, () =>
        holdConnection(t, ports.api, '127.0.0.1', HEAD_START),
      ),
    )

    for (const path of ['/healthz', '/readyz']) await assertResponds(ports.probe, '127.0.0.1', path)
    await assert.rejects(assertResponds(ports.api, '127.0.0.1', '/healthz'))
  })
})

test('a single account may hold most of the sessions, and most of the further legs', async (t) => {
  const home = createTempDir()
  const env = cleanEnv(home)
  // Room for 66 sessions and 22 further legs, of which an account may hold 61 and 20.
  const credentials = await startServer(t, env, 320, ['--workers', '1', '--dns-addr', 'false'])
  const agents = startLightAgents(t, credentials, 50)
  await eventually(() => agents.online === 50)

  const config = join(home, 'adit.yml')
  await writeFile(config, 'version: 2\nlegs: 16\nweb_addr: false\n')
  const agent = startProgram(t, ['http', '1', `--config=${config}`, '--url=http://legs.adit.localhost'], {
    env,
  })
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  // The first request opens the legs; nothing listens at its upstream.
  const request = get({ port: portOf(credentials.http_url), headers: { host: 'legs.adit.localhost' } })
  await once(request, 'response')

  await eventually(async () => (await countLegs(credentials)) === 50 + 16)
})

test('an account that holds all sessions it may, and asks for more, costs no request of another', async (t) => {
  const env = cleanEnv(createTempDir())
  // Room for 66 sessions, of which an account may hold 61.
  const credentials = await startServer(t, env, 320, ['--workers', '1', '--dns-addr', 'false'])
  const other = await createSecondAccount({
    dataDir: env.ADIT_DATA_DIR!,
    databaseUrl: undefined,
    credentials,
  })
  const agents = startLightAgents(t, credentials, 80)
  await eventually(() => agents.online >= 61)

  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  const agent = await startAgent(t, { credentials }, other.authtoken)
  await agent.forward({ addr: upstream, url: `http://${HOST}` })

  for (let request = 0; request < 300; request++)
    assert.equal(await requestHost(portOf(credentials.http_url), HOST), '200')
  assert.ok(agents.online < 66, `${agents.online} sessions of one account`)
})

/** The legs of all sessions of the account. */
async function countLegs({ api_url, api_key }: Credentials): Promise<number> {
  const headers = { authorization: `Bearer ${api_key}` }
  const response = await fetch(`${api_url}/tunnel_sessions`, { headers })
  const { tunnel_sessions } = (await response.json()) as { tunnel_sessions: { legs: unknown[] }[] }
  return tunnel_sessions.reduce((sum, { legs }) => sum + legs.length, 0)
}

/** Starts a server with few file descriptors, and an agent with a public TCP port. */
async function startPrograms(cleanups: (() => unknown)[]): Promise<void> {
  // The programs end with the suite instead of a test.
  const t = { after: (step: () => unknown) => void cleanups.unshift(step) } as unknown as TestContext
  const env = cleanEnv(createTempDir())
  ports.dns = await findFreePorts(1)
  ports.peer = await findFreePorts(1)
  ports.probe = await findFreePorts(1)
  const fixedPorts = ['dns', 'peer', 'probe'] as const
  const credentials = await startServer(
    t,
    env,
    OPEN_FILES,
    fixedPorts.flatMap((name) => [`--${name}-addr`, `127.0.0.1:${ports[name]}`]),
  )
  ports.api = portOf(credentials.api_url)
  ports.http = portOf(credentials.http_url)
  ports.https = portOf(credentials.https_url)
  ports.agent = portOf(credentials.agent_addr)
  ports.ssh = portOf(credentials.ssh_addr)

  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  t.after(() => echo.close())
  await once(echo, 'listening')
  const echoPort = String((echo.address() as AddressInfo).port)
  const agent = startProgram(t, ['tcp', echoPort, '--web-addr=false'], { env })
  await agent.until(({ stdout }) => /tcp:\/\/[^ ]+:\d+/.test(stdout))
  ports.tcp = Number(/tcp:\/\/[^ :]+:(\d+)/.exec(agent.stdout)![1])
}

/** Starts a server that may have so many files open; resolves to its credentials. */
async function startServer(
  t: TestContext,
  env: Record<string, string>,
  openFiles: number,
  flags: readonly string[],
): Promise<Credentials> {
  const addresses = ['api', 'http', 'https', 'agent', 'ssh'].flatMap((name) => [
    `--${name}-addr`,
    '127.0.0.1:0',
  ])
  const launcherArgs = ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, join(BASE_ROOT, 'bin', 'adit')]
  const args = [...launcherArgs, 'server', '--log-level', 'error', ...addresses, ...flags]
  const server = startProgram(t, args, { env, launcher: '/bin/sh' })
  await server.until(({ stdout }) => stdout.includes('Adit is ready.'))
  return JSON.parse(await readFile(join(env.ADIT_DATA_DIR!, 'credentials.json'), 'utf8'))
}

const portOf = (address: string) => Number(/:(\d+)$/.exec(address)![1])

/**
 * Opens a connection that sends its first bytes and stalls; the server may keep or reject it. The test ends when the server
 * has closed it, so that the next one finds the slots free.
 */
async function holdConnection(
  t: TestContext,
  port: number,
  source: string,
  firstBytes: Buffer,
): Promise<void> {
  const socket = dial(port, source).resume()
  const closed = new Promise((resolve) => socket.once('close', resolve))
  t.after(() => {
    socket.end()
    return closed
  })
  await once(socket, 'connect')
  if (firstBytes.length > 0) socket.write(firstBytes)
}

function dial(port: number, source: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: source })
  socket.on('error', () => {})
  return socket
}

async function assertResponds(port: number, source: string, path = '/'): Promise<void> {
  const headers = { host: 'adit.localhost' }
  const request = get({ port, host: '127.0.0.1', localAddress: source, path, headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  if (path !== '/') assert.equal(response.statusCode, 200)
}

async function assertHandshakes(port: number, source: string): Promise<void> {
  const socket = connectTls({
    socket: dial(port, source),
    servername: 'idp.adit.localhost',
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect')
  } finally {
    socket.destroy()
  }
}

async function assertReplies(port: number, source: string, payload: Buffer, expected: RegExp): Promise<void> {
  const socket = dial(port, source)
  socket.write(payload)
  let text = ''
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString('latin1')
    if (expected.test(text)) return
  }
  assert.fail(`closed after "${text}"`)
}

/** Encodes an SOA query for the server's own zone, with the length prefix of TCP. */
function dnsQuery(): Buffer {
  const labels = Buffer.from('\x04adit\x09localhost\x00', 'latin1')
  const message = Buffer.concat([
    Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    labels,
    Buffer.from([0, 6, 0, 1]),
  ])
  return Buffer.concat([Buffer.from([0, message.length]), message])
}
