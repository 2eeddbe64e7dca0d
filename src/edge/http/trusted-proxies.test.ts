import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { sendHttp, type TestRequest } from '../../../test/support/https-client.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import type { ClientField } from '../../base/http/forwarded.ts'
import { compileRules } from '../../base/values/ip-rules.ts'
import { CertificateAuthority, IpPolicy, IpPolicyRule } from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'
import { TestObserver } from '../testing/observer.ts'

const isTrusted = compileRules([
  { cidr: '127.0.0.1/32', action: 'allow' },
  { cidr: '10.0.0.0/8', action: 'allow' },
])

/** An HTTPS edge that trusts the proxy at 127.0.0.1, and a request through it on the plain listener. */
async function startBehindProxy(t: TestContext, field: ClientField = 'x-forwarded-for') {
  const observe = new TestObserver('ac_test')
  const harness = await startHttpsEdge(t, undefined, {
    config: { trustedProxies: { isTrusted, field }, publicHttpsPort: 443 },
    dependencies: { observe },
  })
  const sendPlain = (headers: NonNullable<TestRequest['headers']>) =>
    sendHttp(harness.port, { host: HOST, headers })
  return { ...harness, observe, sendPlain }
}

/** The forwarding fields that an upstream received. */
function forwarded(text: string): string {
  const { headers } = JSON.parse(text)
  return `${headers['x-forwarded-for']} ${headers['x-forwarded-proto']}`
}

const HTTPS = { 'x-forwarded-proto': 'https' }

test('behind a proxy that terminates TLS, the visitor is the right-most untrusted address', async (t) => {
  const { sendPlain, observe } = await startBehindProxy(t)

  const { status, text } = await sendPlain({
    ...HTTPS,
    'x-forwarded-for': ['6.6.6.6, 192.0.2.7', '10.1.2.3'],
    // Not the configured fields: the proxy passed them on.
    'x-real-ip': '6.6.6.6',
    forwarded: 'for=6.6.6.6',
    'x-forwarded-host': 'evil.example',
  })

  assert.equal(status, 200)
  assert.equal(forwarded(text), '192.0.2.7 https')
  const { headers } = JSON.parse(text)
  assert.equal(headers['x-forwarded-host'], HOST)
  assert.deepEqual([headers['x-real-ip'], headers.forwarded], [undefined, undefined])
  assert.equal(observe.requests[0]?.connection.remoteAddress, '192.0.2.7')
  assert.equal(observe.requests[0]?.connection.scheme, 'https')
})

test('requests of several visitors on one connection of the proxy are told apart', async (t) => {
  const { port } = await startBehindProxy(t)
  const request = (ip: string) =>
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: ${ip}\r\n\r\n`

  const client = openRawClient(t, port).write(request('192.0.2.1'))
  await client.untilText('"x-forwarded-for":"192.0.2.1"')
  client.write(request('192.0.2.2'))
  await client.untilText('"x-forwarded-for":"192.0.2.2"')
})

test('a visitor of the proxy without TLS is redirected, and one who claims TLS to us directly too', async (t) => {
  const { sendPlain, port } = await startBehindProxy(t)

  const plain = await sendPlain({ 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'http' })
  const direct = openRawClient(t, port, '127.0.0.2').write(
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n`,
  )
  await direct.untilText('\r\n\r\n')

  assert.equal(plain.status, 307)
  assert.equal(plain.headers.location, `https://${HOST}/`)
  assert.match(direct.text, /^HTTP\/1\.1 307 /)
})

