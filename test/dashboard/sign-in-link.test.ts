import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../src/base/values/id.ts'
import { createSignInLink } from '../../src/dashboard/sign-in/sign-in-link.ts'
import { cheapPasswords, type TestApi } from '../support/api.ts'
import { createUser, openBrowser } from '../support/dashboard.ts'
import { engines } from '../support/engines.ts'

const HOUR_MS = 3_600_000
const PASSWORD = 'correct horse battery staple'

/** Creates a link as the operator's command does, and returns its token. */
async function createLink(api: TestApi, user: { id: string; email: string }, now = Date.now()) {
  const account = api.account.accountId
  const { url } = await createSignInLink(
    { store: api.store, passwords: cheapPasswords },
    { account, ...user },
    {
      dashboardUrl: 'https://dashboard.example.com/dashboard/',
      now,
      audit: {
        account,
        principal: undefined,
        credential: undefined,
        source: undefined,
        requestId: newId('op'),
        action: 'make_password_link',
        kind: 'dashboard',
        object: user.id,
        outcome: 'done',
      },
    },
  )
  const { origin, pathname, hash } = new URL(url.reveal())
  assert.equal(`${origin}${pathname}`, 'https://dashboard.example.com/dashboard/')
  return new URLSearchParams(hash.slice(hash.indexOf('?'))).get('token')!
}

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a one-time link sets a password, signs in, and works once`, async (t) => {
    const api = await start(t, { dashboard: true })
    const user = await createUser(api)
    const before = openBrowser(api.url)
    await before.signIn({ email: user.email, password: user.password })
    const link = await createLink(api, user)
    const visitor = openBrowser(api.url)

    const inspected = await visitor.call('POST', '/dashboard/api/link', { body: { link } })
    const response = await visitor.signIn({ link, password: PASSWORD })

    assert.deepEqual(inspected.body, { email: user.email })
    assert.equal(response.status, 200)
    assert.equal(response.body.user.email, user.email)
    assert.equal((await visitor.call('GET', '/api_keys')).status, 200)
    // The old password and the sessions it opened are gone.
    assert.equal((await before.call('GET', '/api_keys')).status, 401)
    assert.equal((await openBrowser(api.url).signIn(user)).status, 400)
    const { email } = user
    assert.equal((await openBrowser(api.url).signIn({ email, password: user.password })).status, 401)
    assert.equal((await openBrowser(api.url).signIn({ email, password: PASSWORD })).status, 200)

    const again = await openBrowser(api.url).signIn({ link, password: 'another good password' })
    assert.equal(again.status, 410)
    assert.match(again.body.msg, /already been used/)
    assert.equal((await visitor.call('POST', '/dashboard/api/link', { body: { link } })).status, 410)
  })

  test(`${engine}: of two browsers that use a link at the same moment, one gets in`, async (t) => {
    const api = await start(t, { dashboard: true })
    const link = await createLink(api, await createUser(api))

    const responses = await Promise.all(
      ['first good password', 'second good password'].map((password) =>
        openBrowser(api.url).signIn({ link, password }),
      ),
    )

    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 410])
  })
}

test('a link ends with its time, with a newer one, and with a change of the password', async (t) => {
  const api = await engines.SQLite!(t, { dashboard: true })
  const user = await createUser(api)
  const use = async (link: string) => (await openBrowser(api.url).signIn({ link, password: PASSWORD })).status

  assert.equal(await use(await createLink(api, user, Date.now() - 24 * HOUR_MS)), 410)
  const first = await createLink(api, user)
  const second = await createLink(api, user)
  assert.equal(await use(first), 410)
  const browser = openBrowser(api.url)
  await browser.signIn({ email: user.email, password: user.password })
  const body = { current: user.password, new: 'a password of my own' }
  assert.equal((await browser.call('PUT', '/dashboard/api/password', { body })).status, 204)
  assert.equal(await use(second), 410)
})

test('a rejected password leaves the link valid, and guesses are limited', async (t) => {
  const api = await engines.SQLite!(t, { dashboard: true })
  const link = await createLink(api, await createUser(api))
  const guess = `${link.slice(0, -1)}${link.endsWith('0') ? '1' : '0'}`

  const short = await openBrowser(api.url).signIn({ link, password: 'short' })
  assert.equal(short.status, 400)
  assert.match(short.body.msg, /at least 12 characters/)
  assert.equal((await openBrowser(api.url).signIn({ link, password: PASSWORD })).status, 200)
  for (let attempt = 0; attempt < 30; attempt++)
    assert.equal((await openBrowser(api.url).signIn({ link: guess, password: PASSWORD })).status, 410)
  assert.equal((await openBrowser(api.url).signIn({ link: guess, password: PASSWORD })).status, 429)
})

test('a user without a password gets one by a link; the database holds only a digest of the token', async (t) => {
  const api = await engines.SQLite!(t, { dashboard: true })
  const email = 'new@example.com'
  const { id } = await api.call.create('/users', { email, role: 'admin' })

  const link = await createLink(api, { id, email })

  const row = await api.store.get('user_sign_ins', api.account.accountId, `usi_${id.slice(4)}`)
  assert.equal(JSON.stringify(row).includes(link), false)
  assert.equal((await openBrowser(api.url).signIn({ link, password: PASSWORD })).status, 200)
})
