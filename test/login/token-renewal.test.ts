import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetch as fetchPlain } from 'undici'
import { POLICY_HOST } from '../../src/edge/testing/policy-endpoint.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { CLIENT_SECRET } from './openid-provider.ts'
import { HOUR, startRenewals } from './renewals.ts'

test('an access token is renewed before it expires, again and again, also for a POST', async (t) => {
  const { signIn, visit, time, observed } = await startRenewals(t)
  const first = await signIn()
  assert.notEqual(first, '')

  time.offset = 58 * 60_000
  assert.equal((await visit()).text, first)
  assert.equal(observed.renewals, 0)

  time.offset = HOUR - 30_000
  const second = await visit('POST')
  assert.equal(second.status, 200)
  assert.notEqual(second.text, first)
  assert.ok(second.cookies.some((line) => line.startsWith('adit.tokens.0=')))
  const again = await visit()
  assert.deepEqual([again.text, again.cookies], [second.text, []])

  time.offset = 3 * HOUR
  const third = await visit()
  assert.equal(third.status, 200)
  assert.ok(![first, second.text].includes(third.text))
  assert.equal(observed.renewals, 2)
})

test('an ID token is renewed for a policy that reads it', async (t) => {
  const { signIn, visit, time, observed } = await startRenewals(t, { show: 'identity_token' })
  const first = await signIn()

  time.offset = 30 * 60_000
  const second = await visit()

  assert.equal(second.text.split('.').length, 3)
  assert.notEqual(second.text, first)
  assert.equal(observed.renewals, 1)
})

test('concurrent requests share one renewal, and later ones with earlier cookies get its result', async (t) => {
  const { signIn, visit, browser, restore, time, observed } = await startRenewals(t)
  const first = await signIn()
  const cookies = browser.cookies(POLICY_HOST)
  time.offset = 2 * HOUR

  const responses = await Promise.all(Array.from({ length: 10 }, () => visit()))
  restore(cookies)
  const late = await visit()

  const texts = new Set([...responses, late].map(({ text }) => text))
  assert.equal(texts.size, 1)
  assert.ok(!texts.has(first))
  assert.equal(observed.renewals, 1)
  assert.ok(late.cookies.some((line) => line.startsWith('adit.tokens.0=')))
})

test('a session ends on every node when the provider rejects its refresh token', async (t) => {
  const show = 'access_token} ${actions.ngrok.oidc.refresh_token'
  const { signIn, visit, time, issuer, revoked } = await startRenewals(t, { show })
  const [, refreshToken = ''] = (await signIn()).split(' ')
  const used = await fetchPlain(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`app:${CLIENT_SECRET}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
  })
  assert.equal(used.status, 200)

  time.offset = 2 * HOUR
  const statuses = [(await visit('POST')).status, (await visit()).status]

  assert.deepEqual(statuses, [401, 302])
  assert.equal(revoked.length, 1)
  assert.match(revoked[0]!, /^as_/)
})

test('a provider that cannot be reached leaves the token in place and is asked again later', async (t) => {
  const { signIn, visit, time, observed, control } = await startRenewals(t)
  const first = await signIn()
  time.offset = 2 * HOUR
  control.token = (response) => void response.destroy()

  for (let count = 0; count < 10; count++) {
    const { status, text } = await visit()
    assert.deepEqual([status, text], [200, first])
  }

  assert.equal(observed.renewals, 1)
  assert.deepEqual(observed.logged, ['session not renewed'])
  control.token = undefined
  time.offset += 6000
  await eventuallyEqual(async () => (await visit()).text !== first, true)
  assert.equal(observed.renewals, 2)
})

test('requests do not wait for a slow provider, and its late response is used', async (t) => {
  const { signIn, visit, time, observed, control } = await startRenewals(t, { renewalWaitMs: 20 })
  const first = await signIn()
  time.offset = 2 * HOUR
  let release = () => {}
  control.token = (response) => {
    release = () =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: 'late', token_type: 'Bearer', expires_in: 3600 }))
  }

  assert.deepEqual([(await visit()).text, (await visit()).text], [first, first])
  release()

  await eventuallyEqual(async () => (await visit()).text, 'late')
  assert.equal(observed.renewals, 1)
})

test('one of several processes renews, and the others go on with the tokens of the request', async (t) => {
  const { signIn, visit, browser, restore, time, observed, use } = await startRenewals(t, { processes: 2 })
  const first = await signIn()
  const cookies = browser.cookies(POLICY_HOST)
  time.offset = HOUR - 30_000

  const renewed = await visit()
  use(1)
  const current = await visit()
  restore(cookies)
  const earlier = await visit()

  assert.notEqual(renewed.text, first)
  assert.equal(current.text, renewed.text)
  assert.deepEqual([earlier.status, earlier.text, earlier.cookies], [200, first, []])
  assert.equal(observed.renewals, 1)
})

test('tokens are renewed and sessions end also while the database is down', async (t) => {
  const { signIn, visit, time, outage, control } = await startRenewals(t)
  const first = await signIn()
  outage.isDown = true

  time.offset = 2 * HOUR
  const renewed = await visit()
  assert.equal(renewed.status, 200)
  assert.notEqual(renewed.text, first)

  time.offset = 4 * HOUR
  control.token = (response) =>
    void response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
  assert.deepEqual([(await visit('POST')).status, (await visit('POST')).status], [401, 401])
})
