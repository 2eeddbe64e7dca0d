import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUser, openBrowser } from '../support/dashboard.ts'
import { engines } from '../support/engines.ts'

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a user signs in with a password and calls the API with the session`, async (t) => {
    const api = await start(t, { dashboard: true })
    const { id, email, password } = await makeUser(api)
    const browser = openBrowser(api.url)

    const answer = await browser.signIn({ email: email.toUpperCase(), password })

    assert.equal(answer.status, 200)
    const { csrf, expires_at, ...shown } = answer.body
    assert.deepEqual(shown, {
      user: { id, email, name: '', role: 'admin' },
      account_id: api.account.accountId,
      api_key_sign_in: false,
      second_factor: false,
    })
    const cookie = answer.headers.get('set-cookie')!
    assert.match(cookie, /^adit_session=[^;]+; Max-Age=604800; HttpOnly; SameSite=Strict; Path=\/$/)
    assert.equal((await browser.call('GET', '/users')).body.users.length, 2)
    assert.equal((await browser.call('GET', '/dashboard/api/session')).body.csrf, csrf)
    assert.ok(Date.parse(expires_at) > Date.now())
  })

  test(`${engine}: an API key signs in too, and its session ends with the key`, async (t) => {
    const api = await start(t, { dashboard: true })
    const key = await api.call.create('/api_keys', {})
    const browser = openBrowser(api.url)

    const answer = await browser.signIn({ api_key: key.token })

    assert.equal(answer.status, 200)
    assert.equal(answer.body.api_key_sign_in, true)
    assert.equal((await browser.call('GET', '/users')).status, 200)
    assert.equal((await api.call('DELETE', `/api_keys/${key.id}`)).status, 204)
    assert.equal((await browser.call('GET', '/users')).status, 401)
    assert.equal((await browser.call('GET', '/dashboard/api/session')).status, 401)
  })
}
