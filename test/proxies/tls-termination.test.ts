import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../support/agents.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { sendHttp } from '../support/https-client.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createTestCa } from '../support/test-ca.ts'
import { PUBLIC_ADDRESS, readExample, startHaproxy, startNginx } from './programs.ts'
import { createVisitor, FORGED, OTHER_VISITOR, startHttpService, VISITOR } from './visitors.ts'

const API_HOST = 'adit.adit.localhost'

/** A platform behind a proxy that will terminate TLS, an endpoint, and what the examples are to hold. */
async function startBehindProxy(t: TestContext) {
  const httpPort = await findFreePorts(3)
  const [httpsPort, apiPort] = [httpPort + 1, httpPort + 2]
  const platform = await startPlatform(t, [
    ...['--trusted-proxies', '127.0.0.1', '--api-url', `https://${API_HOST}:${httpsPort}`],
    ...['--public-http-port', `${httpPort}`, '--public-https-port', `${httpsPort}`],
    ...['--http-addr', `127.0.0.1:${httpPort}`, '--api-addr', `127.0.0.1:${apiPort}`],
  ])
  const agent = await startAgent(t, platform)
  const addr = await startHttpService(t)
  const restriction = { ip_restriction: { allow_cidrs: [`${VISITOR}/32`] } }
  const web = await agent.forward({ addr, schemes: ['https'], ...restriction })
  const dir = createTempDir()
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('*.adit.localhost')
  writeFileSync(join(dir, 'cert.pem'), `${cert}\n${key}`)
  writeFileSync(join(dir, 'key.pem'), key)
  return {
    platform,
    host: new URL(web.url).hostname,
    httpPort,
    httpsPort,
    apiPort,
    visitor: createVisitor(VISITOR, ca.caPem),
    other: createVisitor(OTHER_VISITOR, ca.caPem),
    replacements: {
      '203.0.113.5:80': `${PUBLIC_ADDRESS}:${httpPort}`,
      '203.0.113.5:443': `${PUBLIC_ADDRESS}:${httpsPort}`,
      '127.0.0.1:8080': `127.0.0.1:${httpPort}`,
      '/etc/ssl/example.com.pem': join(dir, 'cert.pem'),
    },
    keyFile: join(dir, 'key.pem'),
  }
}

/** What visitors of the endpoint see, whichever proxy terminates their TLS. */
async function checkVisitors(harness: Awaited<ReturnType<typeof startBehindProxy>>): Promise<void> {
  const { host, httpPort, httpsPort, visitor, other } = harness
  const request = { host: `${host}:${httpsPort}`, servername: host, headers: FORGED }

  const first = await visitor.https(httpsPort, request)
  assert.equal(first.text, `${VISITOR} https`, `${first.status} ${JSON.stringify(first.headers)}`)
  assert.equal(await visitor.http2(httpsPort, host), `${VISITOR} https`)
  assert.equal(await visitor.webSocket(httpsPort, host), `${VISITOR} https`)
  assert.equal((await other.https(httpsPort, request)).status, 403, 'an IP restriction judges the visitor')
  const plain = await visitor.http(httpPort, { ...request, headers: { 'x-forwarded-proto': 'https' } })
  assert.equal(plain.status, 307)
  assert.equal(plain.headers.location, `https://${host}:${httpsPort}/`)
  const direct = await sendHttp(httpPort, {
    ...request,
    from: '127.0.0.9',
    headers: { 'x-forwarded-for': VISITOR },
  })
  assert.equal(direct.status, 307, 'around the proxy, a visitor is who they are')
}

test('behind nginx that terminates TLS, visitors have their own address and scheme', async (t) => {
  const harness = await startBehindProxy(t)
  const { platform, httpsPort, visitor } = harness
  const http = readExample('nginx-http', {
    ...harness.replacements,
    '127.0.0.1:4080': `127.0.0.1:${harness.apiPort}`,
    '/etc/ssl/example.com.key': harness.keyFile,
    'example.com': 'adit.localhost',
  })
  await startNginx(t, { http, port: harness.httpPort })
  const callApi = (path: string, body: unknown, headers: Record<string, string>) =>
    visitor.https(httpsPort, {
      host: `${API_HOST}:${httpsPort}`,
      servername: API_HOST,
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      path,
      headers: { ...FORGED, 'content-type': 'application/json', ...headers },
    })
  const { api_key } = platform.credentials
  const authorization = `Bearer ${api_key}`

  await checkVisitors(harness)

  assert.equal((await callApi('/ip_policies', {}, { authorization })).status, 201)
  const { audit_events } = JSON.parse((await callApi('/audit_events', undefined, { authorization })).text)
  assert.equal(audit_events[0].source, VISITOR)
  const origin = `https://${API_HOST}:${httpsPort}`
  const signIn = await callApi('/dashboard/api/session', { api_key }, { origin })
  assert.equal(signIn.status, 200, signIn.text)
  assert.match(String(signIn.headers['set-cookie']), /^__Host-adit_session=.*; Secure/)
})

test('behind HAProxy that terminates TLS, visitors have their own address and scheme', async (t) => {
  const harness = await startBehindProxy(t)
  await startHaproxy(t, readExample('haproxy-http', harness.replacements), harness.httpPort)

  await checkVisitors(harness)
})
