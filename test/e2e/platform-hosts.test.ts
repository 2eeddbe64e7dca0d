import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { sendHttp, sendHttps, type TestRequest } from '../support/https-client.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'

const API = 'api.adit.localhost'
const DASHBOARD = 'dashboard.adit.localhost'

/** Sends requests to the public HTTPS port of a node. */
function visitorOf({ credentials, caPem }: TestPlatform) {
  const { port } = new URL(credentials.https_url)
  return (host: string, path: string, request: Omit<TestRequest, 'host' | 'path'> = {}) =>
    sendHttps(Number(port), caPem, { host, path, ...request })
}

const json = { 'content-type': 'application/json' }

function signInRequest(
  body: { email: string; password: string },
  options: Partial<TestRequest> = {},
): Omit<TestRequest, 'host' | 'path'> {
  return { method: 'POST', body: JSON.stringify(body), ...options, headers: { ...json, ...options.headers } }
}

/** The newest audit records, which name the address each call came from. */
async function auditedSources({ call }: Pick<TestPlatform, 'call'>, action: string): Promise<string[]> {
  const { body } = await call('GET', '/audit_events')
  return body.audit_events
    .filter((record: { action: string }) => record.action === action)
    .map((record: { source: string }) => record.source)
}

test('the API answers at its host through the edge, and plain HTTP is redirected there', async (t) => {
  const platform = await startPlatform(t)
  const visit = visitorOf(platform)
  const headers = { authorization: `Bearer ${platform.credentials.api_key}`, ...json }

  const body = JSON.stringify({ description: 'x'.repeat(200) })
  const created = await visit(API, '/ip_policies', { method: 'POST', headers, body })
  const listed = await visit(API, '/ip_policies', { headers })
  const anonymous = await visit(API, '/ip_policies')
  const plain = await sendHttp(Number(new URL(platform.credentials.http_url).port), {
    host: API,
    path: '/ip_policies?limit=1',
  })

  assert.equal(created.status, 201)
  assert.deepEqual(
    JSON.parse(listed.text).ip_policies.map(({ id }: { id: string }) => id),
    [JSON.parse(created.text).id],
  )
  assert.equal(anonymous.status, 401)
  assert.equal(plain.status, 307)
  const { port } = new URL(platform.credentials.https_url)
  assert.equal(plain.headers.location, `https://${API}:${port}/ip_policies?limit=1`)
})

test('the dashboard signs in at its host with a cookie for TLS alone, and follows live traffic there', async (t) => {
  const platform = await startPlatform(t)
  const visit = visitorOf(platform)
  const origin = `https://${DASHBOARD}:${new URL(platform.credentials.https_url).port}`

  const page = await visit(DASHBOARD, '/dashboard/')
  const signIn = await visit(
    DASHBOARD,
    '/dashboard/api/session',
    signInRequest(platform.admin, { headers: { origin, host: new URL(origin).host } }),
  )
  const cookie = String(signIn.headers['set-cookie']).split(';')[0]!
  const headers = { cookie, 'x-csrf-token': JSON.parse(signIn.text).csrf }
  const keys = await visit(DASHBOARD, '/api_keys', { headers })
  const live = await platform.fetch(`${origin}/dashboard/api/live`, { headers })
  const reader = live.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()

  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'none'/)
  assert.match(String(signIn.headers['set-cookie']), /^__Host-adit_session=.*; Secure/)
  assert.equal(keys.status, 200)
  assert.match(Buffer.from(value as Uint8Array).toString(), /^(data|event|id|:|retry)/m)
  const elsewhere = await visit(
    DASHBOARD,
    '/dashboard/api/session',
    signInRequest(platform.admin, { headers: { origin: 'https://app.adit.localhost' } }),
  )
  assert.equal(elsewhere.status, 403)
})

test("the API's host serves no dashboard, however its path is spelled", async (t) => {
  const visit = visitorOf(await startPlatform(t))

  for (const path of [
    '/dashboard',
    '/dashboard/',
    '//dashboard/',
    '/%64ashboard/',
    '/dashboard/api/session',
  ]) {
    const { status, headers } = await visit(API, path)
    assert.equal(status, 302, path)
    assert.match(String(headers.location), /^https:\/\/dashboard\.adit\.localhost:\d+\/dashboard\/$/)
  }
  const { status } = await visit(
    API,
    '/dashboard/api/session',
    signInRequest({ email: 'a@b.c', password: '' }),
  )
  assert.equal(status, 404)
})

