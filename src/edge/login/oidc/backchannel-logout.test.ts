import assert from 'node:assert/strict'
import { createHmac, randomUUID, sign } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { HOST } from '../../testing/https-edge.ts'
import { IDP } from '../../testing/login/login-page.ts'
import { forgetfulLoginStore } from '../../testing/login/login-store.ts'
import { AGENT_HOST, startOpenidPages } from '../../testing/login/openid-page.ts'
import {
  createSigningKey,
  firstKey,
  type ProviderBehaviour,
  secondKey,
  signToken,
} from '../../testing/login/openid-provider.ts'

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }

/** Pages at a provider that puts the id of its session into ID tokens. */
async function start(t: TestContext, options: Parameters<typeof startOpenidPages>[1] = {}) {
  const pages = await startOpenidPages(t, options)
  pages.behaviour.claims = (claims) => ({ ...claims, sid: 'ada-1' })
  const now = () => Math.floor(Date.now() / 1000)

  /** A token that ends all sessions of Ada. */
  const claimsOf = (changes: Record<string, unknown> = {}) => ({
    iss: pages.issuer,
    aud: 'app',
    iat: now(),
    exp: now() + 120,
    jti: randomUUID(),
    sub: 'ada',
    events: EVENTS,
    ...changes,
  })
  const post = (body: string, { page = pages.routeId, type = 'application/x-www-form-urlencoded' } = {}) =>
    pages.sendRequest({
      host: IDP,
      path: `/oidc/backchannel-logout/${page}`,
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
  const formOf = (token: string) => new URLSearchParams({ logout_token: token }).toString()
  const report = (token: string, page = pages.routeId) => post(formOf(token), { page })
  return { ...pages, claimsOf, post, formOf, report }
}

test('a logout token ends all sessions of the person at the application, and no other', async (t) => {
  const { signIn, visit, report, claimsOf, behaviour } = await start(t)
  const [onRoute, onEndpoint] = [await signIn(), await signIn(AGENT_HOST)]
  behaviour.claims = (claims) => ({ ...claims, sub: 'eve' })
  const other = await signIn()

  const { status, headers, text } = await report(signToken(claimsOf()))

  assert.deepEqual([status, headers['cache-control'], text], [200, 'no-store', ''])
  assert.equal((await visit(onRoute)).status, 302)
  assert.equal((await visit(onEndpoint, { host: AGENT_HOST })).status, 302, 'the same application')
  assert.equal((await visit(other)).status, 200)
})

test('a logout token with a session ends that one alone', async (t) => {
  const { signIn, visit, report, claimsOf, behaviour } = await start(t)
  const first = await signIn()
  behaviour.claims = (claims) => ({ ...claims, sid: 'ada-2' })
  const second = await signIn()

  assert.equal((await report(signToken(claimsOf({ sub: undefined, sid: 'ada-1' })))).status, 200)
  assert.deepEqual([(await visit(first)).status, (await visit(second)).status], [302, 200])
  assert.equal((await report(signToken(claimsOf({ sid: 'ada-2' })))).status, 200)
  assert.equal((await visit(second)).status, 302)
})

test("an agent's endpoint has the address of its host, and a person can sign in again", async (t) => {
  const { signIn, visit, report, claimsOf, time } = await start(t)
  const cookies = await signIn(AGENT_HOST)

  assert.equal((await report(signToken(claimsOf()), AGENT_HOST)).status, 200)
  assert.equal((await visit(cookies, { host: AGENT_HOST })).status, 302)

  time.offset = 1000
  assert.equal((await visit(await signIn(AGENT_HOST), { host: AGENT_HOST })).status, 200)
})

test('a token that names someone without a session is no error', async (t) => {
  const { report, claimsOf } = await start(t)

  assert.equal((await report(signToken(claimsOf({ sub: 'nobody' })))).status, 200)
})

test('types of tokens that providers use are accepted, and a new key is fetched', async (t) => {
  const { report, claimsOf, behaviour } = await start(t)

  for (const typ of ['logout+jwt', 'application/logout+jwt', 'JWT', undefined])
    assert.equal((await report(signToken(claimsOf(), { header: { typ } }))).status, 200, String(typ))
  behaviour.published = [secondKey]
  assert.equal((await report(signToken(claimsOf(), { key: secondKey }))).status, 200)
})

const seconds = () => Math.floor(Date.now() / 1000)
const publicPem = firstKey.publicKey.export({ format: 'pem', type: 'spki' })

/** Tokens that end nothing: changed claims, or another way to sign. */
const FORGED: Record<string, { claims?: Record<string, unknown>; signed?: Partial<ProviderBehaviour> }> = {
  'for another client': { claims: { aud: 'other' } },
  'for no client': { claims: { aud: undefined } },
  'of another issuer': { claims: { iss: 'https://evil.example' } },
  'of no issuer': { claims: { iss: undefined } },
  'that is old': { claims: { iat: seconds() - 300, exp: seconds() + 300 } },
  'from the future': { claims: { iat: seconds() + 300, exp: seconds() + 600 } },
  'without a time of issue': { claims: { iat: undefined } },
  'that has expired': { claims: { exp: seconds() - 100 } },
  'with a nonce': { claims: { nonce: 'n' } },
  'without events': { claims: { events: undefined } },
  'with another event': { claims: { events: { 'http://schemas.openid.net/event/other': {} } } },
  'with an event that is no object': { claims: { events: { [Object.keys(EVENTS)[0]!]: true } } },
  'with a list of events': { claims: { events: Object.keys(EVENTS) } },
  'without an id': { claims: { jti: undefined } },
  'with an empty id': { claims: { jti: '' } },
  'for nobody': { claims: { sub: undefined } },
  'for a person that is a number': { claims: { sub: 42 } },
  'for a session that is a list': { claims: { sid: ['ada-1'] } },
  'for an empty session': { claims: { sid: '' } },
  'of another type': { signed: { header: { typ: 'at+jwt' } } },
  'without a signature': { signed: { header: { alg: 'none' }, signer: () => Buffer.alloc(0) } },
  'signed with the public key as a password': {
    signed: {
      header: { alg: 'HS256' },
      signer: (input) => createHmac('sha256', publicPem).update(input).digest(),
    },
  },
  'signed with the client secret': {
    signed: {
      header: { alg: 'HS256', kid: undefined },
      signer: (input) => createHmac('sha256', 'app-secret').update(input).digest(),
    },
  },
  'signed by another key under a known name': {
    signed: { signer: (input) => sign('sha256', Buffer.from(input), secondKey.privateKey) },
  },
  'signed by an unpublished key': { signed: { key: createSigningKey('made-up') } },
  'with an algorithm that the provider does not announce': { signed: { header: { alg: 'RS512' } } },
  'with an unknown critical parameter': { signed: { header: { crit: ['x'], x: 1 } } },
}

for (const [title, { claims, signed }] of Object.entries(FORGED))
  test(`a logout token ${title} ends nothing`, async (t) => {
    const { signIn, visit, report, claimsOf, logins } = await start(t)
    const cookies = await signIn()

    const { status, headers, text } = await report(signToken(claimsOf(claims), signed))

    assert.deepEqual(
      [status, headers['content-type'], headers['cache-control']],
      [400, 'application/json', 'no-store'],
    )
    assert.deepEqual(JSON.parse(text), { error: 'invalid_request' })
    assert.equal((await visit(cookies)).status, 200)
    const [failure] = logins.failuresOf('ac_test')
    assert.equal(failure?.failure, 'logout_invalid')
    assert.ok(failure.reason, 'its owner reads why')
  })

test('an ID token is no logout token', async (t) => {
  const { signIn, visit, report, behaviour } = await start(t)
  let idToken = ''
  const { token } = behaviour
  behaviour.token = (response, each) => {
    idToken = each
    token(response, each)
  }
  const cookies = await signIn()

  assert.equal((await report(idToken)).status, 400)
  assert.equal((await visit(cookies)).status, 200)
})

test('a logout token is used once', async (t) => {
  const { signIn, visit, report, claimsOf, time } = await start(t)
  const token = signToken(claimsOf())
  assert.equal((await report(token)).status, 200)
  time.offset = 1000
  const cookies = await signIn()

  assert.equal((await report(token)).status, 400)
  assert.equal((await report(token, AGENT_HOST)).status, 400, 'at another address of the application too')
  assert.equal((await visit(cookies)).status, 200)
})

test('only a form with one token is read, and a large one is not', async (t) => {
  const { post, formOf, claimsOf, signIn, visit, sendRequest, routeId } = await start(t)
  const cookies = await signIn()
  const form = formOf(signToken(claimsOf()))
  const ask = async (body: string, type?: string) => (await post(body, type ? { type } : {})).status

  assert.deepEqual(
    [
      await ask(form, 'application/json'),
      await ask(JSON.stringify({ logout_token: signToken(claimsOf()) }), 'application/json'),
      await ask(`${form}&${form}`),
      await ask(''),
      await ask('logout_token='),
      await ask('logout_token=a.b.c'),
      await ask(`${form}&padding=${'x'.repeat(20_000)}`),
    ],
    [400, 400, 400, 400, 400, 400, 413],
  )
  const path = `/oidc/backchannel-logout/${routeId}`
  assert.equal((await sendRequest({ host: IDP, path: `${path}?${form}` })).status, 405)
  assert.equal((await post(form, { page: 'edghtsrt_none' })).status, 404)
  assert.equal((await visit(cookies)).status, 200)
  assert.equal((await visit(cookies, { path: '/', host: HOST })).status, 200)
})

test('one address may send so many invalid tokens a minute, and valid ones without limit', async (t) => {
  const { report, claimsOf } = await start(t, { callbackLimit: 2 })
  const send = async (changes: Record<string, unknown> = {}) =>
    (await report(signToken(claimsOf(changes)))).status

  assert.deepEqual([await send(), await send(), await send(), await send()], [200, 200, 200, 200])
  const invalid = { aud: 'other' }
  assert.deepEqual([await send(invalid), await send(invalid), await send(invalid)], [400, 400, 429])
})

test('while the database cannot be written, a sign-out fails and may be repeated later', async (t) => {
  const store = { ...forgetfulLoginStore, consume: () => Promise.reject(new Error('down')) }
  const { report, claimsOf } = await start(t, { store })

  assert.equal((await report(signToken(claimsOf()))).status, 503)
})

test('a provider whose keys cannot be read is told to try again', async (t) => {
  const { report, claimsOf, behaviour } = await start(t)
  behaviour.publish = (response) => response.writeHead(503).end()

  assert.equal((await report(signToken(claimsOf()))).status, 502)
})
