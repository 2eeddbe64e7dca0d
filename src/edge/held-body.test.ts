import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import { type TestContext, test } from 'node:test'
import { HttpsRoute } from '../resources/index.ts'
import { shortLimits } from './testing/edge.ts'
import { HOST, type HttpsEdgeWorld, startHttpsEdge } from './testing/https-edge.ts'

const BODY_BYTES = 1024 * 1024

async function startVerified(t: TestContext, limits = {}): Promise<HttpsEdgeWorld> {
  const world = await startHttpsEdge(t, undefined, { config: { limits } })
  world.config.create(HttpsRoute, {
    edge_id: world.edgeId,
    match_type: 'exact_path',
    match: '/hook',
    backend: { backend_id: world.backendId },
    webhook_verification: { provider: 'github', secret: 'secret' },
  })
  await world.config.applied()
  return world
}

/** Sends a body of which the end is missing; the status, once there is one. */
function begin(t: TestContext, { tlsPort, ca }: HttpsEdgeWorld, sent: number) {
  const visit = request({
    port: tlsPort,
    host: '127.0.0.1',
    servername: HOST,
    ca,
    method: 'POST',
    path: '/hook',
    headers: { host: HOST, 'content-length': BODY_BYTES },
    agent: false,
  })
  visit.on('error', () => {})
  t.after(() => visit.destroy())
  visit.write(Buffer.alloc(sent))
  const status = once(visit, 'response').then(([response]) => response.statusCode as number)
  return { visit, status }
}

test('a body that is checked whole has a time to arrive, however steadily it drips', async (t) => {
  const world = await startVerified(t, { ...shortLimits, heldBody: 600, progress: 60_000 })
  const { visit, status } = begin(t, world, 10)
  const drip = setInterval(() => visit.write('x'), 50)
  t.after(() => clearInterval(drip))

  assert.equal(await status, 408)
})

test('one source cannot have all bodies that are checked held for it', async (t) => {
  const world = await startVerified(t)
  const visits = Array.from({ length: 48 }, () => begin(t, world, BODY_BYTES - 1))

  const first = await Promise.race(visits.map(({ status }) => status))
  for (const { visit } of visits) visit.destroy()
  const signed = await world.ask({ path: '/hook', method: 'POST', body: 'small' })

  assert.equal(first, 503)
  // Not signed, but read and judged: there is room again.
  assert.equal(signed.status, 403)
})
