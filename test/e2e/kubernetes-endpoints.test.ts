import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'

test('endpoints of agents in Kubernetes clusters are listed for the operators that select them, and no traffic reaches them', async (t) => {
  const platform = await startPlatform(t)
  const other = await createSecondAccount(platform)
  const [agent, foreign] = [await startAgent(t, platform), await startAgent(t, platform, other.authtoken)]
  const port = await findFreePorts(1)
  const bindings = ['kubernetes']
  const addr = await startHttp(t, (_request, response) => response.end('inside'))
  const db = await startTcp(t, (socket) => socket.end('db'))
  const operator = await platform.call.create('/kubernetes_operators', {
    enabled_features: ['bindings'],
    binding: { endpoint_selectors: ["endpoint.metadata == 'blue'"] },
  })
  const listed = async (path: string): Promise<[string, string[]][]> => {
    const { body } = await platform.call('GET', path)
    return body.endpoints.map((endpoint: { url: string; bindings: string[] }) => [
      endpoint.url,
      endpoint.bindings,
    ])
  }

  await agent.forward({ addr, proto: 'http', url: 'http://web.default', bindings, metadata: 'green' })
  const tunnel = await agent.forward({
    addr: db,
    proto: 'tcp',
    url: `tcp://db.default:${port}`,
    bindings,
    metadata: 'blue',
  })
  await foreign.forward({ addr, proto: 'http', url: 'http://web.default', bindings, metadata: 'blue' })

  assert.equal(tunnel.url, `tcp://db.default:${port}`)
  assert.deepEqual(await listed('/endpoints'), [
    [`tcp://db.default:${port}`, bindings],
    ['http://web.default', bindings],
  ])
  assert.deepEqual(await listed(`/kubernetes_operators/${operator.id}/bound_endpoints`), [
    [`tcp://db.default:${port}`, bindings],
  ])
  assert.equal((await fetchHost(platform, 'web.default')).status, 404)
  assert.equal(await text(connect(port, '127.0.0.1')).catch((error) => error.code), 'ECONNREFUSED')
})
