import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import { type TestContext, test } from 'node:test'
import { HttpsRoute } from '../../resources/index.ts'
import { shortLimits } from '../testing/edge.ts'
import { HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'

const BODY_BYTES = 1024 * 1024

async function startVerified(t: TestContext, limits = {}): Promise<HttpsEdgeHarness> {
  const harness = await startHttpsEdge(t, undefined, { config: { limits } })
  harness.config.create(HttpsRoute, {
    edge_id: harness.edgeId,
    match_type: 'exact_path',
    match: '/hook',
    backend: { backend_id: harness.backendId },
    webhook_verification: { provider: 'github', secret: 'secret' },
  })
  await harness.config.waitUntilApplied()
  return harness
}

/** Starts a request and sends only part of its body. */
function startUpload(t: TestContext, { tlsPort, ca }: HttpsEdgeHarness, sentBytes: number) {
  const upload = request({
    port: tlsPort,
    host: '127.0.0.1',
    servername: HOST,
    ca,
    method: 'POST',
    path: '/hook',
    headers: { host: HOST, 'content-length': BODY_BYTES },
    agent: false,
  })
  upload.on('error', () => {})
  t.after(() => upload.destroy())
  upload.write(Buffer.alloc(sentBytes))
  const status = once(upload, 'response').then(([response]) => response.statusCode as number)
  return { upload, status }
}

test('a held body times out, however steadily it trickles in', async (t) => {
  const harness = await startVerified(t, { ...shortLimits, heldBody: 600, progress: 60_000 })
  const { upload, status } = startUpload(t, harness, 10)
  const timer = setInterval(() => upload.write('x'), 50)
  t.after(() => clearInterval(timer))

  assert.equal(await status, 408)
})

test('one client address cannot use up the budget of held bodies', async (t) => {
  const harness = await startVerified(t)
  const uploads = Array.from({ length: 48 }, () => startUpload(t, harness, BODY_BYTES - 1))

  const first = await Promise.race(uploads.map(({ status }) => status))
  for (const { upload } of uploads) upload.destroy()
  const unsigned = await harness.sendRequest({ path: '/hook', method: 'POST', body: 'small' })

  assert.equal(first, 503)
  // The body was read and its signature rejected: the budget is free again.
  assert.equal(unsigned.status, 403)
})
