import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import pino from 'pino'
import type { Clock } from '../../src/base/values/clock.ts'
import { PasswordQueueFull, type Passwords } from '../../src/dashboard/sign-in/passwords.ts'
import { cheapPasswords, shareApi, startApi, type TestApi } from '../support/api.ts'
import { createUser, openBrowser } from '../support/dashboard.ts'
import { engines } from '../support/engines.ts'
import { eventually } from '../support/eventually.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOUR_MS = 3_600_000

/** Creates a clock that follows the system clock and can be advanced. */
function createMovableClock(): Clock & { advance(milliseconds: number): void } {
  let offsetMs = 0
  return {
    now: () => Date.now() + offsetMs,
    monotonic: () => performance.now() + offsetMs,
    advance(milliseconds) {
      offsetMs += milliseconds
    },
  }
}

const clock = createMovableClock()
const { fresh } = await shareApi({ dashboard: true, clock })

async function startSignedIn(api: TestApi, options: { role?: string } = {}) {
  const user = await createUser(api, options)
  const browser = openBrowser(api.url)
  const response = await browser.signIn({ email: user.email, password: user.password })
  assert.equal(response.status, 200, JSON.stringify(response.body))
  return { user, browser, response }
}

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a user signs in with a password and calls the API with the session`, async (t) => {
    const api = await start(t, { dashboard: true })
    const { id, email, password } = await createUser(api)
    const browser = openBrowser(api.url)

    const response = await browser.signIn({ email: email.toUpperCase(), password })

    assert.equal(response.status, 200)
    const { csrf, expires_at, ...session } = response.body
    assert.deepEqual(session, {
      user: { id, email, name: '' },
      role: 'admin',
      account_id: api.account.accountId,
      api_key_sign_in: false,
      second_factor: false,
      recovery_codes: 0,
    })
    const cookie = response.headers.get('set-cookie')!
    assert.match(cookie, /^adit_session=[^;]+; Max-Age=604800; HttpOnly; SameSite=Strict; Path=\/$/)
    assert.equal((await browser.call('GET', '/users')).body.users.length, 2)
    assert.equal((await browser.call('GET', '/dashboard/api/session')).body.csrf, csrf)
    assert.ok(Date.parse(expires_at) > Date.now())
  })

  test(`${engine}: an API key can sign in, and its session ends when the key is deleted`, async (t) => {
    const api = await start(t, { dashboard: true })
    const key = await api.call.create('/api_keys', {})
    const browser = openBrowser(api.url)

    const response = await browser.signIn({ api_key: key.token })

    assert.equal(response.status, 200)
    assert.equal(response.body.api_key_sign_in, true)
    assert.equal((await browser.call('GET', '/users')).status, 200)
    assert.equal((await api.call('DELETE', `/api_keys/${key.id}`)).status, 204)
    assert.equal((await browser.call('GET', '/users')).status, 401)
    assert.equal((await browser.call('GET', '/dashboard/api/session')).status, 401)
  })

  test(`${engine}: signing out ends the session on the server`, async (t) => {
    const api = await start(t, { dashboard: true })
    const { browser } = await startSignedIn(api)

    const response = await browser.call('DELETE', '/dashboard/api/session')

    assert.equal(response.status, 204)
    assert.match(response.headers.get('set-cookie')!, /^adit_session=; Max-Age=0;/)
    assert.equal((await browser.call('GET', '/users')).body.error_code, 'ERR_ADIT_243')
    assert.equal((await browser.call('GET', '/dashboard/api/session')).status, 401)
  })

  test(`${engine}: a session ends after 12 idle hours, and after 7 days in any case`, async (t) => {
    const ownClock = createMovableClock()
    const api = await start(t, { dashboard: true, clock: ownClock })
    const [idle, busy] = [(await startSignedIn(api)).browser, (await startSignedIn(api)).browser]
    const status = async (browser: typeof idle) => (await browser.call('GET', '/users')).status

    ownClock.advance(11 * HOUR_MS)
    assert.equal(await status(busy), 200)
    ownClock.advance(HOUR_MS)
    assert.equal(await status(idle), 401)
    assert.equal(await status(busy), 200)
    for (let hours = 12; hours + 11 < 7 * 24; hours += 11) {
      ownClock.advance(11 * HOUR_MS)
      assert.equal(await status(busy), 200, `after ${hours + 11} hours`)
    }
    ownClock.advance(11 * HOUR_MS)
    assert.equal(await status(busy), 401)
  })
}

test('failed sign-ins do not reveal whether the user or the password is wrong', async () => {
  const api = await fresh()
  const { email, password } = await createUser(api)
  const attempts = [
    { email, password: `${password}x` },
    { email: `no-${email}`, password },
    { email, password: '' },
  ]

  const responses = await Promise.all(attempts.map((credentials) => openBrowser(api.url).signIn(credentials)))

  const errors = responses.map(({ status, body: { error_code, msg } }) => ({ status, error_code, msg }))
  assert.deepEqual(new Set(errors.map((error) => JSON.stringify(error))).size, 1)
  assert.equal(errors[0]!.status, 401)
  for (const { headers } of responses) assert.equal(headers.get('set-cookie'), null)
})

test('a sign-in derives one key, whether the address has no, one or two accounts', async (t) => {
  const api = await startApi(t, { dashboard: true, passwords: cheapPasswords })
  const derivations = t.mock.method(crypto, 'scrypt')
  syncBuiltinESMExports()
  t.after(() => {
    derivations.mock.restore()
    syncBuiltinESMExports()
  })
  const singleUser = await createUser(api)
  const email = 'both@example.com'
  const ownUser = await createUser(api, { email })
  const { id } = await api.callAsOther.create('/users', { email, role: 'admin' })
  const otherUser = (await api.callAsOther('PUT', `/dashboard/api/users/${id}/password`)).body
  async function countDerivations(credentials: { email: string; password: string }, expected: number) {
    derivations.mock.resetCalls()
    assert.equal((await openBrowser(api.url).signIn(credentials)).status, expected)
    return derivations.mock.callCount()
  }

  const counts = [
    await countDerivations({ email: 'nobody@example.com', password: 'guess' }, 401),
    await countDerivations({ email: singleUser.email, password: 'guess' }, 401),
    await countDerivations({ email, password: 'guess' }, 401),
    await countDerivations({ email: singleUser.email, password: singleUser.password }, 200),
    await countDerivations({ email, password: ownUser.password }, 200),
    await countDerivations({ email, password: otherUser.password }, 200),
  ]

  assert.deepEqual(counts, Array(6).fill(1))
})

test('a sign-in with the old password fails if the password is changed meanwhile', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: started, resolve: markStarted } = Promise.withResolvers<void>()
  const passwords: Passwords = {
    hash: cheapPasswords.hash,
    async find(owner, password, stored) {
      const found = await cheapPasswords.find(owner, password, stored)
      markStarted()
      await released
      return found
    },
  }
  const api = await startApi(t, { dashboard: true, passwords })
  const { id, email, password } = await createUser(api)
  const pendingSignIn = openBrowser(api.url).signIn({ email, password })
  await started

  assert.equal((await api.call('PUT', `/dashboard/api/users/${id}/password`)).status, 200)
  release()

  const { status, headers } = await pendingSignIn
  assert.equal(status, 401)
  assert.equal(headers.get('set-cookie'), null)
})

test('sign-ins while password checks are saturated get 429 and are not counted as attempts', async (t) => {
  let busy = true
  const passwords: Passwords = {
    hash: cheapPasswords.hash,
    find: (owner, password, stored) =>
      busy ? Promise.reject(new PasswordQueueFull('busy')) : cheapPasswords.find(owner, password, stored),
  }
  const api = await startApi(t, { dashboard: true, passwords })
  const { email, password } = await createUser(api)
  for (let time = 0; time < 40; time += 1) {
    const response = await openBrowser(api.url).signIn({ email, password })
    assert.equal(`${response.status} ${response.headers.get('retry-after')}`, '429 5')
  }

  busy = false

  assert.equal((await openBrowser(api.url).signIn({ email, password })).status, 200)
})

test('after ten wrong passwords a user is throttled, even with the right one, and other users are not', async () => {
  const api = await fresh()
  const { email, password } = await createUser(api)
  const other = await createUser(api)
  const browser = openBrowser(api.url)
  for (let attempt = 0; attempt < 10; attempt += 1)
    assert.equal((await browser.signIn({ email, password: 'guess' })).status, 401)

  const rejected = await browser.signIn({ email, password })

  assert.equal(rejected.status, 429)
  const wait = Number(rejected.headers.get('retry-after'))
  assert.ok(wait > 0 && wait <= 60, `${wait}`)
  assert.equal((await browser.signIn(other)).status, 400, 'unknown fields are rejected')
  assert.equal((await browser.signIn({ email: other.email, password: other.password })).status, 200)
  clock.advance(wait * 1000)
  assert.equal((await browser.signIn({ email, password })).status, 200)
  clock.advance(HOUR_MS)
})

test('unknown users are throttled alike, and one client address cannot try many users', async () => {
  const api = await fresh()
  const browser = openBrowser(api.url)
  const statuses: number[] = []
  for (let attempt = 0; attempt < 12; attempt += 1)
    statuses.push((await browser.signIn({ email: 'nobody@example.com', password: 'guess' })).status)
  for (let attempt = 0; attempt < 25; attempt += 1)
    statuses.push((await browser.signIn({ email: `n${attempt}@example.com`, password: 'guess' })).status)

  assert.deepEqual(statuses.slice(0, 12), [...Array(10).fill(401), 429, 429])
  assert.deepEqual(statuses.slice(12), [...Array(20).fill(401), ...Array(5).fill(429)])
  const key = await browser.signIn({ api_key: api.account.apiKey.reveal() })
  assert.equal(key.status, 429)
  clock.advance(HOUR_MS)
})

test('concurrent attempts are all counted', async () => {
  const api = await fresh()
  const { email } = await createUser(api)

  const responses = await Promise.all(
    Array.from({ length: 25 }, () => openBrowser(api.url).signIn({ email, password: 'guess' })),
  )

  assert.equal(responses.filter(({ status }) => status === 401).length, 10)
  assert.equal(responses.filter(({ status }) => status === 429).length, 15)
  clock.advance(HOUR_MS)
})

test('successful sign-ins are not counted as attempts', async () => {
  const api = await fresh()
  const { email, password } = await createUser(api)

  for (let time = 0; time < 40; time += 1)
    assert.equal((await openBrowser(api.url).signIn({ email, password })).status, 200)
})

test('the cookie is accepted only with the CSRF token of its own session, for every method', async () => {
  const api = await fresh()
  const { browser } = await startSignedIn(api)
  const { browser: other } = await startSignedIn(api)
  const withoutToken = { cookie: browser.cookie! }
  const call = api.client(undefined)

  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    const path = method === 'GET' || method === 'POST' ? '/ip_policies' : '/ip_policies/ipp_x'
    const attempts = [
      withoutToken,
      { ...withoutToken, 'x-csrf-token': '' },
      { ...withoutToken, 'x-csrf-token': other.csrf! },
      { ...withoutToken, 'x-csrf-token': browser.csrf!.slice(1) },
    ]
    for (const headers of attempts) {
      const { status, body } = await call(method, path, { headers })
      assert.equal(`${status} ${body.error_code}`, '401 ERR_ADIT_244', method)
    }
  }
  assert.equal((await call('DELETE', '/dashboard/api/session', { headers: withoutToken })).status, 401)
  assert.equal((await browser.call('GET', '/ip_policies')).status, 200)
})

test('cross-site requests are rejected', async () => {
  const api = await fresh()
  const { browser, user } = await startSignedIn(api)

  for (const site of ['cross-site', 'same-site', 'none']) {
    const headers = { 'sec-fetch-site': site }
    assert.equal((await browser.call('GET', '/users', { headers })).body.error_code, 'ERR_ADIT_245')
    assert.equal((await browser.call('GET', '/dashboard/api/session', { headers })).status, 403)
    const credentials = { email: user.email, password: user.password }
    assert.equal((await openBrowser(api.url).signIn(credentials, headers)).status, 403)
  }
  const otherOrigin = { origin: 'https://evil.example' }
  const credentials = { email: user.email, password: user.password }
  assert.equal((await openBrowser(api.url).signIn(credentials, otherOrigin)).status, 403)
  assert.equal((await openBrowser(api.url).signIn(credentials, { origin: 'null' })).status, 403)
  assert.equal((await openBrowser(api.url).signIn(credentials, { origin: api.url })).status, 200)
  assert.equal(
    (await browser.call('GET', '/users', { headers: { 'sec-fetch-site': 'same-origin' } })).status,
    200,
  )
})

test('a cross-site form cannot sign in: only JSON is accepted', async () => {
  const api = await fresh()
  const { email, password } = await createUser(api)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const headers = { 'content-type': type }

    const response = await api.client(undefined)('POST', '/dashboard/api/session', {
      raw: JSON.stringify({ email, password }),
      headers,
    })

    assert.equal(response.status, 415)
  }
})

test('signing in creates a new session, whatever cookie the browser sends', async () => {
  const api = await fresh()
  const { browser: attacker } = await startSignedIn(api, { role: 'read_only' })
  const victim = await createUser(api)
  const browser = openBrowser(api.url)
  browser.cookie = attacker.cookie

  await browser.signIn({ email: victim.email, password: victim.password })

  assert.notEqual(browser.cookie, attacker.cookie)
  assert.equal((await browser.call('GET', '/dashboard/api/session')).body.user.email, victim.email)
  assert.equal((await attacker.call('GET', '/dashboard/api/session')).status, 401)
  const forgedBrowser = openBrowser(api.url)
  forgedBrowser.cookie = `adit_session=${'0'.repeat(27)}_${'a'.repeat(43)}`
  await forgedBrowser.signIn({ email: victim.email, password: victim.password })
  assert.doesNotMatch(forgedBrowser.cookie, /a{43}/)
})

test('a deactivated or deleted user is signed out for good', async () => {
  const api = await fresh()
  const { browser, user } = await startSignedIn(api)
  const { browser: deletedBrowser, user: deletedUser } = await startSignedIn(api)

  await api.call('PATCH', `/users/${user.id}`, { body: { active: false } })
  await api.call('DELETE', `/users/${deletedUser.id}`)

  assert.equal((await browser.call('GET', '/users')).status, 401)
  assert.equal((await deletedBrowser.call('GET', '/users')).status, 401)
  const rejected = await openBrowser(api.url).signIn({ email: user.email, password: user.password })
  assert.equal(`${rejected.status} ${rejected.body.error_code}`, '403 ERR_ADIT_636')
  const unknownUser = await openBrowser(api.url).signIn({
    email: deletedUser.email,
    password: deletedUser.password,
  })
  assert.equal(unknownUser.status, 401)
  await api.call('PATCH', `/users/${user.id}`, { body: { active: true } })
  assert.equal((await browser.call('GET', '/users')).status, 401, 'the old session is not alive again')
})

test('a session has the current role of its user', async () => {
  const api = await fresh()
  const { browser: reader } = await startSignedIn(api, { role: 'read_only' })
  const { browser: developer, user } = await startSignedIn(api, { role: 'developer' })
  const policy = { body: { description: 'x' } }

  assert.equal((await reader.call('GET', '/ip_policies')).status, 200)
  assert.equal((await reader.call('POST', '/ip_policies', policy)).status, 403)
  assert.equal((await developer.call('POST', '/ip_policies', policy)).status, 201)
  assert.equal((await developer.call('GET', '/audit_events')).status, 403)
  assert.equal((await developer.call('POST', '/users', { body: { email: 'a@example.com' } })).status, 403)
  await api.call('PATCH', `/users/${user.id}`, { body: { role: 'admin' } })
  assert.equal((await developer.call('GET', '/audit_events')).status, 200)
})

test('a bot signs in with its key and has no user', async () => {
  const api = await fresh()
  const bot = await api.call.create('/bot_users', { name: 'deploy' })
  const { token } = await api.call.create('/api_keys', { owner_id: bot.id })
  const browser = openBrowser(api.url)

  const { body } = await browser.signIn({ api_key: token })

  assert.deepEqual([body.user, body.role], [null, 'developer'])
  assert.equal((await browser.call('POST', '/ip_policies', { body: {} })).status, 201)
  assert.equal(
    (await browser.call('PUT', '/dashboard/api/password', { body: { new: 'x'.repeat(20) } })).status,
    403,
  )
})

test('a session cannot access another account', async () => {
  const api = await fresh()
  const { browser } = await startSignedIn(api)
  const policy = await api.callAsOther.create('/ip_policies', {})

  assert.equal((await browser.call('GET', `/ip_policies/${policy.id}`)).status, 404)
  assert.equal(
    (await browser.call('PUT', `/dashboard/api/users/${api.otherAccount.userId}/password`)).status,
    404,
  )
})

/** Creates an object from another local address, which the restrictions under test do not match. */
async function createFromOtherAddress(api: TestApi, path: string, body: object): Promise<void> {
  const call = request(`${api.url}${path}`, {
    method: 'POST',
    localAddress: '127.0.0.2',
    headers: {
      authorization: `Bearer ${api.account.apiKey.reveal()}`,
      'content-type': 'application/json',
    },
  })
  call.end(JSON.stringify(body))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 201)
  response.resume()
}

test('IP restrictions of the API and of the dashboard apply to both', async () => {
  for (const type of ['api', 'dashboard']) {
    const api = await fresh()
    const { browser, user } = await startSignedIn(api)
    const policy = await browser.call('POST', '/ip_policies', { body: {} })
    const allow = (cidr: string) => ({ body: { cidr, action: 'allow', ip_policy_id: policy.body.id } })
    await browser.call('POST', '/ip_policy_rules', allow('192.0.2.0/24'))
    const restriction = { body: { type, enforced: true, ip_policy_ids: [policy.body.id] } }
    const lockoutResponse = await browser.call('POST', '/ip_restrictions', restriction)
    assert.equal(lockoutResponse.status, 409, 'a restriction must not lock out its author')
    const rule = await browser.call('POST', '/ip_policy_rules', allow('127.0.0.0/8'))
    assert.equal((await browser.call('POST', '/ip_restrictions', restriction)).status, 201)
    assert.equal((await browser.call('GET', '/users')).status, 200)

    const deleteResponse = await browser.call('DELETE', `/ip_policy_rules/${rule.body.id}`)
    assert.equal(deleteResponse.status, 409, 'nor may a rule change')
    await createFromOtherAddress(api, '/ip_policy_rules', { ...allow('127.0.0.1/32').body, action: 'deny' })

    await eventually(async () => (await browser.call('GET', '/users')).body.error_code === 'ERR_ADIT_220')
    assert.equal((await browser.call('GET', '/dashboard/api/session')).body.error_code, 'ERR_ADIT_220')
    const signInResponse = await openBrowser(api.url).signIn({ email: user.email, password: user.password })
    assert.equal(signInResponse.body.error_code, 'ERR_ADIT_220')
    const key = await openBrowser(api.url).signIn({ api_key: api.account.apiKey.reveal() })
    assert.equal(key.body.error_code, 'ERR_ADIT_220')
  }
})

test('sign-ins, sign-outs, failures and dashboard changes are audited', async () => {
  const api = await fresh()
  const { browser, user } = await startSignedIn(api)
  await openBrowser(api.url).signIn({ email: user.email, password: 'wrong' })
  await browser.call('POST', '/ip_policies', { body: {} })
  await browser.call('DELETE', '/dashboard/api/session')

  type Entry = { action: string; principal: string; outcome: string; detail: string; credential: string }
  let entries: Entry[] = []
  await eventually(async () => {
    const { body } = await api.call('GET', '/audit_events')
    entries = (body.audit_events as Entry[]).filter(({ principal }) => principal === user.id)
    return entries.length === 4
  })
  assert.deepEqual(
    new Set(entries.map(({ action, outcome, detail }) => `${action} ${outcome} ${detail}`)),
    new Set([
      'sign_out done dashboard',
      'create done dashboard',
      'sign_in refused wrong password',
      'sign_in done dashboard',
    ]),
  )
  assert.match(entries.find(({ action }) => action === 'create')!.credential, /^das_/)
})

test('password guessing does not flood the audit log', async () => {
  const api = await fresh()
  const users = await Promise.all(Array.from({ length: 3 }, () => createUser(api)))
  for (const { email } of users)
    for (let attempt = 0; attempt < 10; attempt += 1)
      await openBrowser(api.url).signIn({ email, password: 'guess' })

  await api.call.create('/ip_policies', {})
  const { body } = await api.call('GET', '/audit_events')

  const rejected = (body.audit_events as { outcome: string }[]).filter(({ outcome }) => outcome === 'refused')
  assert.equal(rejected.length, 20)
  clock.advance(HOUR_MS)
})

test('over TLS the cookie has the __Host- prefix and is Secure', async (t) => {
  const api = await startApi(t, { dashboard: true, config: { apiUrl: () => 'https://adit.example' } })
  const { browser, response } = await startSignedIn(api)

  assert.match(
    response.headers.get('set-cookie')!,
    /^__Host-adit_session=[^;]+; Max-Age=604800; HttpOnly; SameSite=Strict; Path=\/; Secure$/,
  )
  assert.equal((await browser.call('GET', '/users')).status, 200)
  const plantedCookie = browser.cookie!.replace('__Host-', '')
  assert.equal((await browser.call('GET', '/users', { headers: { cookie: plantedCookie } })).status, 401)
})

test('an API key in the header takes precedence over a cookie', async () => {
  const api = await fresh()
  const { browser } = await startSignedIn(api, { role: 'read_only' })

  const response = await browser.call('POST', '/ip_policies', { body: {}, key: api.account.apiKey.reveal() })

  assert.equal(response.status, 201)
  const invalidKey = await browser.call('GET', '/ip_policies', { key: 'nonsense' })
  assert.equal(invalidKey.status, 401)
})

test('sessions survive a restart, and neither files nor logs contain a secret', async (t) => {
  const dataDir = createTempDir()
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = pino({ level: 'trace' }, sink)
  const cleanups: (() => Promise<void>)[] = []
  const fakeContext = { after: (cleanup: unknown) => cleanups.push(cleanup as () => Promise<void>) }
  const api = await startApi(fakeContext as never, { dashboard: true, dataDir, log })
  const { browser, user } = await startSignedIn(api)
  await browser.call('POST', '/ip_policies', { body: {} })
  await openBrowser(api.url).signIn({ email: user.email, password: 'a wrong password' })
  await openBrowser(api.url).signIn({ api_key: api.account.apiKey.reveal() })
  const offer = await browser.call('POST', '/dashboard/api/second_factor')
  assert.equal(offer.status, 200)
  for (const cleanup of cleanups.splice(0)) await cleanup()

  const restartedApi = await startApi(t, { dashboard: true, dataDir, log })
  const restoredBrowser = openBrowser(restartedApi.url)
  Object.assign(restoredBrowser, { cookie: browser.cookie, csrf: browser.csrf })

  assert.equal((await restoredBrowser.call('GET', '/ip_policies')).status, 200)
  const token = browser.cookie!.split('=')[1]!
  const secrets = [user.password, 'a wrong password', token, browser.csrf!, offer.body.secret as string]
  const files = await readdir(dataDir)
  const contents = await Promise.all(files.map((file) => readFile(join(dataDir, file), 'latin1')))
  assert.ok(contents.some((content) => content.includes(user.id)))
  assert.ok(lines.some((line) => line.includes('signed in')))
  for (const secret of secrets) {
    assert.ok(secret.length > 10)
    for (const [index, content] of contents.entries())
      assert.ok(!content.includes(secret), `${files[index]} holds a secret`)
    assert.ok(!lines.some((line) => line.includes(secret)), 'the log holds a secret')
  }
})

test('a session is valid on every node of a cluster and ends on all of them', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const dataDir = createTempDir()
  const firstApi = await startApi(t, { dashboard: true, databaseUrl, dataDir })
  const secondApi = await startApi(t, { dashboard: true, databaseUrl, dataDir })
  const { browser } = await startSignedIn(firstApi)
  const otherBrowser = Object.assign(openBrowser(secondApi.url), {
    cookie: browser.cookie,
    csrf: browser.csrf,
  })

  assert.equal((await otherBrowser.call('GET', '/users')).status, 200)
  assert.equal((await otherBrowser.call('DELETE', '/dashboard/api/session')).status, 204)
  assert.equal((await browser.call('GET', '/users')).status, 401)
})

test('invalid sign-in requests are answered with a 4xx', async () => {
  const api = await fresh()
  const call = api.client(undefined)
  const bodies: unknown[] = [
    undefined,
    null,
    [],
    'text',
    42,
    {},
    { email: 'a@example.com' },
    { password: 'x' },
    { email: 1, password: 2 },
    { email: { $gt: '' }, password: ['x'] },
    { email: 'a@example.com', password: 'x', code: 123456 },
    { email: 'x'.repeat(400), password: 'x' },
    { email: '\u0000', password: '\u0000', code: '\u0000' },
    { email: 'a@example.com', password: 'x'.repeat(5000) },
    { api_key: 'x'.repeat(300) },
    { api_key: '' },
    { api_key: 'x', email: 'a@example.com', password: 'x' },
    { email: '%_\\', password: "' OR 1=1 --" },
    { email: 'a@example.com', password: 'x', role: 'admin' },
  ]
  for (const body of bodies) {
    const { status } = await call('POST', '/dashboard/api/session', {
      body,
      headers: { cookie: 'adit_session="; adit_session=;;=;\u0001'.replace('\u0001', '') },
    })
    assert.ok(status >= 400 && status < 500, `${status} for ${JSON.stringify(body)}`)
    clock.advance(60_000)
  }
  const tooLarge = await call('POST', '/dashboard/api/session', { body: { password: 'x'.repeat(20_000) } })
  assert.equal(tooLarge.status, 413)
  assert.match(tooLarge.body.msg, /16384/)
  const malformed = await call('POST', '/dashboard/api/session', { raw: '{"email":' })
  assert.equal(malformed.status, 400)
})
