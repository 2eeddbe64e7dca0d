import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { POLICY_HOST } from '../../src/edge/testing/policy-endpoint.ts'
import { HOUR, startRenewals } from './renewals.ts'

const MINUTE = 60_000

/** A visitor whose provider is asked again every half an hour. */
function start(t: TestContext, options: Parameters<typeof startRenewals>[1] = {}) {
  const show = 'identity.email} ${actions.ngrok.oidc.userinfo_refreshed'
  return startRenewals(t, {
    show,
    ...options,
    config: { userinfo_refresh_interval: '30m', ...options.config },
  })
}

test('the provider confirms an identity without a redirect, and what has changed there applies', async (t) => {
  const { signIn, visit, time, account, observed } = await start(t)
  assert.equal(await signIn(), 'ada@example.com false')
  account.email = 'ada@new.example'

  time.offset = 29 * MINUTE
  assert.equal((await visit()).text, 'ada@example.com false')
  assert.equal(observed.checks, 0)
  time.offset = 31 * MINUTE
  const checked = await visit('POST')
  assert.deepEqual([checked.status, checked.text], [200, 'ada@new.example true'])
  const names = checked.cookies.map((line) => line.split('=', 1)[0])
  assert.deepEqual(names.sort(), ['__Host-adit.session', 'adit.session', 'adit.tokens.0'])
  const again = await visit()
  assert.deepEqual([again.text, again.cookies, observed.checks], ['ada@new.example true', [], 1])

  // Again and again, also when no request was made for a long time.
  time.offset = 10 * HOUR
  account.email = 'ada@newest.example'
  assert.equal((await visit()).text, 'ada@newest.example true')
  assert.equal(observed.checks, 2)
})

test('concurrent requests share one check, and requests with earlier cookies get its result', async (t) => {
  const { signIn, visit, browser, restore, time, account, observed } = await start(t)
  await signIn()
  const cookies = browser.cookies(POLICY_HOST)
  account.email = 'ada@new.example'
  time.offset = HOUR

  const responses = await Promise.all(Array.from({ length: 10 }, () => visit()))
  restore(cookies)
  const late = await visit()

  assert.deepEqual(new Set([...responses, late].map(({ text }) => text)), new Set(['ada@new.example true']))
  assert.deepEqual([observed.checks, observed.renewals], [1, 1])
  assert.ok(late.cookies.some((line) => line.startsWith('adit.session=')))
})

test('a session ends when the provider says that there is no such person any more', async (t) => {
  const { signIn, visit, time, control, revoked } = await start(t)
  await signIn()
  time.offset = HOUR
  control.userinfo = (response) => void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()

  const statuses = [(await visit('POST')).status, (await visit()).status]

  assert.deepEqual(statuses, [401, 302])
  assert.equal(revoked.length, 1)
})

test('a claim that the provider does not confirm is not used any longer', async (t) => {
  const config = { scopes: ['openid', 'email', 'profile', 'groups', 'offline_access'] }
  const { signIn, visit, time, account } = await start(t, { config })
  account.groups = ['staff']
  await signIn()
  time.offset = 31 * MINUTE
  assert.equal((await visit()).status, 200)

  delete account.groups
  time.offset = 62 * MINUTE

  assert.equal((await visit()).status, 302)
})

test('a visitor who removes the token cookies has to sign in again', async (t) => {
  const { signIn, visit, browser, restore, time } = await start(t)
  await signIn()
  restore(browser.cookies(POLICY_HOST).map((cookie) => cookie.replace(/^(adit\.tokens\.\d)=.*/, '$1=')))

  assert.equal((await visit()).status, 200)
  time.offset = 31 * MINUTE

  assert.equal((await visit()).status, 302)
})

test('an identity stays valid for another interval while the provider cannot be reached', async (t) => {
  const { signIn, visit, time, control, observed } = await start(t)
  await signIn()
  control.userinfo = (response) => void response.destroy()

  time.offset = 31 * MINUTE
  assert.deepEqual([(await visit()).status, (await visit('POST')).status], [200, 200])
  assert.deepEqual(observed.logged, ['session not renewed'])
  time.offset = 60 * MINUTE
  assert.equal((await visit()).status, 200)
  time.offset = 62 * MINUTE
  assert.equal((await visit()).status, 302)
})

test('without a refresh token the visitor is sent to the provider', async (t) => {
  const { signIn, visit, time, observed } = await start(t, { config: { scopes: ['openid', 'email'] } })
  await signIn()

  time.offset = 31 * MINUTE

  assert.equal((await visit()).status, 302)
  assert.equal(observed.checks, 0)
})
