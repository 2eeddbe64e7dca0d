import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { startDelayRelay } from '../../../test/support/delay-relay.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { ObservedBudget } from '../../../test/support/observed-budget.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, type LocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const ONE_WAY_MS = 10
const MiB = 1024 * 1024
const payload = randomBytes(16 * MiB)
const payloadHash = createHash('sha256').update(payload).digest('hex')

async function startHashingUpstream(t: TestContext): Promise<number> {
  return await startHttp(t, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('end', () => response.end(hash.digest('hex')))
  })
}

async function startEdgeWithBudget(t: TestContext, tunnel: LocalTunnel) {
  const windows = new ObservedBudget()
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const tunnels = new TestTunnels().add(HOST, tunnel)
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, windows })
  return { windows, ca, port, tlsPort }
}

test('an HTTP/2 upload over a long link gets a window that fits the link', async (t) => {
  const upstream = await startHashingUpstream(t)
  const { windows, ca, tlsPort } = await startEdgeWithBudget(
    t,
    createLocalTunnel(upstream, { proto: 'https' }),
  )
  const port = await startDelayRelay(t, tlsPort, ONE_WAY_MS)
  const session = connectHttp2(`https://${HOST}:${port}`, { ca, host: '127.0.0.1', servername: HOST })
  t.after(() => session.destroy())

  const stream = session.request({ ':method': 'POST', ':path': '/' })
  stream.end(payload)
  const body = (await stream.toArray()).join('')

  assert.equal(body, payloadHash)
  assert.ok(windows.maxShare >= MiB / 2, `${windows.maxShare} bytes`)
})

test('an upload of curl over a long link does too', async (t) => {
  const upstream = await startHashingUpstream(t)
  const { windows, ca, tlsPort } = await startEdgeWithBudget(
    t,
    createLocalTunnel(upstream, { proto: 'https' }),
  )
  const port = await startDelayRelay(t, tlsPort, ONE_WAY_MS)
  const directory = createTempDir()
  await writeFile(join(directory, 'payload'), payload)
  await writeFile(join(directory, 'ca.pem'), ca)

  const { stdout } = await promisify(execFile)('curl', [
    ...['--silent', '--show-error', '--http2', '--max-time', '60'],
    ...['--cacert', join(directory, 'ca.pem'), '--resolve', `${HOST}:${port}:127.0.0.1`],
    ...['--write-out', ' %{http_version}', '--data-binary', `@${join(directory, 'payload')}`],
    `https://${HOST}:${port}/`,
  ])

  assert.equal(stdout, `${payloadHash} 2`)
  assert.ok(windows.maxShare >= MiB / 2, `${windows.maxShare} bytes`)
})

test('the response of an HTTP/2 upstream behind a long link gets a window that fits the link', async (t) => {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 })
    stream.end(payload)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const upstream = await startDelayRelay(t, (server.address() as AddressInfo).port, ONE_WAY_MS)
  const { windows, port } = await startEdgeWithBudget(
    t,
    createLocalTunnel(upstream, { forwardsProto: 'http2' }),
  )

  const [response] = (await once(get({ port, headers: { host: HOST } }), 'response')) as [IncomingMessage]
  const hash = createHash('sha256')
  for await (const chunk of response) hash.update(chunk)

  assert.equal(hash.digest('hex'), payloadHash)
  assert.ok(windows.maxShare >= MiB / 2, `${windows.maxShare} bytes`)
})
