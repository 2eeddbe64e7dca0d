import assert from 'node:assert/strict'
import { createHmac, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import {
  createSigningKey,
  faults,
  firstKey,
  IDP_URL,
  type ProviderBehaviour,
  respondWithToken,
  secondKey,
  startOpenidProvider as start,
} from '../../testing/login/openid-provider.ts'
import type { AllowRules } from '../allow-rules.ts'
import { isUnreachable, SignInError } from '../sign-in.ts'

const future = Math.floor(Date.now() / 1000) + 3600
const past = Math.floor(Date.now() / 1000) - 3600
const withClaims = (change: Record<string, unknown>) => ({
  claims: (claims: Record<string, unknown>) => ({ ...claims, ...change }),
})
const withoutClaim = (name: string) => withClaims({ [name]: undefined })

const misbehaviours: Record<string, Partial<ProviderBehaviour>> = {
  'another issuer in the token': withClaims({ iss: 'https://evil.example' }),
  'no issuer in the token': withoutClaim('iss'),
  'another audience': withClaims({ aud: 'other' }),
  'no audience': withoutClaim('aud'),
  'several audiences without a party': withClaims({ aud: ['app', 'other'] }),
  'several audiences and another party': withClaims({ aud: ['app', 'other'], azp: 'other' }),
  'one audience and another party': withClaims({ azp: 'other' }),
  'another nonce': withClaims({ nonce: 'other' }),
  'no nonce': withoutClaim('nonce'),
  'an expired token': withClaims({ exp: past }),
  'no expiry': withoutClaim('exp'),
  'a token from the future': withClaims({ iat: future, exp: future + 300 }),
  'no time of issue': withoutClaim('iat'),
  'a token not valid yet': withClaims({ nbf: future }),
  'no subject': withoutClaim('sub'),
  'a subject that is a number': withClaims({ sub: 42 }),
  'no signature at all': { header: { alg: 'none' }, signer: () => Buffer.alloc(0) },
  'a signature made with the public key as a password': {
    header: { alg: 'HS256' },
    signer: (input, { publicKey }) =>
      createHmac('sha256', publicKey.export({ format: 'pem', type: 'spki' }))
        .update(input)
        .digest(),
  },
  'a signature made with the client secret': {
    header: { alg: 'HS256' },
    signer: (input) => createHmac('sha256', 'app-secret').update(input).digest(),
  },
  'another key under a known name': {
    signer: (input) => sign('sha256', Buffer.from(input), secondKey.privateKey),
  },
  'an unpublished key': { key: secondKey },
  'an empty signature': { signer: () => Buffer.alloc(0) },
  'an unknown algorithm': { header: { alg: 'XX256' } },
  'an unannounced algorithm': { header: { alg: 'RS512' } },
  'an algorithm that does not match the key': { header: { alg: 'ES256' } },
  'the algorithm none in another case': { header: { alg: 'nOnE' }, signer: () => Buffer.alloc(0) },
  'no algorithm': { header: { alg: undefined } },
  'a key inside the token': {
    key: secondKey,
    header: { kid: undefined, jwk: secondKey.publicKey.export({ format: 'jwk' }) },
  },
  'a key URL inside the token': { key: secondKey, header: { jku: 'http://127.0.0.1:1/keys' } },
  'an encrypted token': { token: (response) => respondWithToken(response, 'eyJhbGciOiJkaXIifQ..a.b.c') },
  'two audiences that are one text': withClaims({ aud: 'app other' }),
  'an audience that is an object': withClaims({ aud: { app: true } }),
  'an expiry that is a text': withClaims({ exp: String(future) }),
  'an empty subject': withClaims({ sub: '' }),
  'an empty nonce': withClaims({ nonce: '' }),
  'a critical extension': { header: { crit: ['x'], x: 1 } },
  'no ID token': { token: (response) => respondWithToken(response, undefined) },
  'an invalid token': { token: (response) => respondWithToken(response, 'hello') },
  'another issuer in the discovery document': { description: { issuer: 'https://evil.example' } },
  'a discovery document without keys': { description: { jwks_uri: undefined } },
  'a page instead of a token': { token: (response) => void response.end('<html>') },
  'a list instead of a token': { token: (response) => void response.end('[]') },
  'nothing instead of a token': { token: (response) => void response.end('null') },
  'a redirect instead of a token': {
    token: (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  },
  'an error instead of a token': { token: (response) => void response.writeHead(400).end('{"error":"x"}') },
  'a redirect instead of its discovery document': {
    describe: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  },
  'a page instead of its discovery document': { describe: (response) => void response.end('<html>') },
  'a list instead of its discovery document': { describe: (response) => void response.end('[]') },
  'no discovery document': { describe: (response) => void response.writeHead(404).end() },
  'a discovery document without endpoints': { description: { authorization_endpoint: undefined } },
  'a script as authorization endpoint': { description: { authorization_endpoint: 'javascript:alert(1)' } },
  'a file as authorization endpoint': { description: { authorization_endpoint: 'file:///etc/passwd' } },
  'an invalid token endpoint': { description: { token_endpoint: 'nowhere' } },
  'a page instead of its keys': { publish: (response) => void response.end('<html>') },
  'a list instead of its keys': { publish: (response) => void response.end('[]') },
  'invalid keys': { publish: (response) => void response.end('{"keys":[null,1,{},{"kid":"first"}]}') },
  'a page instead of a UserInfo response': {
    ...withoutClaim('email'),
    inform: (response) => void response.end('<html>'),
  },
  'a redirect instead of a UserInfo response': {
    ...withoutClaim('email'),
    inform: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  },
  'a script as UserInfo endpoint': {
    ...withoutClaim('email'),
    description: { userinfo_endpoint: 'javascript:alert(1)' },
  },
  'a redirect instead of its keys': {
    publish: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  },
}

for (const [name, manners] of Object.entries(misbehaviours))
  test(`a provider that sends ${name} fails the sign-in`, async (t) => {
    const provider = await start(t)
    Object.assign(provider.behaviour, manners)

    await assert.rejects(provider.attempt(), (error) => {
      assert.ok(error instanceof SignInError && !isUnreachable(error), String(error))
      return true
    })
  })

for (const [name, behave] of Object.entries(faults))
  test(`a provider that ${name} is reported as unavailable, whatever was requested`, async (t) => {
    for (const part of ['describe', 'publish', 'token', 'inform'] as const) {
      const provider = await start(t)
      Object.assign(provider.behaviour, withoutClaim('email'), { [part]: behave })

      await assert.rejects(provider.attempt(), isUnreachable, part)
    }
  })

test('a provider that recovers is used again at once', async (t) => {
  const { behaviour, attempt, createSignIn } = await start(t)
  const signIn = createSignIn()
  const invalidDescriptions = [
    { issuer: 'https://evil.example' },
    { authorization_endpoint: 'javascript:alert(1)' },
  ]
  for (const description of invalidDescriptions) {
    behaviour.description = description
    await assert.rejects(attempt(signIn), SignInError)
  }
  behaviour.description = {}
  for (const part of ['describe', 'publish', 'token'] as const) {
    const original = behaviour[part]
    Object.assign(behaviour, { [part]: faults.breaks })
    await assert.rejects(attempt(signIn), isUnreachable)
    Object.assign(behaviour, { [part]: original })
  }

  assert.equal((await attempt(signIn)).identity.id, 'ada')
})

test('provider documents are accepted up to 256 KiB', async (t) => {
  const { behaviour, attempt } = await start(t)
  behaviour.description = { claims_supported: 'x'.repeat(250_000) }
  assert.equal((await attempt()).identity.id, 'ada')

  behaviour.description = { claims_supported: 'x'.repeat(270_000) }
  await assert.rejects(attempt(), isUnreachable)
})

test('concurrent sign-ins share one discovery request', async (t) => {
  const { behaviour, observed, createSignIn } = await start(t)
  const signIn = createSignIn()
  const waiting: ServerResponse[] = []
  behaviour.describe = (response) => void waiting.push(response)

  const all = Array.from({ length: 50 }, () =>
    signIn
      .begin({ signInId: 'x', memory: signIn.createMemory() }, 'the-state')
      .catch((error: unknown) => error),
  )
  while (waiting.length === 0) await new Promise(setImmediate)
  for (const response of waiting) response.writeHead(404).end()

  assert.ok((await Promise.all(all)).every((error) => error instanceof SignInError))
  assert.equal(observed.descriptions, 1)
})

test('a provider that sends iss shares a redirect URI and must send it every time', async (t) => {
  const { attempt, behaviour, issuer, observed } = await start(t)
  behaviour.description = { authorization_response_iss_parameter_supported: true }

  assert.equal((await attempt(undefined, { iss: issuer })).redirectUri, `${IDP_URL}/oauth2/callback`)
  await assert.rejects(attempt(), SignInError, 'without it')
  await assert.rejects(attempt(undefined, { iss: '' }), SignInError)
  await assert.rejects(attempt(undefined, { iss: `${issuer}/` }), SignInError, 'almost')
  await assert.rejects(
    attempt(undefined, { iss: 'https://evil.example', error: 'access_denied' }),
    /not valid/,
  )
  const dedicatedPath = `/oidc/callback/${new URL(issuer).host}`
  await assert.rejects(attempt(undefined, { iss: issuer }, dedicatedPath), SignInError)
  assert.equal(observed.tokenRequests, 1, 'none of these was redeemed')
})

test('a provider that does not send iss has its own redirect URI', async (t) => {
  const { attempt, issuer, observed } = await start(t)
  const dedicatedPath = `/oidc/callback/${new URL(issuer).host}`

  assert.equal((await attempt()).redirectUri, `${IDP_URL}${dedicatedPath}`)
  for (const path of [
    '/oauth2/callback',
    `${dedicatedPath}/`,
    `${dedicatedPath}x`,
    '/oauth2/github/callback',
    '/oidc/callback/',
  ])
    await assert.rejects(attempt(undefined, { iss: issuer }, path), SignInError, path)
  assert.equal(observed.tokenRequests, 1, 'none of these was redeemed')
})

test('tokens without a key id are verified with keys of the last minute', async (t) => {
  const { attempt, behaviour, observed, time, createSignIn } = await start(t)
  const signIn = createSignIn()
  behaviour.header = { kid: undefined }
  await attempt(signIn)
  Object.assign(behaviour, { key: secondKey, published: [secondKey] })

  await assert.rejects(attempt(signIn), SignInError)
  assert.equal(observed.keyRequests, 1)
  time.now += 60_000
  assert.equal((await attempt(signIn)).identity.id, 'ada')
  assert.equal(observed.keyRequests, 2)
})

test('a correct provider signs in with PKCE, a nonce and the exact redirect URI', async (t) => {
  const { attempt, observed } = await start(t)

  const { identity, url, memory, redirectUri } = await attempt()

  assert.deepEqual([identity.id, identity.name, identity.email], ['ada', 'Ada', 'ada@example.com'])
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
  assert.equal(url.searchParams.get('scope'), 'openid profile email')
  assert.equal(observed.form.get('code_verifier'), memory.verifier)
  assert.equal(observed.form.get('redirect_uri'), redirectUri)
})

test('a code is redeemed once; responses of another issuer and errors are rejected', async (t) => {
  const { attempt, createSignIn } = await start(t)
  const signIn = createSignIn()
  await attempt(signIn, { code: 'same' })

  await assert.rejects(attempt(signIn, { code: 'same' }), SignInError)
  await assert.rejects(attempt(signIn, { iss: 'https://evil.example' }), SignInError)
  await assert.rejects(attempt(signIn, { error: 'access_denied' }), /cancelled/)
})

test('an unverified email is ignored, whether from the token or from UserInfo', async (t) => {
  const { attempt, behaviour } = await start(t)
  for (const email_verified of [false, 'false']) {
    Object.assign(behaviour, withClaims({ email_verified }))
    assert.equal((await attempt()).identity.email, '')
    const userinfo = { sub: 'ada', email: 'ada@example.com', email_verified }
    Object.assign(behaviour, withoutClaim('email'), { userinfo })
    assert.equal((await attempt()).identity.email, '')
  }
})

test('UserInfo is fetched only for claims the token lacks, and overrides none', async (t) => {
  const { attempt, behaviour, observed } = await start(t)
  behaviour.userinfo = { sub: 'ada', name: 'Eve', email: 'ada@example.com', groups: ['staff'] }

  await attempt()
  assert.deepEqual(observed.userinfo, [])
  Object.assign(behaviour, withoutClaim('email'))
  const { identity } = await attempt()

  assert.equal(observed.userinfo.length, 1)
  assert.deepEqual([identity.name, identity.email, identity.groups], ['Ada', 'ada@example.com', ['staff']])
  behaviour.description = { userinfo_endpoint: undefined }
  assert.equal((await attempt()).identity.email, '')
  assert.equal(observed.userinfo.length, 1, 'a provider without such an endpoint is not asked')
})

test('only visitors with an allowed email, group and claim get in, wherever the provider says them', async (t) => {
  const { attempt, behaviour, createSignIn, issuer, observed } = await start(t)
  behaviour.userinfo = { sub: 'ada', groups: ['staff'], realm_access: { roles: ['editor'] } }
  const enter = (allow: Partial<AllowRules>) =>
    attempt(createSignIn(issuer, allow)).then(
      ({ identity }) => identity.id,
      (error: unknown) => (error instanceof SignInError ? 'out' : String(error)),
    )

  assert.equal(await enter({ emails: ['ada@example.com'] }), 'ada')
  assert.deepEqual(observed.userinfo, [], 'the token says it')
  assert.equal(await enter({ domains: ['other.test'] }), 'out')
  assert.equal(await enter({ groups: ['staff'], claims: ['realm_access.roles=editor'] }), 'ada')
  assert.equal(await enter({ groups: ['ops'] }), 'out')
  assert.equal(await enter({ claims: ['realm_access.roles=owner'] }), 'out')
  Object.assign(behaviour, withClaims({ email_verified: false }))
  assert.equal(await enter({ emails: ['ada@example.com'] }), 'out')
})

test('a new key is fetched when a token names it, and unknown keys cost one request a minute', async (t) => {
  const { attempt, behaviour, observed, time, createSignIn } = await start(t)
  const signIn = createSignIn()
  await attempt(signIn)
  await attempt(signIn)
  assert.deepEqual([observed.keyRequests, observed.descriptions], [1, 1])

  Object.assign(behaviour, { key: secondKey, published: [firstKey, secondKey] })
  assert.equal((await attempt(signIn)).identity.id, 'ada')
  assert.equal(observed.keyRequests, 2)

  Object.assign(behaviour, { key: createSigningKey('made-up') })
  for (let tries = 0; tries < 5; tries++) await assert.rejects(attempt(signIn), SignInError)
  assert.equal(observed.keyRequests, 2)
  time.now += 60_000
  for (let tries = 0; tries < 5; tries++) await assert.rejects(attempt(signIn), SignInError)
  assert.equal(observed.keyRequests, 3)
})

test('sign-out redirects to the provider if it has an end_session_endpoint', async (t) => {
  const { createSignIn, attempt, behaviour, issuer } = await start(t)
  const { identity, grant, redirectUri } = await attempt()

  const url = new URL(
    (await createSignIn().logoutUrl?.(identity, { idToken: grant.logoutHint, state: 'back' })) ?? '',
  )

  assert.equal(`${url.origin}${url.pathname}`, `${issuer}/end`)
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    id_token_hint: grant.tokens.identity_token,
    post_logout_redirect_uri: redirectUri,
    state: 'back',
    client_id: 'app',
  })
  behaviour.description = { end_session_endpoint: undefined }
  assert.equal(await createSignIn().logoutUrl?.(identity, { idToken: undefined, state: 'back' }), undefined)
  assert.equal((await attempt()).grant.logoutHint, undefined, 'nothing is stored for it')
})

test('a renewed ID token has to be valid and for the same person', async (t) => {
  const ada = { id: 'ada', name: '', email: '', groups: [], claims: {} }
  const otherKey = { ...firstKey, privateKey: secondKey.privateKey }
  const renew = async (change: Partial<ProviderBehaviour> = {}) => {
    const provider = await start(t)
    Object.assign(provider.behaviour, change)
    return provider.createSignIn().renew('current', ada)
  }

  const { tokens, lifetimes } = await renew()

  assert.equal(tokens.identity_token?.split('.').length, 3)
  assert.equal(lifetimes.identity_token, 300)
  assert.ok(await renew({ token: (response) => respondWithToken(response, undefined) }))
  for (const change of [withClaims({ sub: 'eve' }), withClaims({ azp: 'other' }), { key: otherKey }])
    await assert.rejects(renew(change), SignInError)
})
