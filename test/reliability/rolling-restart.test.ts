import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { eventually, TIMEOUT_MS } from '../support/eventually.ts'
import { startHoldingHttp } from '../support/local-server.ts'
import { httpPortOf, startLeggedAgent, startNodes } from '../support/rolling-restart.ts'
import { requestHost, startLoad } from '../support/steady-load.ts'

const HOST = 'app.adit.localhost'

test('a node that stops under load moves its agents first and ends with its streams: no request fails', async (t) => {
  const upstream = await startHoldingHttp(t)
  const { nodes } = await startNodes(t, 2)
  const [home, other] = nodes
  await startLeggedAgent(t, home!, { upstream: upstream.port, host: HOST })
  const call = createClient(other!.url, home!.apiKey)
  const sessionIds = async () =>
    (await call('GET', '/tunnel_sessions')).body.tunnel_sessions.map(({ id }: { id: string }) => id)
  const [before] = await sessionIds()
  const ports = () => [httpPortOf(other!)]
  const load = startLoad(t, { host: HOST, perSecond: 50, ports, timeoutMs: TIMEOUT_MS })
  const slow = nodes.map((node) =>
    requestHost(httpPortOf(node), HOST, { path: '/wait', timeoutMs: TIMEOUT_MS }),
  )
  await eventually(() => upstream.waiting === 2)

  const exitCode = home!.stop()
  // The earlier session may be listed while a request on its leg to the other node is in flight.
  await eventually(async () => (await sessionIds()).some((id: string) => id !== before))
  const sentBefore = load.sent
  await eventually(() => load.sent > sentBefore + 50)
  upstream.release()

  assert.deepEqual(await Promise.all(slow), ['200', '200'])
  assert.equal(await exitCode, 0)
  const { failed, counts } = await load.stop()
  assert.equal(failed, 0, JSON.stringify(counts))
})
