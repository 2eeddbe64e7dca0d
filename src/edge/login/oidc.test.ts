import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createOutbound } from '../../base/outbound.ts'
import { createOidcSignIn } from './oidc.ts'
import { SignInRefused } from './sign-in.ts'

const IDP = 'https://idp.adit.localhost'

interface Key {
  readonly kid: string
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

function newKey(kid: string): Key {
  return { kid, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
}

const [first, second] = [newKey('first'), newKey('second')]

/** How the provider of a test behaves; what is not named here is as it should be. */
interface Manners {
  claims: (claims: Record<string, unknown>) => Record<string, unknown>
  header: Record<string, unknown>
  key: Key
  published: Key[]
  signer: (input: string, key: Key) => Buffer
  description: Record<string, unknown>
  token: (response: ServerResponse, idToken: string) => void
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function tokenAnswer(response: ServerResponse, idToken: string | undefined): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: idToken }))
}

/** A provider that does as it is told, and a sign-in that believes it no more than it must. */
async function start(t: TestContext) {
  const manners: Manners = {
    claims: (claims) => claims,
    header: {},
    key: first,
    published: [first],
    signer: (input, { privateKey }) => sign('sha256', Buffer.from(input), privateKey),
    description: {},
    token: tokenAnswer,
  }
  const told = { nonce: '', keyRequests: 0, descriptions: 0, form: new URLSearchParams() }
  const usedCodes = new Set<string>()
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname
    response.setHeader('content-type', 'application/json')
    if (path === '/.well-known/openid-configuration') {
      told.descriptions++
      response.end(
        JSON.stringify({
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
          end_session_endpoint: `${issuer}/end`,
          ...manners.description,
        }),
      )
    } else if (path === '/keys') {
      told.keyRequests++
      const keys = manners.published.map(({ kid, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        alg: 'RS256',
        use: 'sig',
      }))
      response.end(JSON.stringify({ keys }))
    } else if (path === '/token') {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        told.form = new URLSearchParams(Buffer.concat(pieces).toString())
        const code = told.form.get('code') ?? ''
        if (usedCodes.has(code)) {
          response.statusCode = 400
          response.end(JSON.stringify({ error: 'invalid_grant' }))
          return
        }
        usedCodes.add(code)
        const at = Math.floor(Date.now() / 1000)
        const claims = manners.claims({
          iss: issuer,
          sub: 'ada',
          aud: 'app',
          exp: at + 300,
          iat: at,
          nonce: told.nonce,
          name: 'Ada',
          email: 'ada@example.com',
        })
        const header = { alg: 'RS256', kid: manners.key.kid, ...manners.header }
        const input = `${encoded(header)}.${encoded(claims)}`
        manners.token(response, `${input}.${manners.signer(input, manners.key).toString('base64url')}`)
      })
    } else response.writeHead(404).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 1000 })
  t.after(async () => {
    await outbound.close()
    server.closeAllConnections()
    server.close()
  })
  const time = { now: 0 }
  const clock = { now: () => Date.now(), monotonic: () => time.now }
  const make = (from = issuer) =>
    createOidcSignIn({
      issuer: from,
      clientId: 'app',
      clientSecret: 'app-secret',
      scopes: [],
      outbound,
      idpUrl: () => IDP,
      clock,
    })
  let codes = 0

  async function attempt(signIn = make(), answer: Record<string, string> = {}, arrivesAt?: string) {
    const memory = signIn.remember()
    const begun = { signInId: 'x', memory }
    const url = new URL(await signIn.begin(begun, 'the-state'))
    told.nonce = url.searchParams.get('nonce') ?? ''
    const redirectUri = url.searchParams.get('redirect_uri') ?? ''
    const path = arrivesAt ?? new URL(redirectUri).pathname
    const query = new URLSearchParams({ code: `code-${++codes}`, state: 'the-state', ...answer })
    return { identity: await signIn.complete({ path, query }, begun), url, memory, redirectUri }
  }

  return { manners, told, time, issuer, make, attempt }
}

const future = Math.floor(Date.now() / 1000) + 3600
const past = Math.floor(Date.now() / 1000) - 3600
const changed = (change: Record<string, unknown>) => ({
  claims: (claims: Record<string, unknown>) => ({ ...claims, ...change }),
})
const without = (name: string) => changed({ [name]: undefined })

