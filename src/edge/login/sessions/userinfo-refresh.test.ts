import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOST } from '../../testing/https-edge.ts'
import { AGENT_HOST, startOpenidPages } from '../../testing/login/openid-page.ts'

const HOUR = 3_600_000

for (const [place, host] of Object.entries({ 'a route': HOST, "an agent's endpoint": AGENT_HOST }))
  test(`the provider of ${place} is asked again after userinfo_refresh_interval`, async (t) => {
    const { signIn, visit, time } = await startOpenidPages(t, {
      settings: { userinfo_refresh_interval: 7200 },
      option: { userinfo_refresh_interval: 7200 },
    })
    const cookies = await signIn(host)

    const statuses: number[] = []
    for (const hours of [0, 1.9, 2.1]) {
      time.offset = hours * HOUR
      statuses.push((await visit(cookies, { host })).status)
    }

    assert.deepEqual(statuses, [200, 200, 302])
  })

test('an identity is confirmed without a redirect where the provider gave a refresh token', async (t) => {
  const { signIn, visit, time, behaviour } = await startOpenidPages(t, {
    settings: { userinfo_refresh_interval: 7200 },
  })
  behaviour.token = (response, id_token) => {
    const tokens = { access_token: 'x', token_type: 'Bearer', refresh_token: 'r', id_token }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(tokens))
  }
  const cookies = await signIn()
  behaviour.userinfo = { sub: 'ada', name: 'Ada', email: 'ada@new.example' }

  time.offset = 3 * HOUR
  const { status, text } = await visit(cookies)

  assert.equal(status, 200)
  assert.equal(JSON.parse(text).headers['adit-auth-user-email'], 'ada@new.example')
})

test('a route without the interval asks once', async (t) => {
  const { signIn, visit, time } = await startOpenidPages(t)
  const cookies = await signIn()

  time.offset = 29 * 24 * HOUR

  assert.equal((await visit(cookies)).status, 200)
})