test('limits and the audit log see the visitor, whose own headers change nothing', async (t) => {
  const platform = await startPlatform(t)
  const visit = visitorOf(platform)
  let attempts = 0
  const guess = (from: string, claimed: string) =>
    visit(
      DASHBOARD,
      '/dashboard/api/session',
      signInRequest(
        { email: `n${attempts++}@example.com`, password: 'guess' },
        {
          from,
          headers: { 'x-forwarded-for': claimed, forwarded: `for=${claimed}`, 'x-real-ip': claimed },
        },
      ),
    )

  for (let attempt = 0; attempt < 30; attempt++)
    assert.equal((await guess('127.0.0.2', `192.0.2.${attempt}`)).status, 401)
  assert.equal((await guess('127.0.0.2', '192.0.2.99')).status, 429)
  assert.equal((await guess('127.0.0.3', '127.0.0.2')).status, 401)

  await visit(
    DASHBOARD,
    '/dashboard/api/session',
    signInRequest(platform.admin, { from: '127.0.0.4', headers: { 'x-forwarded-for': '198.51.100.1' } }),
  )
  assert.deepEqual(await auditedSources(platform, 'sign_in'), ['127.0.0.4'])
})

test('behind a trusted proxy the visitor is the one it names, and another peer cannot name one', async (t) => {
  const platform = await startPlatform(t, ['--trusted-proxies', '127.0.0.5'])
  const visit = visitorOf(platform)
  const signInFrom = (from: string) =>
    visit(
      DASHBOARD,
      '/dashboard/api/session',
      signInRequest(platform.admin, { from, headers: { 'x-forwarded-for': '198.51.100.7' } }),
    )

  assert.equal((await signInFrom('127.0.0.5')).status, 200)
  assert.equal((await signInFrom('127.0.0.6')).status, 200)

  assert.deepEqual(await auditedSources(platform, 'sign_in'), ['127.0.0.6', '198.51.100.7'])
})

test('no tenant can reserve or bind the names, whether they are served or not', async (t) => {
  const platform = await startPlatform(t, ['--platform-hosts', 'false'])
  const agent = await startAgent(t, platform, platform.credentials.authtoken)

  for (const name of [API, DASHBOARD, `a.${API}`]) {
    const { status, body } = await platform.call('POST', '/reserved_domains', { body: { domain: name } })
    assert.equal(status, 409, name)
    assert.match(body.msg, /belongs to the platform itself/)
    await assert.rejects(agent.forward({ addr: 1, url: `https://${name}` }), /belongs to the platform/)
  }
  assert.equal((await visitorOf(platform)(API, '/healthz')).status, 404)
})

test('each host is switched on by itself, and the API needs no listener of its own', async (t) => {
  const platform = await startPlatform(t, ['--platform-hosts', 'api', '--api-addr', 'false'])
  const visit = visitorOf(platform)

  assert.equal((await visit(API, '/healthz')).status, 200)
  assert.equal((await visit(API, '/dashboard/')).status, 404)
  assert.equal((await visit(DASHBOARD, '/dashboard/')).status, 404)
})

/** Starts a node that runs the API and one that is the edge alone. */
const SEPARATE_NODES: Record<
  string,
  (t: TestContext) => Promise<{ home: TestPlatform; edge: TestPlatform }>
> = {
  async SQLite(t) {
    const home = await startPlatform(t, ['--roles', 'api,jobs'])
    return { home, edge: await startPlatform(t, ['--roles', 'edge'], home.dataDir) }
  },
  async PostgreSQL(t) {
    const flags = ['--database-url', (await createTestDatabase(t)).url]
    const home = await startPlatform(t, [...flags, '--roles', 'api,jobs'])
    const keyFile = join(home.dataDir, 'master.key')
    return { home, edge: await startPlatform(t, [...flags, '--roles', 'edge', '--master-key-file', keyFile]) }
  },
}

for (const [engine, startNodes] of Object.entries(SEPARATE_NODES))
  test(`a node that does not run the API serves its hosts through one that does (${engine})`, async (t) => {
    const { home, edge } = await startNodes(t)
    const visit = visitorOf(edge)

    await eventually(async () => (await visit(API, '/healthz')).status === 200)
    const signIn = await visit(
      DASHBOARD,
      '/dashboard/api/session',
      signInRequest(home.admin, { from: '127.0.0.7' }),
    )

    assert.equal(signIn.status, 200)
    assert.deepEqual(await auditedSources(home, 'sign_in'), ['127.0.0.7'])
    await home.stop()
    const offline = await eventually(async () => {
      const response = await visit(API, '/healthz')
      return response.status === 503 && response
    })
    assert.match(offline.text, /ERR_ADIT_6529/)
  })

test('every node of a platform serves its own API and dashboard', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])

  const signIn = await visitorOf(first)(DASHBOARD, '/dashboard/api/session', signInRequest(first.admin))
  const cookie = String(signIn.headers['set-cookie']).split(';')[0]!
  const headers = { cookie, 'x-csrf-token': JSON.parse(signIn.text).csrf }
  const session = await visitorOf(second)(DASHBOARD, '/dashboard/api/session', { headers })

  assert.equal(session.status, 200)
})
