import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../support/api.ts'
import { sendHttp } from '../support/https-client.ts'

const { fresh } = await shareApi({
  dashboard: true,
  config: { trustedProxies: { isTrusted: (ip) => ip === '127.0.0.1', field: 'x-forwarded-for' } },
})

test('behind a trusted proxy, wrong passwords throttle their visitor and no other', async () => {
  const { url } = await fresh()
  let users = 0
  const signIn = async (visitor: string, from = '127.0.0.1') => {
    const { status } = await sendHttp(Number(new URL(url).port), {
      host: '127.0.0.1',
      path: '/dashboard/api/session',
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': visitor },
      body: JSON.stringify({ email: `n${users++}@example.com`, password: 'guess' }),
      from,
    })
    return status
  }

  // What a visitor claims stands left of what the proxy has seen.
  for (let attempt = 0; attempt < 30; attempt++)
    assert.equal(await signIn(`192.0.2.${attempt}, 198.51.100.7`), 401)
  assert.equal(await signIn('192.0.2.99, 198.51.100.7'), 429)
  assert.equal(await signIn('198.51.100.8'), 401)

  // Without a trusted proxy the header changes nothing.
  for (let attempt = 0; attempt < 30; attempt++)
    assert.equal(await signIn(`198.51.100.${attempt}`, '127.0.0.2'), 401)
  assert.equal(await signIn('198.51.100.99', '127.0.0.2'), 429)
})

test('a call whose visitor cannot be read is rejected', async () => {
  const { url } = await fresh()

  const { status, text } = await sendHttp(Number(new URL(url).port), {
    host: '127.0.0.1',
    path: '/ip_policies',
    headers: { 'x-forwarded-for': 'unknown' },
    from: '127.0.0.1',
  })

  assert.equal(status, 400)
  assert.match(text, /the x-forwarded-for header of the proxy at 127\.0\.0\.1 cannot be read/)
})
