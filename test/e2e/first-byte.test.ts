import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { ForwardOptions } from '../../src/agent/index.ts'
import { portOf, startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'

/** A link between server and agent on which the test can hold back what the server sends. */
async function startGate(t: TestContext, target: number) {
  const waiting: { to: Socket; bytes: Buffer }[] = []
  let open = true
  const port = await startTcp(t, (agent) => {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    agent.setNoDelay(true)
    agent.on('data', (bytes: Buffer) => server.write(bytes))
    server.on(
      'data',
      (bytes: Buffer) => void (open ? agent.write(bytes) : waiting.push({ to: agent, bytes })),
    )
    server.on('error', () => {})
    agent.on('close', () => server.destroy())
    server.on('close', () => agent.destroy())
  })
  return {
    port,
    close() {
      open = false
    },
    /** Waits for bytes of the server and delivers them; further ones are held back. */
    async deliverOnce() {
      await eventually(() => waiting.length > 0, 'bytes of the server')
      for (const { to, bytes } of waiting.splice(0)) to.write(bytes)
    },
  }
}

async function startTunnel(t: TestContext, options: ForwardOptions) {
  const platform = await startPlatform(t)
  const gate = await startGate(t, portOf(platform.credentials.agent_addr))
  const agent = await startAgent(t, {
    credentials: { ...platform.credentials, agent_addr: `127.0.0.1:${gate.port}` },
  })
  const { url } = await agent.forward(options)
  return { gate, url: new URL(url), httpPort: Number(new URL(platform.credentials.http_url).port) }
}

function visit(t: TestContext, port: number, request: string) {
  const socket = connect(port, '127.0.0.1', () => socket.write(request))
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  const visitor = { received: '' }
  socket.on('data', (chunk: Buffer) => {
    visitor.received += chunk
  })
  return visitor
}

test('the first byte of a new HTTP connection costs one round trip between server and agent', async (t) => {
  const addr = await startHttp(t, (_request, response) => response.end('hello'))
  const { gate, url, httpPort } = await startTunnel(t, { addr, schemes: ['http'] })
  gate.close()
  const visitor = visit(t, httpPort, `GET / HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)

  await gate.deliverOnce()

  await eventually(() => visitor.received.includes('hello'), 'the response')
  assert.match(visitor.received, /^HTTP\/1\.1 200 /)
})

test('so does the greeting of a TCP service, before the visitor sends anything', async (t) => {
  const addr = await startTcp(t, (socket) => socket.write('220 ready\r\n'))
  const { gate, url } = await startTunnel(t, { addr, proto: 'tcp' })
  gate.close()
  const visitor = visit(t, Number(url.port), '')

  await gate.deliverOnce()

  await eventually(() => visitor.received === '220 ready\r\n', 'the greeting')
})