const misbehaviours: Record<string, Partial<Manners>> = {
  'another issuer in the token': changed({ iss: 'https://evil.example' }),
  'no issuer in the token': without('iss'),
  'another audience': changed({ aud: 'other' }),
  'no audience': without('aud'),
  'several audiences without a party': changed({ aud: ['app', 'other'] }),
  'several audiences and another party': changed({ aud: ['app', 'other'], azp: 'other' }),
  'one audience and another party': changed({ azp: 'other' }),
  'another nonce': changed({ nonce: 'other' }),
  'no nonce': without('nonce'),
  'an expired token': changed({ exp: past }),
  'no expiry': without('exp'),
  'a token from the future': changed({ iat: future, exp: future + 300 }),
  'no time of issue': without('iat'),
  'a token not valid yet': changed({ nbf: future }),
  'no subject': without('sub'),
  'a subject that is a number': changed({ sub: 42 }),
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
    signer: (input) => sign('sha256', Buffer.from(input), second.privateKey),
  },
  'a key nobody published': { key: second },
  'an empty signature': { signer: () => Buffer.alloc(0) },
  'a critical extension': { header: { crit: ['x'], x: 1 } },
  'no token of identity': { token: (response) => tokenAnswer(response, undefined) },
  'a token that is none': { token: (response) => tokenAnswer(response, 'hello') },
  'another issuer in the description': { description: { issuer: 'https://evil.example' } },
  'a description without keys': { description: { jwks_uri: undefined } },
  'an error instead of a token': { token: (response) => void response.writeHead(500).end('{}') },
  'no answer at all': { token: () => {} },
  'an answer without end': { token: (response) => void response.end(Buffer.alloc(2_000_000, ' ')) },
  'a page instead of a token': { token: (response) => void response.end('<html>') },
  'a redirect instead of a token': {
    token: (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  },
}

for (const [what, manners] of Object.entries(misbehaviours))
  test(`a provider that gives ${what} signs nobody in`, async (t) => {
    const provider = await start(t)
    Object.assign(provider.manners, manners)

    await assert.rejects(provider.attempt(), SignInRefused)
  })

test('a provider that behaves signs in, with PKCE, a nonce and the exact address', async (t) => {
  const { attempt, told } = await start(t)

  const { identity, url, memory, redirectUri } = await attempt()

  assert.deepEqual([identity.id, identity.name, identity.email], ['ada', 'Ada', 'ada@example.com'])
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
  assert.equal(url.searchParams.get('scope'), 'openid profile email')
  assert.equal(told.form.get('code_verifier'), memory.verifier)
  assert.equal(told.form.get('redirect_uri'), redirectUri)
})

test('a code is taken once, and an answer of another issuer or an error is none', async (t) => {
  const { attempt, make } = await start(t)
  const signIn = make()
  await attempt(signIn, { code: 'same' })

  await assert.rejects(attempt(signIn, { code: 'same' }), SignInRefused)
  await assert.rejects(attempt(signIn, { iss: 'https://evil.example' }), SignInRefused)
  await assert.rejects(attempt(signIn, { error: 'access_denied' }), /cancelled/)
})

test('an address that is not verified is none', async (t) => {
  const { attempt, manners } = await start(t)
  Object.assign(manners, changed({ email_verified: false }))

  assert.equal((await attempt()).identity.email, '')
})

test('a new key is fetched when a token names it, and made-up keys cost one request a minute', async (t) => {
  const { attempt, manners, told, time, make } = await start(t)
  const signIn = make()
  await attempt(signIn)
  await attempt(signIn)
  assert.deepEqual([told.keyRequests, told.descriptions], [1, 1])

  Object.assign(manners, { key: second, published: [first, second] })
  assert.equal((await attempt(signIn)).identity.id, 'ada')
  assert.equal(told.keyRequests, 2)

  Object.assign(manners, { key: newKey('made-up') })
  for (let tries = 0; tries < 5; tries++) await assert.rejects(attempt(signIn), SignInRefused)
  assert.equal(told.keyRequests, 2)
  time.now += 60_000
  for (let tries = 0; tries < 5; tries++) await assert.rejects(attempt(signIn), SignInRefused)
  assert.equal(told.keyRequests, 3)
})

test('signing out leads to the provider where it has a page for that', async (t) => {
  const { make, manners, issuer } = await start(t)
  const person = { id: 'ada', name: '', email: '', groups: [], claims: {} }

  assert.equal(await make().logoutUrl?.(person), `${issuer}/end?client_id=app`)
  manners.description = { end_session_endpoint: undefined }
  assert.equal(await make().logoutUrl?.(person), undefined)
})
