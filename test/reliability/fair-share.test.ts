import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { cleanEnv, makeHome, startProgram } from '../../src/agent/testing/program.ts'
import { BASE_ROOT } from '../../src/agent/version.ts'

/** Few enough that a listener can be filled: 128 visitors each for HTTP, HTTPS and TCP ports, 81 callers of the API. */
const OPEN_FILES = 1024
/** Connections that the greedy sources try to hold, all together. */
const TRIED = 480
const CROWDS = [1, 2, 8, 12]

interface Listener {
  readonly name: string
  /** The first bytes of a client that never goes on. */
  readonly begin: Buffer
  port(): number
  /** Rejects when a client from this address is not served. */
  serves(from: string): Promise<void>
}

const ports = { api: 0, http: 0, https: 0, agent: 0, ssh: 0, dns: 0, peer: 0, probe: 0, tcp: 0 }
const HELLO = Buffer.from([22, 3, 1])
const HEAD = Buffer.from('GET / HTTP/1.1\r\nHost: adit.localhost\r\nX: ')

const listeners: Listener[] = [
  { name: 'the API', begin: HEAD, port: () => ports.api, serves: (from) => answers(ports.api, from) },
  { name: 'public HTTP', begin: HEAD, port: () => ports.http, serves: (from) => answers(ports.http, from) },
  { name: 'HTTPS', begin: HELLO, port: () => ports.https, serves: (from) => shakesHands(ports.https, from) },
  {
    name: 'a TCP port',
    begin: Buffer.alloc(0),
    port: () => ports.tcp,
    serves: (from) => replies(ports.tcp, from, Buffer.from('hello'), /^hello$/),
  },
  {
    name: 'the agents',
    begin: HELLO,
    port: () => ports.agent,
    serves: (from) => shakesHands(ports.agent, from),
  },
  {
    name: 'SSH',
    begin: Buffer.from('SSH-2.0-'),
    port: () => ports.ssh,
    serves: (from) => replies(ports.ssh, from, Buffer.from('SSH-2.0-OpenSSH_9.9\r\n'), /^SSH-2\.0-/),
  },
  {
    name: 'other nodes',
    begin: HELLO,
    port: () => ports.peer,
    serves: (from) => shakesHands(ports.peer, from),
  },
  {
    name: 'DNS over TCP',
    begin: Buffer.from([0]),
    port: () => ports.dns,
    serves: (from) => replies(ports.dns, from, dnsQuery(), /adit/),
  },
]

suite('however many connections some sources hold', () => {
  const cleanups: (() => unknown)[] = []
  before(() => startPrograms(cleanups))
  after(async () => {
    for (const step of cleanups) await step()
  })

  for (const { name, begin, port, serves } of listeners) {
    for (const [crowd, count] of CROWDS.entries()) {
      test(`${name}: ${count} cannot keep another from being served`, async (t) => {
        const sources = Array.from({ length: count }, (_, at) => `127.${crowd + 1}.${at + 1}.1`)
        await Promise.all(
          Array.from({ length: TRIED }, (_, at) => hold(t, port(), sources[at % count]!, begin)),
        )

        await serves(`127.${crowd + 1}.200.1`)
        await answers(ports.api, '127.0.0.1', '/healthz')
        await answers(ports.probe, '127.0.0.1', '/readyz')
      })
    }
  }

  test('probes on an address of their own are answered while their own source fills the API', async (t) => {
    await Promise.all(Array.from({ length: TRIED }, () => hold(t, ports.api, '127.0.0.1', HEAD)))

    for (const path of ['/healthz', '/readyz']) await answers(ports.probe, '127.0.0.1', path)
    await assert.rejects(answers(ports.api, '127.0.0.1', '/healthz'))
  })
})

/** A server with few descriptors, and an agent with a public TCP port. */
async function startPrograms(cleanups: (() => unknown)[]): Promise<void> {
  // They end with the suite instead of a test.
  const t = { after: (step: () => unknown) => void cleanups.unshift(step) } as unknown as TestContext
  const env = cleanEnv(makeHome(t))
  ports.dns = await freePort()
  ports.peer = await freePort()
  ports.probe = await freePort()
  const fixed = ['dns', 'peer', 'probe'] as const
  const addresses = [
    ...['api', 'http', 'https', 'agent', 'ssh'].flatMap((name) => [`--${name}-addr`, '127.0.0.1:0']),
    ...fixed.flatMap((name) => [`--${name}-addr`, `127.0.0.1:${ports[name]}`]),
  ]
  const limited = ['-c', `ulimit -n ${OPEN_FILES}; exec "$0" "$@"`, join(BASE_ROOT, 'bin', 'adit')]
  const args = [...limited, 'server', '--log-level', 'error', ...addresses]
  const server = startProgram(t, args, { env, launcher: '/bin/sh' })
  await server.until(({ stdout }) => stdout.includes('Adit is ready.'))
  const credentials = JSON.parse(await readFile(join(env.ADIT_DATA_DIR!, 'credentials.json'), 'utf8'))
  const portOf = (address: string) => Number(/:(\d+)$/.exec(address)![1])
  ports.api = portOf(credentials.api_url)
  ports.http = portOf(credentials.http_url)
  ports.https = portOf(credentials.https_url)
  ports.agent = portOf(credentials.agent_addr)
  ports.ssh = portOf(credentials.ssh_addr)

  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  t.after(() => echo.close())
  await once(echo, 'listening')
  const local = String((echo.address() as AddressInfo).port)
  const agent = startProgram(t, ['tcp', local, '--web-addr=false'], { env })
  await agent.until(({ stdout }) => /tcp:\/\/[^ ]+:\d+/.test(stdout))
  ports.tcp = Number(/tcp:\/\/[^ :]+:(\d+)/.exec(agent.stdout)![1])
}

/** Opens a connection that begins and never goes on; whether it is kept or refused is up to the server. */
async function hold(t: TestContext, port: number, from: string, begin: Buffer): Promise<void> {
  const socket = dial(port, from)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  if (begin.length > 0) socket.write(begin)
}

function dial(port: number, from: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => {})
  return socket
}

async function answers(port: number, from: string, path = '/'): Promise<void> {
  const headers = { host: 'adit.localhost' }
  const request = get({ port, host: '127.0.0.1', localAddress: from, path, headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  if (path !== '/') assert.equal(response.statusCode, 200)
}

async function shakesHands(port: number, from: string): Promise<void> {
  const socket = connectTls({
    socket: dial(port, from),
    servername: 'idp.adit.localhost',
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect')
  } finally {
    socket.destroy()
  }
}

async function replies(port: number, from: string, question: Buffer, expected: RegExp): Promise<void> {
  const socket = dial(port, from)
  socket.write(question)
  let text = ''
  for await (const piece of socket) {
    text += (piece as Buffer).toString('latin1')
    if (expected.test(text)) return
  }
  assert.fail(`closed after "${text}"`)
}

/** Asks for the name server's own zone, over TCP with its length before it. */
function dnsQuery(): Buffer {
  const labels = Buffer.from('\x04adit\x09localhost\x00', 'latin1')
  const message = Buffer.concat([
    Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    labels,
    Buffer.from([0, 6, 0, 1]),
  ])
  return Buffer.concat([Buffer.from([0, message.length]), message])
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
