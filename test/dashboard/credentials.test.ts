import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Clock } from '../../src/base/clock.ts'
import { shareApi, type TestApi } from '../support/api.ts'
import { makeUser, openBrowser, type TestBrowser } from '../support/dashboard.ts'
import { engines } from '../support/engines.ts'

const STEP = 30_000
const CHOSEN = 'correct horse battery staple'

/** A clock in the middle of a time step of codes, which moves only when it is told to. */
function stoppedClock(): Clock & { pass(milliseconds: number): void } {
  let now = Math.floor(Date.now() / STEP) * STEP + STEP / 2
  let passed = 0
  return {
    now: () => now,
    monotonic: () => passed,
    pass(milliseconds) {
      now += milliseconds
      passed += milliseconds
    },
  }
}

const clock = stoppedClock()
const { fresh } = await shareApi({ dashboard: true, clock })

async function signedIn(api: TestApi, options: { role?: string } = {}) {
  const user = await makeUser(api, options)
  const browser = openBrowser(api.url)
  assert.equal((await browser.signIn({ email: user.email, password: user.password })).status, 200)
  return { user, browser }
}

function codeOf(secret: string, at: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at })
}

/** Switches a second factor on; answers with its secret. */
async function withSecondFactor(browser: TestBrowser, now: () => number): Promise<string> {
  const { status, body } = await browser.call('POST', '/dashboard/api/second_factor')
  assert.equal(status, 200, JSON.stringify(body))
  const code = codeOf(body.secret, now())
  const confirmed = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code } })
  assert.equal(confirmed.status, 204, JSON.stringify(confirmed.body))
  return body.secret
}

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: with a second factor a sign-in takes a code, and each code once`, async (t) => {
    const own = stoppedClock()
    const api = await start(t, { dashboard: true, clock: own })
    const { user, browser } = await signedIn(api)
    const secret = await withSecondFactor(browser, own.now)
    const { email, password } = user
    const attempt = (code?: string) =>
      openBrowser(api.url).signIn({ email, password, ...(code !== undefined && { code }) })

    const without = await attempt()
    const used = await attempt(codeOf(secret, own.now()))
    own.pass(STEP)
    const [one, two] = await Promise.all([
      attempt(codeOf(secret, own.now())),
      attempt(codeOf(secret, own.now())),
    ])

    assert.equal(`${without.status} ${without.body.error_code}`, '401 ERR_ADIT_241')
    assert.equal(without.body.details.code_needed, 'true')
    assert.equal(without.headers.get('set-cookie'), null)
    assert.equal(`${used.status} ${used.body.error_code}`, '401 ERR_ADIT_242', 'the code that confirmed it')
    assert.equal(used.body.details.code_needed, 'true')
    assert.deepEqual([one.status, two.status].toSorted(), [200, 401])
    assert.equal([one, two].find(({ status }) => status === 200)!.body.second_factor, true)
  })

  test(`${engine}: a changed password ends every other session and the old password`, async (t) => {
    const api = await start(t, { dashboard: true })
    const { user, browser } = await signedIn(api)
    const elsewhere = openBrowser(api.url)
    await elsewhere.signIn({ email: user.email, password: user.password })

    const changed = await browser.call('PUT', '/dashboard/api/password', {
      body: { current: user.password, new: CHOSEN },
    })

    assert.equal(changed.status, 204)
    assert.equal((await browser.call('GET', '/users')).status, 200)
    assert.equal((await elsewhere.call('GET', '/users')).status, 401)
    const again = openBrowser(api.url)
    assert.equal((await again.signIn({ email: user.email, password: user.password })).status, 401)
    assert.equal((await again.signIn({ email: user.email, password: CHOSEN })).status, 200)
  })
}

test('a code of the step before or after counts, and none further away', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const secret = await withSecondFactor(browser, clock.now)
  const attempt = async (offset: number) => {
    clock.pass(10 * STEP)
    const code = codeOf(secret, clock.now() + offset * STEP)
    return (await openBrowser(api.url).signIn({ email: user.email, password: user.password, code })).status
  }

  const statuses = [
    await attempt(-2),
    await attempt(-1),
    await attempt(0),
    await attempt(1),
    await attempt(2),
  ]

  assert.deepEqual(statuses, [401, 200, 200, 200, 401])
})

test('a code that came before one that was used does not work any more', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const secret = await withSecondFactor(browser, clock.now)
  clock.pass(10 * STEP)
  const { email, password } = user
  const attempt = (at: number) => openBrowser(api.url).signIn({ email, password, code: codeOf(secret, at) })

  assert.equal((await attempt(clock.now())).status, 200)
  assert.equal((await attempt(clock.now() - STEP)).status, 401)
})

test('wrong codes are limited like wrong passwords, and asking for the code is not', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const secret = await withSecondFactor(browser, clock.now)
  clock.pass(10 * STEP)
  const { email, password } = user
  const attempt = (code?: string) =>
    openBrowser(api.url).signIn({ email, password, ...(code !== undefined && { code }) })
  for (let time = 0; time < 15; time += 1) assert.equal((await attempt()).status, 401)
  const right = codeOf(secret, clock.now())
  const wrong = right === '000000' ? '111111' : '000000'
  for (let time = 0; time < 10; time += 1) assert.equal((await attempt(wrong)).status, 401)

  assert.equal((await attempt(right)).status, 429)
  clock.pass(3_600_000)
})

test('a wrong password tells nothing about a second factor', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  await withSecondFactor(browser, clock.now)

  const { body } = await openBrowser(api.url).signIn({ email: user.email, password: 'wrong', code: '123456' })

  assert.equal(body.error_code, 'ERR_ADIT_240')
  assert.equal(body.details.code_needed, undefined)
})

test('a second factor is on only once a right code has confirmed it, and ends sessions elsewhere', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const elsewhere = openBrowser(api.url)
  await elsewhere.signIn({ email: user.email, password: user.password })
  const early = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code: '123456' } })
  const { body: offered } = await browser.call('POST', '/dashboard/api/second_factor')
  const right = codeOf(offered.secret, clock.now())
  const wrong = right === '000000' ? '111111' : '000000'

  const refused = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code: wrong } })

  assert.equal(early.status, 409)
  assert.equal(refused.status, 400)
  assert.equal(refused.body.details.field, 'code')
  assert.match(offered.uri, /^otpauth:\/\/totp\/Adit/)
  assert.ok(offered.uri.includes(`secret=${offered.secret}`))
  assert.equal((await browser.call('GET', '/dashboard/api/session')).body.second_factor, false)
  assert.equal((await elsewhere.call('GET', '/users')).status, 200)
  const spaced = `${right.slice(0, 3)} ${right.slice(3)}`
  const confirmed = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code: spaced } })
  assert.equal(confirmed.status, 204)
  assert.equal((await browser.call('GET', '/dashboard/api/session')).body.second_factor, true)
  assert.equal((await elsewhere.call('GET', '/users')).status, 401)
  assert.equal((await browser.call('POST', '/dashboard/api/second_factor')).status, 409, 'it is on already')
})

test('switching a second factor off takes the password', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  await withSecondFactor(browser, clock.now)
  const off = (password: string) =>
    browser.call('DELETE', '/dashboard/api/second_factor', { body: { password } })

  const refused = await off('wrong')
  const done = await off(user.password)

  assert.equal(refused.status, 400)
  assert.equal(refused.body.details.field, 'password')
  assert.equal(done.status, 204)
  const again = await openBrowser(api.url).signIn({ email: user.email, password: user.password })
  assert.equal(again.status, 200)
})

test('a new password is refused with its field and reason', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const change = (body: unknown) => browser.call('PUT', '/dashboard/api/password', { body })

  const short = await change({ current: user.password, new: 'short' })
  const long = await change({ current: user.password, new: 'x'.repeat(1001) })
  const wrong = await change({ current: 'wrong', new: CHOSEN })
  const missing = await change({ new: CHOSEN })

  assert.deepEqual(
    [short, long, wrong, missing].map(({ status, body }) => [status, body.details.field]),
    [
      [400, 'new'],
      [400, 'new'],
      [400, 'current'],
      [400, 'current'],
    ],
  )
  assert.match(short.body.msg, /at least 12 characters/)
  for (const body of [{}, { new: 1, current: 2 }, { new: CHOSEN, current: user.password, x: 1 }, [], null])
    assert.equal((await change(body)).status, 400)
  assert.equal(
    (await openBrowser(api.url).signIn({ email: user.email, password: user.password })).status,
    200,
  )
})

test('the current password cannot be guessed at an unlocked screen', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  const statuses: number[] = []
  for (let time = 0; time < 11; time += 1) {
    const body = { current: 'guess', new: CHOSEN }
    statuses.push((await browser.call('PUT', '/dashboard/api/password', { body })).status)
  }

  assert.deepEqual(statuses, [...Array(10).fill(400), 429])
  assert.equal(
    (await openBrowser(api.url).signIn({ email: user.email, password: user.password })).status,
    429,
  )
  clock.pass(3_600_000)
})

test('a user without a password sets one after signing in with an API key', async () => {
  const api = await fresh()
  const browser = openBrowser(api.url)
  await browser.signIn({ api_key: api.account.apiKey.reveal() })

  const early = await browser.call('POST', '/dashboard/api/second_factor')
  const set = await browser.call('PUT', '/dashboard/api/password', { body: { new: CHOSEN } })

  assert.equal(early.status, 409)
  assert.equal(set.status, 204)
  const { email } = (await browser.call('GET', '/dashboard/api/session')).body.user
  assert.equal((await openBrowser(api.url).signIn({ email, password: CHOSEN })).status, 200)
})

test('an API key alone changes no password and no second factor', async () => {
  const api = await fresh()
  const calls = [
    ['PUT', '/password', { new: CHOSEN }],
    ['POST', '/second_factor', undefined],
    ['PUT', '/second_factor', { code: '123456' }],
    ['DELETE', '/second_factor', { password: CHOSEN }],
    ['DELETE', '/session', undefined],
  ] as const

  for (const [method, path, body] of calls) {
    const answer = await api.call(method, `/dashboard/api${path}`, { body })
    assert.equal(`${answer.status} ${answer.body.error_code}`, '403 ERR_ADIT_246', path)
    assert.equal((await api.client(undefined)(method, `/dashboard/api${path}`, { body })).status, 401)
  }
})

test('an administrator makes a new password for somebody, which ends their sessions and their second factor', async () => {
  const api = await fresh()
  const { browser: admin } = await signedIn(api)
  const { user, browser } = await signedIn(api, { role: 'developer' })
  await withSecondFactor(browser, clock.now)

  const refused = await browser.call('PUT', `/dashboard/api/users/${user.id}/password`)
  const made = await admin.call('PUT', `/dashboard/api/users/${user.id}/password`)

  assert.equal(refused.status, 403)
  const { body: log } = await api.call('GET', '/audit_events')
  type Entry = { action: string; principal: string; object: string; outcome: string }
  const told = (log.audit_events as Entry[]).find(
    ({ action, outcome }) => action === 'make_password' && outcome === 'refused',
  )
  assert.deepEqual([told?.principal, told?.object], [user.id, user.id])
  assert.equal(made.status, 200)
  assert.deepEqual(Object.keys(made.body), ['password'])
  assert.equal((await browser.call('GET', '/users')).status, 401)
  const { email } = user
  assert.equal((await openBrowser(api.url).signIn({ email, password: user.password })).status, 401)
  const again = await openBrowser(api.url).signIn({ email, password: made.body.password })
  assert.equal(again.status, 200)
  assert.equal(again.body.second_factor, false)
  assert.equal((await admin.call('PUT', '/dashboard/api/users/usr_none/password')).status, 404)
})

test('two people with one address in two accounts are told apart by their passwords', async () => {
  const api = await fresh()
  const email = 'both@example.com'
  const here = await makeUser(api, { email })
  const { id } = await api.strange.create('/users', { email, role: 'admin' })
  const made = await api.strange('PUT', `/dashboard/api/users/${id}/password`)

  const one = await openBrowser(api.url).signIn({ email, password: here.password })
  const other = await openBrowser(api.url).signIn({ email, password: made.body.password })

  assert.equal(one.body.account_id, api.account.accountId)
  assert.equal(other.body.account_id, api.stranger.accountId)
})

test('changes of passwords and second factors are in the audit log, without what they were', async () => {
  const api = await fresh()
  const { user, browser } = await signedIn(api)
  await withSecondFactor(browser, clock.now)
  await browser.call('DELETE', '/dashboard/api/second_factor', { body: { password: user.password } })
  await browser.call('PUT', '/dashboard/api/password', { body: { current: 'wrong', new: CHOSEN } })
  await browser.call('PUT', '/dashboard/api/password', { body: { current: user.password, new: CHOSEN } })

  const { body } = await api.call('GET', '/audit_events')

  type Entry = { action: string; principal: string; outcome: string; kind: string; object: string }
  const told = (body.audit_events as Entry[]).filter(({ kind }) => kind === 'dashboard').toReversed()
  assert.deepEqual(
    told.map(({ action, outcome }) => `${action} ${outcome}`),
    [
      'make_password done',
      'sign_in done',
      'offer_second_factor done',
      'confirm_second_factor done',
      'remove_second_factor done',
      'change_password refused',
      'change_password done',
    ],
  )
  for (const { principal, object, action } of told.slice(2)) {
    assert.equal(principal, user.id, action)
    assert.equal(object, user.id, action)
  }
  assert.ok(!JSON.stringify(body).includes(user.password))
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined)
})
