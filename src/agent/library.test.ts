import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanEnv, gatewayFlags } from '../../test/support/agent-process.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { ProtocolError } from '../protocol/index.ts'
import { connect, forward } from './index.ts'
import { TestGateway } from './testing/gateway.ts'
import { call, startHttpService } from './testing/local-api.ts'

function optionsFor(gateway: TestGateway) {
  const home = createTempDir()
  gatewayFlags(gateway, home)
  return {
    authtoken: gateway.token,
    connectUrl: `localhost:${gateway.port}`,
    rootCas: join(home, 'ca.pem'),
    env: cleanEnv(home),
  }
}

const GET = 'GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

test('three lines give a local service a public URL', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))

  const tunnel = await forward({ addr, ...optionsFor(gateway) })
  const response = await gateway.request(tunnel.url, GET)
  await tunnel.close()

  assert.match(response, /hello/)
  assert.equal(tunnel.addr, `http://localhost:${addr}`)
  assert.equal(gateway.tunnels.size, 0)
})

test('one session carries several tunnels, with the inspector on request', async (t) => {
  const gateway = await TestGateway.start(t)
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const agent = await connect({ ...optionsFor(gateway), inspector: '127.0.0.1:0' })
  t.after(() => agent.close())

  const web = await agent.forward({ addr: Number(addr), name: 'web' })
  const tcp = await agent.forward(22, { proto: 'tcp' })
  await gateway.request(web.url, GET)

  assert.equal(gateway.auths.length, 1)
  assert.equal(agent.status, 'online')
  assert.deepEqual(
    agent.tunnels.map(({ name }) => name),
    ['web', tcp.name],
  )
  const { json } = await call(agent.inspectorUrl ?? '', 'GET', '/api/requests/http')
  assert.equal((json.requests as unknown[]).length, 1)
  await web.close()
  assert.equal(agent.tunnels.length, 1)
})

test('a rejection by the server rejects the call', async (t) => {
  const gateway = await TestGateway.start(t)
  const options = optionsFor(gateway)

  await assert.rejects(connect({ ...options, authtoken: 'wrong-token' }), ProtocolError)
  await assert.rejects(forward({ addr: 80, proto: 'nonsense', ...options }), /Invalid protocol name/)
  await assert.rejects(forward({ addr: 80, subdoman: 'x', ...options } as never), /did you mean "subdomain"/)
  gateway.stop()
  await assert.rejects(connect({ ...options, timeoutMs: 300 }), /nothing listens at/)
})
