import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Clock } from '../../src/base/values/clock.ts'
import { shareApi, type TestApi } from '../support/api.ts'
import { createUser, openBrowser, type TestBrowser } from '../support/dashboard.ts'
import { engines } from '../support/engines.ts'

const STEP_MS = 30_000
const NEW_PASSWORD = 'correct horse battery staple'

/** Creates a clock in the middle of a TOTP time step that moves only when advanced. */
function createStoppedClock(): Clock & { advance(milliseconds: number): void } {
  let now = Math.floor(Date.now() / STEP_MS) * STEP_MS + STEP_MS / 2
  let elapsedMs = 0
  return {
    now: () => now,
    monotonic: () => elapsedMs,
    advance(milliseconds) {
      now += milliseconds
      elapsedMs += milliseconds
    },
  }
}

const clock = createStoppedClock()
const { fresh } = await shareApi({ dashboard: true, clock })

async function startSignedIn(api: TestApi, options: { role?: string } = {}) {
  const user = await createUser(api, options)
  const browser = openBrowser(api.url)
  assert.equal((await browser.signIn({ email: user.email, password: user.password })).status, 200)
  return { user, browser }
}

function generateCode(secret: string, timestamp: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: timestamp })
}

/** Enables a second factor and returns its secret. */
async function enableSecondFactor(browser: TestBrowser, now: () => number): Promise<string> {
  const { status, body } = await browser.call('POST', '/dashboard/api/second_factor')
  assert.equal(status, 200, JSON.stringify(body))
  const code = generateCode(body.secret, now())
  const confirmResponse = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code } })
  assert.equal(confirmResponse.status, 200, JSON.stringify(confirmResponse.body))
  recoveryCodes = confirmResponse.body.recovery_codes
  return body.secret
}

