import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type AgentHandle, connect } from '../../src/agent/index.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-ports.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createRandom } from '../support/random.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Sends one request to a local port with the given Host and returns the body. */
async function getBody(port: number, host: string): Promise<string> {
  const [response] = await once(
    get({ host: '127.0.0.1', port, headers: { Host: host }, agent: false }),
    'response',
  )
  let body = ''
  for await (const chunk of response) body += chunk
  return body
}

/** Starts our agent as a library; it discovers the platform like an agent without configuration. */
async function startAgent(t: TestContext, platform: TestPlatform, more = {}): Promise<AgentHandle> {
  const agent = await connect({
    env: cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir }),
    ...more,
  })
  t.after(() => agent.close())
  return agent
}

test('a server without a plain HTTP listener rejects http endpoints, and serves https ones', async (t) => {
  const platform = await startPlatform(t, ['--http-addr', 'false'])
  const port = await startHttp(t, (_request, response) => response.end('hello'))
  const agent = await startAgent(t, platform)

  await assert.rejects(agent.forward({ addr: port, schemes: ['http'] }), {
    message:
      'The options of the tunnel are not valid: this server does not serve http (--http-addr false); use https, or ask its operator.',
  })
  const { url } = await agent.forward(port)

  assert.equal(await (await platform.fetch(url)).text(), 'hello')
})

test('an agent without configuration discovers the local server and prints a working URL', async (t) => {
  const platform = await startPlatform(t)
  const port = await startHttp(t, (request, response) => response.end(`hello ${request.url}`))
  const env = cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir })

  const program = startProgram(t, ['http', String(port), '--web-addr=127.0.0.1:0'], { env })
  await program.until(({ stdout }) => /Forwarding +https:/.test(stdout))
  const url = /Forwarding +(\S+)/.exec(program.stdout)?.[1]
  const response = await platform.fetch(`${url}/world`)

  assert.equal(response.status, 200)
  assert.equal(await response.text(), 'hello /world')
  assert.doesNotMatch(program.stdout + program.stderr, new RegExp(platform.credentials.authtoken))
})

test('HTTP, HTTPS, TCP and concurrent requests share one session', async (t) => {
  const platform = await startPlatform(t)
  const port = await startHttp(t, (request, response) => {
    response.setHeader('X-Proto', request.headers['x-forwarded-proto'] ?? '')
    request.pipe(response)
  })
  const agent = await startAgent(t, platform)

  const web = await agent.forward({ addr: port, name: 'web', schemes: ['http', 'https'] })
  const tcp = await agent.forward({ addr: port, proto: 'tcp' })
  const [https, http] = agent.tunnels
  const bodies = Array.from({ length: 40 }, (_, index) => randomBytes(index * 3000))
  const responses = await Promise.all(
    bodies.map(async (body, index) => {
      const response = await platform.fetch((index % 2 ? https : http)!.url, { method: 'POST', body })
      return { proto: response.headers.get('x-proto'), body: Buffer.from(await response.arrayBuffer()) }
    }),
  )
  const tcpResponse = await fetch(tcp.url.replace('tcp:', 'http:'), { method: 'POST', body: 'over tcp' })

  assert.equal(web.url, https?.url)
  assert.equal(new URL(http!.url).hostname, new URL(https!.url).hostname)
  responses.forEach((response, index) => {
    assert.equal(response.proto, index % 2 ? 'https' : 'http')
    assert.ok(response.body.equals(bodies[index]!))
  })
  assert.equal(await tcpResponse.text(), 'over tcp')
})

test('an upstream that is down is a 502 that does not reveal its address', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  const tunnel = await agent.forward({ addr: 1, schemes: ['http'] })

  const response = await platform.fetch(tunnel.url)

  assert.equal(response.status, 502)
  const page = await response.text()
  assert.match(page, /could not connect to its upstream: connection refused/)
  assert.doesNotMatch(page, /localhost:1/)
})