test('a proxy that encrypts anew says who the visitor is, over HTTP/1 and HTTP/2', async (t) => {
  const { sendRequest, tlsPort, ca } = await startBehindProxy(t)
  const headers = { 'x-forwarded-for': '192.0.2.7' }

  const secure = await sendRequest({ headers: { ...headers, ...HTTPS } })
  const plain = await sendRequest({ headers: { ...headers, 'x-forwarded-proto': 'http' } })
  const unknown = await sendRequest({ tls: { localAddress: '127.0.0.2' }, headers })
  const session = connectHttp2(`https://${HOST}:${tlsPort}`, { ca, host: '127.0.0.1', servername: HOST })
  t.after(() => session.destroy())
  let http2 = ''
  for await (const chunk of session.request(headers).setEncoding('utf8')) http2 += chunk
  const rejected = session.request({ 'x-forwarded-for': 'nonsense' })
  const [responseHeaders] = await once(rejected, 'response')

  assert.equal(forwarded(secure.text), '192.0.2.7 https')
  assert.equal(plain.status, 307)
  assert.equal(forwarded(unknown.text), '127.0.0.2 https')
  assert.equal(forwarded(http2), '192.0.2.7 https')
  assert.equal(responseHeaders[':status'], 400)
})

test('a proxy that terminates TLS may speak HTTP/2 with prior knowledge, whichever scheme it names', async (t) => {
  const { port } = await startBehindProxy(t)
  const session = connectHttp2(`http://${HOST}:${port}`, { host: '127.0.0.1' })
  t.after(() => session.destroy())

  for (const scheme of ['http', 'https']) {
    const headers = { ...HTTPS, 'x-forwarded-for': '192.0.2.7', ':scheme': scheme }
    const { body } = await sendHttp2(session, headers)
    assert.equal(forwarded(body.toString()), '192.0.2.7 https')
  }
  const other = await sendHttp2(session, { ...HTTPS, 'x-forwarded-for': '192.0.2.7', ':scheme': 'ftp' })
  const plain = await sendHttp2(session, { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'http' })

  assert.equal(other.headers[':status'], 400)
  assert.equal(plain.headers[':status'], 307)
})

test('IP policies judge the visitor, and a field that names none is rejected', async (t) => {
  const { config, routeId, sendPlain } = await startBehindProxy(t)
  const policy = config.create(IpPolicy, {})
  for (const cidr of ['192.0.2.7/32', '127.0.0.0/8'])
    config.create(IpPolicyRule, { ip_policy_id: policy, cidr, action: 'allow' })
  config.update(routeId, { ip_restriction: { ip_policy_ids: [policy] } })
  await config.waitUntilApplied()
  const statusOf = async (client: string) => (await sendPlain({ ...HTTPS, 'x-forwarded-for': client })).status

  assert.equal(await statusOf('192.0.2.7'), 200)
  assert.equal(await statusOf('192.0.2.7, 192.0.2.8'), 403)
  assert.equal(await statusOf('unknown'), 400)
  // What a connection header names is read all the same: otherwise a visitor could hide behind the proxy's address.
  const hidden = await sendPlain({ ...HTTPS, 'x-forwarded-for': '192.0.2.8', connection: 'x-forwarded-for' })
  assert.equal(hidden.status, 403)
})

test('an endpoint that requires client certificates is closed where a proxy terminates TLS', async (t) => {
  const { config, edgeId, sendPlain } = await startBehindProxy(t)
  const { ca } = await createClientAuthority('ours')
  const authority = config.create(CertificateAuthority, { ca_pem: ca })
  config.update(edgeId, { mutual_tls: { certificate_authority_ids: [authority] } })
  await config.waitUntilApplied()

  const { status, headers } = await sendPlain({ ...HTTPS, 'x-forwarded-for': '192.0.2.7' })

  assert.equal(status, 403)
  assert.equal(headers['adit-error-code'], 'ERR_ADIT_3112')
})

for (const [field, value] of [
  ['forwarded', 'for=6.6.6.6, for=192.0.2.7;proto=https'],
  ['x-real-ip', '192.0.2.7'],
] as const)
  test(`the visitor can be named by ${field} instead`, async (t) => {
    const { sendPlain } = await startBehindProxy(t, field)

    const { text } = await sendPlain({ ...HTTPS, 'x-forwarded-for': '6.6.6.6', [field]: value })

    assert.equal(forwarded(text), '192.0.2.7 https')
  })