/** Of the second factor that was enabled last. */
let recoveryCodes: string[] = []

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a sign-in with a second factor requires a code, and each code works once`, async (t) => {
    const ownClock = createStoppedClock()
    const api = await start(t, { dashboard: true, clock: ownClock })
    const { user, browser } = await startSignedIn(api)
    const secret = await enableSecondFactor(browser, ownClock.now)
    const { email, password } = user
    const attempt = (code?: string) =>
      openBrowser(api.url).signIn({ email, password, ...(code !== undefined && { code }) })

    const withoutCode = await attempt()
    const usedCode = await attempt(generateCode(secret, ownClock.now()))
    ownClock.advance(STEP_MS)
    const [first, second] = await Promise.all([
      attempt(generateCode(secret, ownClock.now())),
      attempt(generateCode(secret, ownClock.now())),
    ])

    assert.equal(`${withoutCode.status} ${withoutCode.body.error_code}`, '401 ERR_ADIT_241')
    assert.equal(withoutCode.body.details.code_needed, 'true')
    assert.equal(withoutCode.headers.get('set-cookie'), null)
    assert.equal(
      `${usedCode.status} ${usedCode.body.error_code}`,
      '401 ERR_ADIT_242',
      'the code that confirmed it',
    )
    assert.equal(usedCode.body.details.code_needed, 'true')
    assert.deepEqual([first.status, second.status].toSorted(), [200, 401])
    assert.equal([first, second].find(({ status }) => status === 200)!.body.second_factor, true)
  })

  test(`${engine}: changing the password ends every other session and invalidates the old password`, async (t) => {
    const api = await start(t, { dashboard: true })
    const { user, browser } = await startSignedIn(api)
    const otherBrowser = openBrowser(api.url)
    await otherBrowser.signIn({ email: user.email, password: user.password })

    const changeResponse = await browser.call('PUT', '/dashboard/api/password', {
      body: { current: user.password, new: NEW_PASSWORD },
    })

    assert.equal(changeResponse.status, 204)
    assert.equal((await browser.call('GET', '/users')).status, 200)
    assert.equal((await otherBrowser.call('GET', '/users')).status, 401)
    const newBrowser = openBrowser(api.url)
    assert.equal((await newBrowser.signIn({ email: user.email, password: user.password })).status, 401)
    assert.equal((await newBrowser.signIn({ email: user.email, password: NEW_PASSWORD })).status, 200)
  })
}

test('codes of the previous and next time step are accepted, others are not', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const secret = await enableSecondFactor(browser, clock.now)
  const attempt = async (offset: number) => {
    clock.advance(10 * STEP_MS)
    const code = generateCode(secret, clock.now() + offset * STEP_MS)
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

test('a code older than the last used one is rejected', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const secret = await enableSecondFactor(browser, clock.now)
  clock.advance(10 * STEP_MS)
  const { email, password } = user
  const attempt = (timestamp: number) =>
    openBrowser(api.url).signIn({ email, password, code: generateCode(secret, timestamp) })

  assert.equal((await attempt(clock.now())).status, 200)
  assert.equal((await attempt(clock.now() - STEP_MS)).status, 401)
})

test('wrong codes are rate limited like wrong passwords, and a missing code is not counted', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const secret = await enableSecondFactor(browser, clock.now)
  clock.advance(10 * STEP_MS)
  const { email, password } = user
  const attempt = (code?: string) =>
    openBrowser(api.url).signIn({ email, password, ...(code !== undefined && { code }) })
  for (let time = 0; time < 15; time += 1) assert.equal((await attempt()).status, 401)
  const validCode = generateCode(secret, clock.now())
  const invalidCode = validCode === '000000' ? '111111' : '000000'
  for (let time = 0; time < 10; time += 1) assert.equal((await attempt(invalidCode)).status, 401)

  assert.equal((await attempt(validCode)).status, 429)
  clock.advance(3_600_000)
})

test('a wrong password does not reveal whether a second factor is enabled', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  await enableSecondFactor(browser, clock.now)

  const { body } = await openBrowser(api.url).signIn({ email: user.email, password: 'wrong', code: '123456' })

  assert.equal(body.error_code, 'ERR_ADIT_240')
  assert.equal(body.details.code_needed, undefined)
})

test('a second factor is enabled only after a valid code, and then ends all other sessions', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const otherBrowser = openBrowser(api.url)
  await otherBrowser.signIn({ email: user.email, password: user.password })
  const earlyResponse = await browser.call('PUT', '/dashboard/api/second_factor', {
    body: { code: '123456' },
  })
  const { body: offer } = await browser.call('POST', '/dashboard/api/second_factor')
  const validCode = generateCode(offer.secret, clock.now())
  const invalidCode = validCode === '000000' ? '111111' : '000000'

  const rejected = await browser.call('PUT', '/dashboard/api/second_factor', { body: { code: invalidCode } })

  assert.equal(earlyResponse.status, 409)
  assert.equal(rejected.status, 400)
  assert.equal(rejected.body.details.field, 'code')
  assert.match(offer.uri, /^otpauth:\/\/totp\/Adit/)
  assert.ok(offer.uri.includes(`secret=${offer.secret}`))
  assert.equal((await browser.call('GET', '/dashboard/api/session')).body.second_factor, false)
  assert.equal((await otherBrowser.call('GET', '/users')).status, 200)
  const spacedCode = `${validCode.slice(0, 3)} ${validCode.slice(3)}`
  const confirmResponse = await browser.call('PUT', '/dashboard/api/second_factor', {
    body: { code: spacedCode },
  })
  assert.equal(confirmResponse.status, 200)
  assert.equal((await browser.call('GET', '/dashboard/api/session')).body.second_factor, true)
  assert.equal((await otherBrowser.call('GET', '/users')).status, 401)
  assert.equal((await browser.call('POST', '/dashboard/api/second_factor')).status, 409, 'it is on already')
})

test('disabling a second factor requires the password', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  await enableSecondFactor(browser, clock.now)
  const disable = (password: string) =>
    browser.call('DELETE', '/dashboard/api/second_factor', { body: { password } })

  const rejected = await disable('wrong')
  const disabled = await disable(user.password)

  assert.equal(rejected.status, 400)
  assert.equal(rejected.body.details.field, 'password')
  assert.equal(disabled.status, 204)
  const signInResponse = await openBrowser(api.url).signIn({ email: user.email, password: user.password })
  assert.equal(signInResponse.status, 200)
})

test('an invalid new password is rejected with its field and reason', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const change = (body: unknown) => browser.call('PUT', '/dashboard/api/password', { body })

  const tooShort = await change({ current: user.password, new: 'short' })
  const tooLong = await change({ current: user.password, new: 'x'.repeat(1001) })
  const wrongPassword = await change({ current: 'wrong', new: NEW_PASSWORD })
  const missing = await change({ new: NEW_PASSWORD })

  assert.deepEqual(
    [tooShort, tooLong, wrongPassword, missing].map(({ status, body }) => [status, body.details.field]),
    [
      [400, 'new'],
      [400, 'new'],
      [400, 'current'],
      [400, 'current'],
    ],
  )
  assert.match(tooShort.body.msg, /at least 12 characters/)
  for (const body of [
    {},
    { new: 1, current: 2 },
    { new: NEW_PASSWORD, current: user.password, x: 1 },
    [],
    null,
  ])
    assert.equal((await change(body)).status, 400)
  assert.equal(
    (await openBrowser(api.url).signIn({ email: user.email, password: user.password })).status,
    200,
  )
})

test('guessing the current password in an open session is rate limited', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  const statuses: number[] = []
  for (let time = 0; time < 11; time += 1) {
    const body = { current: 'guess', new: NEW_PASSWORD }
    statuses.push((await browser.call('PUT', '/dashboard/api/password', { body })).status)
  }

  assert.deepEqual(statuses, [...Array(10).fill(400), 429])
  assert.equal(
    (await openBrowser(api.url).signIn({ email: user.email, password: user.password })).status,
    429,
  )
  clock.advance(3_600_000)
})

test('a user without a password can set one after signing in with an API key', async () => {
  const api = await fresh()
  const browser = openBrowser(api.url)
  await browser.signIn({ api_key: api.account.apiKey.reveal() })

  const earlyResponse = await browser.call('POST', '/dashboard/api/second_factor')
  const setResponse = await browser.call('PUT', '/dashboard/api/password', { body: { new: NEW_PASSWORD } })

  assert.equal(earlyResponse.status, 409)
  assert.equal(setResponse.status, 204)
  const { email } = (await browser.call('GET', '/dashboard/api/session')).body.user
  assert.equal((await openBrowser(api.url).signIn({ email, password: NEW_PASSWORD })).status, 200)
})

test('an API key without a session cannot change a password or a second factor', async () => {
  const api = await fresh()
  const calls = [
    ['PUT', '/password', { new: NEW_PASSWORD }],
    ['POST', '/second_factor', undefined],
    ['PUT', '/second_factor', { code: '123456' }],
    ['DELETE', '/second_factor', { password: NEW_PASSWORD }],
    ['DELETE', '/session', undefined],
  ] as const

  for (const [method, path, body] of calls) {
    const response = await api.call(method, `/dashboard/api${path}`, { body })
    assert.equal(`${response.status} ${response.body.error_code}`, '403 ERR_ADIT_246', path)
    assert.equal((await api.client(undefined)(method, `/dashboard/api${path}`, { body })).status, 401)
  }
})

test('an administrator resets the password of a user, which ends the sessions and removes the second factor', async () => {
  const api = await fresh()
  const { browser: admin } = await startSignedIn(api)
  const { user, browser } = await startSignedIn(api, { role: 'developer' })
  await enableSecondFactor(browser, clock.now)

  const rejected = await browser.call('PUT', `/dashboard/api/users/${user.id}/password`)
  const resetResponse = await admin.call('PUT', `/dashboard/api/users/${user.id}/password`)

  assert.equal(rejected.status, 403)
  const { body: log } = await api.call('GET', '/audit_events')
  type Entry = { action: string; principal: string; object: string; outcome: string }
  const entry = (log.audit_events as Entry[]).find(
    ({ action, outcome }) => action === 'make_password' && outcome === 'refused',
  )
  assert.deepEqual([entry?.principal, entry?.object], [user.id, user.id])
  assert.equal(resetResponse.status, 200)
  assert.deepEqual(Object.keys(resetResponse.body), ['password'])
  assert.equal((await browser.call('GET', '/users')).status, 401)
  const { email } = user
  assert.equal((await openBrowser(api.url).signIn({ email, password: user.password })).status, 401)
  const signInResponse = await openBrowser(api.url).signIn({ email, password: resetResponse.body.password })
  assert.equal(signInResponse.status, 200)
  assert.equal(signInResponse.body.second_factor, false)
  assert.equal((await admin.call('PUT', '/dashboard/api/users/usr_none/password')).status, 404)
})

test('two users with the same email address in two accounts are distinguished by password', async () => {
  const api = await fresh()
  const email = 'both@example.com'
  const ownUser = await createUser(api, { email })
  const { id } = await api.callAsOther.create('/users', { email, role: 'admin' })
  const resetResponse = await api.callAsOther('PUT', `/dashboard/api/users/${id}/password`)

  const first = await openBrowser(api.url).signIn({ email, password: ownUser.password })
  const other = await openBrowser(api.url).signIn({ email, password: resetResponse.body.password })

  assert.equal(first.body.account_id, api.account.accountId)
  assert.equal(other.body.account_id, api.otherAccount.accountId)
})

test('changes of passwords and second factors are audited without their values', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  await enableSecondFactor(browser, clock.now)
  await browser.call('DELETE', '/dashboard/api/second_factor', { body: { password: user.password } })
  await browser.call('PUT', '/dashboard/api/password', { body: { current: 'wrong', new: NEW_PASSWORD } })
  await browser.call('PUT', '/dashboard/api/password', {
    body: { current: user.password, new: NEW_PASSWORD },
  })

  const { body } = await api.call('GET', '/audit_events')

  type Entry = { action: string; principal: string; outcome: string; kind: string; object: string }
  const entries = (body.audit_events as Entry[]).filter(({ kind }) => kind === 'dashboard').toReversed()
  assert.deepEqual(
    entries.map(({ action, outcome }) => `${action} ${outcome}`),
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
  for (const { principal, object, action } of entries.slice(2)) {
    assert.equal(principal, user.id, action)
    assert.equal(object, user.id, action)
  }
  assert.ok(!JSON.stringify(body).includes(user.password))
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined)
})

test('each recovery code replaces the second factor once, and new ones replace the old', async () => {
  const api = await fresh()
  const { user, browser } = await startSignedIn(api)
  await enableSecondFactor(browser, clock.now)
  const [first = '', second = '', third = ''] = recoveryCodes
  const attempt = async (code: string) =>
    (await openBrowser(api.url).signIn({ email: user.email, password: user.password, code })).status
  const left = async () => (await browser.call('GET', '/dashboard/api/session')).body.recovery_codes
  const renew = (password: string) =>
    browser.call('POST', '/dashboard/api/second_factor/recovery_codes', { body: { password } })

  assert.equal(new Set(recoveryCodes).size, 10)
  assert.equal(await attempt(first), 200)
  assert.equal(await attempt(first), 401, 'it was used')
  assert.equal(await attempt(second.toUpperCase().replaceAll('-', ' ')), 200)
  assert.equal(await left(), 8)
  assert.equal((await renew('wrong password')).status, 400)
  const { body } = await renew(user.password)
  assert.equal(await attempt(third), 401, 'it was replaced')
  assert.equal(await attempt(body.recovery_codes[0]), 200)
  assert.equal(await left(), 9)
  await browser.call('DELETE', '/dashboard/api/second_factor', { body: { password: user.password } })
  assert.equal(await left(), 0)
  assert.equal((await renew(user.password)).status, 409)
  const { body: log } = await api.call('GET', '/audit_events?limit=100')
  const actions = (log.audit_events as { action: string }[]).map(({ action }) => action)
  assert.equal(actions.filter((action) => action === 'sign_in_with_recovery_code').length, 3)
  const records = JSON.stringify(await api.store.scan('user_sign_ins', { limit: 100 }))
  for (const code of [...recoveryCodes, ...body.recovery_codes]) assert.ok(!records.includes(code))
})

test('the offer of a second factor has its QR code', async () => {
  const { browser } = await startSignedIn(await fresh())

  const { body } = await browser.call('POST', '/dashboard/api/second_factor')

  assert.ok(body.qr_code.length >= 21)
  assert.ok(body.qr_code.every((row: string) => row.length === body.qr_code.length && /^[01]+$/.test(row)))
})

test('an administrator invites a user by a link, which works once', async () => {
  const api = await fresh()
  const { browser: admin } = await startSignedIn(api, { role: 'admin' })
  const { browser: developer } = await startSignedIn(api, { role: 'developer' })
  const { id } = await api.call.create('/users', { email: 'new@example.com', role: 'developer' })
  const path = `/dashboard/api/users/${id}/invitation`

  const { status, body } = await admin.call('POST', path)
  const link = body.link.replace('#/set-password?token=', '')
  const browser = openBrowser(api.url)
  const signedIn = await browser.signIn({ link, password: NEW_PASSWORD })

  assert.equal(status, 200)
  assert.equal(Date.parse(body.expires_at) - Math.floor(clock.now() / 1000) * 1000, 7 * 86_400_000)
  assert.equal(signedIn.body.user.email, 'new@example.com')
  assert.notEqual((await openBrowser(api.url).signIn({ link, password: NEW_PASSWORD })).status, 200)
  assert.equal((await developer.call('POST', path)).status, 403)
  assert.equal((await admin.call('POST', '/dashboard/api/users/usr_none/invitation')).status, 404)
})