test('300 transfers of random size arrive byte for byte, or fail visibly at both ends', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  // Echoes everything once the client has half-closed; a first byte of 1 makes it reset half-way.
  const port = await startTcp(t, (socket) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => {
      const bytes = Buffer.concat(chunks)
      if (bytes[0] === 1) socket.write(bytes.subarray(0, bytes.length >> 1), () => socket.resetAndDestroy())
      else socket.end(bytes)
    })
  })
  const { url } = await agent.forward({ addr: port, proto: 'tcp' })
  const { hostname, port: publicPort } = new URL(url)

  async function transfer(index: number): Promise<void> {
    const aborts = index % 10 === 9
    const size = index === 0 ? 0 : Math.floor(2 ** (random.below(2200) / 100))
    const payload = randomBytes(Math.min(size, 4 * 1024 * 1024))
    if (payload.length > 0) payload[0] = aborts ? 1 : 0
    const socket = connectTcp({ host: hostname, port: Number(publicPort), allowHalfOpen: true })
    const chunks: Buffer[] = []
    let ended = false
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => {
      ended = true
    })
    const closed = new Promise<boolean>((resolve) => socket.on('close', resolve))
    socket.on('error', () => {})
    socket.end(payload)
    const broken = await closed
    const received = Buffer.concat(chunks)

    if (aborts && payload.length > 0) {
      assert.ok(broken && !ended, `transfer ${index} of ${payload.length} bytes ended as if it were complete`)
    } else {
      assert.ok(ended, `transfer ${index} of ${payload.length} bytes broke`)
      assert.equal(digest(received), digest(payload), `transfer ${index}`)
    }
  }

  for (let index = 0; index < 300; index += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, offset) => transfer(index + offset)))
  }
})

test('restart, stop and update reach the agent through the management API', async (t) => {
  const platform = await startPlatform(t)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const env = cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir })
  const program = startProgram(t, ['http', String(port), '--web-addr=false', '--scheme=http'], { env })
  await program.until(({ stdout }) => /Forwarding/.test(stdout))
  const url = /Forwarding +(\S+)/.exec(program.stdout)?.[1] ?? ''
  const session = async () =>
    (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions[0]?.id as string | undefined
  const first = await session()

  const updateResponse = await platform.call('POST', `/tunnel_sessions/${first}/update`, {})
  const restartResponse = await platform.call('POST', `/tunnel_sessions/${first}/restart`, {})
  const second = await eventually(async () => {
    const id = await session()
    return id !== first && id
  }, 'a new session')
  // The session is listed shortly before its tunnels are bound again.
  await eventuallyEqual(async () => (await platform.fetch(url)).text(), 'here')
  const stopResponse = await platform.call('POST', `/tunnel_sessions/${second}/stop`, {})

  assert.ok(updateResponse.status >= 400 && updateResponse.status < 500, String(updateResponse.status))
  assert.match(JSON.stringify(updateResponse.body), /no update/i)
  assert.equal(restartResponse.status, 204)
  assert.equal(stopResponse.status, 204)
  assert.equal(await program.waitForExit(), 0)
})

/** Starts a server and an agent as processes with short heartbeats; `ask` requests the agent's name. */
async function startPair(t: TestContext) {
  const env = cleanEnv(createTempDir(), { ADIT_HEARTBEAT_INTERVAL: '1s', ADIT_HEARTBEAT_TOLERANCE: '1s' })
  const port = await startHttp(t, (_request, response) => response.end('again'))
  const startServer = async () => {
    const server = startProgram(t, ['server', ...ANY_PORTS], { env })
    await server.until(({ stdout }) => /Adit is ready/.test(stdout))
    const publicPort = Number(new URL(/Public HTTP +(\S+)/.exec(server.stdout)![1]!).port)
    return { server, ask: () => getBody(publicPort, `again.adit.localhost:${publicPort}`) }
  }
  const startAgent = async () => {
    const args = ['http', String(port), '--web-addr=false', '--url=http://again.adit.localhost']
    const agent = startProgram(t, args, { env })
    await agent.until(({ stdout }) => /Forwarding/.test(stdout))
  }
  return { startServer, startAgent }
}

test('a killed server serves the same name after its restart', async (t) => {
  const { startServer, startAgent } = await startPair(t)
  const first = await startServer()
  await startAgent()
  assert.equal(await first.ask(), 'again')

  first.server.child.kill('SIGKILL')
  await first.server.waitForExit()
  const second = await startServer()

  await eventuallyEqual(second.ask, 'again')
})
