import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createOutbound } from '../../../base/outbound/outbound.ts'
import { OAUTH_PROVIDERS } from '../../../resources/index.ts'
import { faults } from '../../testing/login/openid-provider.ts'
import { ALLOW_EVERYONE, type AllowRules } from '../allow-rules.ts'
import { GrantRevoked, isUnreachable, SignInError } from '../sign-in.ts'
import { OauthSignIn } from './oauth.ts'
import { getProvider, type OauthProviderName, oauthProviders } from './oauth-providers.ts'

const IDP = 'https://idp.adit.localhost'

/** What a provider really sends: its token response and its profile documents. */
interface ProviderFixture {
  readonly token: string | Record<string, unknown>
  readonly about: Record<string, unknown>
}

const openId = { sub: '42', name: 'Ada', email: 'ada@example.com', email_verified: true }
const idToken = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2Vsc2V3aGVyZS5leGFtcGxlIn0.c2ln'
const bearer = { access_token: 'secret-token', token_type: 'bearer', expires_in: 3600 }

const fixtures: Record<OauthProviderName, ProviderFixture> = {
  amazon: {
    token: { ...bearer, refresh_token: 'r' },
    about: { user: { user_id: '42', name: 'Ada', email: 'ada@example.com' } },
  },
  facebook: { token: bearer, about: { user: { id: '42', name: 'Ada', email: 'ada@example.com' } } },
  github: {
    // Not JSON, whatever the request accepts.
    token: 'access_token=secret-token&scope=read%3Aorg%2Cuser%3Aemail&token_type=bearer',
    about: {
      user: { id: 42, login: 'ada', name: 'Ada', email: 'public@example.com' },
      emails: [
        { email: 'old@corp.test', primary: false, verified: true },
        { email: 'ada@example.com', primary: true, verified: true },
      ],
      orgs: [{ login: 'Acme', id: 7 }],
      teams: [{ id: 99, slug: 'core', organization: { login: 'Acme' } }],
    },
  },
  gitlab: { token: { ...bearer, id_token: idToken, created_at: 1 }, about: { user: openId } },
  google: { token: { ...bearer, token_type: 'Bearer', id_token: idToken }, about: { user: openId } },
  linkedin: {
    token: { access_token: 'secret-token', expires_in: 1, id_token: idToken },
    about: { user: openId },
  },
  microsoft: {
    token: { ...bearer, token_type: 'Bearer', id_token: idToken },
    about: {
      user: { id: '42', displayName: 'Ada', mail: 'ceo@corp.test', userPrincipalName: 'ada@example.com' },
    },
  },
  twitch: {
    token: { ...bearer, scope: ['openid', 'user:read:email'], id_token: idToken },
    about: { user: { sub: '42', preferred_username: 'Ada', email: 'ada@example.com', email_verified: true } },
  },
}

async function start(
  t: TestContext,
  name: OauthProviderName,
  {
    fixture = fixtures[name],
    allow = {},
    scopes = [],
    fail = {},
  }: {
    fixture?: ProviderFixture
    allow?: Partial<AllowRules>
    scopes?: string[]
    /** Failures by path. */
    fail?: Record<string, (response: ServerResponse) => void>
  } = {},
) {
  const observed = { form: new URLSearchParams(), authorizations: new Set<string | undefined>() }
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname.slice(1)
    if (fail[path] !== undefined) {
      fail[path](response)
      return
    }
    if (path !== 'token') {
      observed.authorizations.add(request.headers.authorization)
      const profile = fixture.about[path]
      response.writeHead(profile === undefined ? 403 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(profile ?? { message: 'no' }))
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      observed.form = new URLSearchParams(Buffer.concat(chunks).toString())
      const isForm = typeof fixture.token === 'string'
      response.setHeader('content-type', isForm ? 'application/x-www-form-urlencoded' : 'application/json')
      response.end(isForm ? fixture.token : JSON.stringify(fixture.token))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 1000 })
  t.after(async () => {
    await outbound.close()
    server.closeAllConnections()
    server.close()
  })
  const about = Object.fromEntries(
    Object.keys(oauthProviders[name].about).map((part) => [part, `${base}/${part}`]),
  )
  const signIn = new OauthSignIn({
    name,
    provider: getProvider(name, { [name]: { token: `${base}/token`, about } }),
    clientId: 'app',
    clientSecret: 'app-secret',
    scopes,
    parameters: {},
    allow: { ...ALLOW_EVERYONE, ...allow },
    outbound,
    idpUrl: () => IDP,
  })
  const memory = signIn.createMemory()
  const signInMemory = { signInId: 'x', memory }
  const url = new URL(await signIn.begin(signInMemory, 'the-state'))
  const { pathname } = new URL(url.searchParams.get('redirect_uri') ?? '')
  const complete = (parameters: Record<string, string> = { code: 'c' }, path = pathname) =>
    signIn.complete(
      { path, query: new URLSearchParams({ state: 'the-state', ...parameters }), state: 'the-state' },
      signInMemory,
    )
  return { observed, url, memory, complete, signIn }
}

for (const name of OAUTH_PROVIDERS)
  test(`${name} identifies the user`, async (t) => {
    const { observed, url, memory, complete } = await start(t, name)

    const { identity } = await complete({ code: 'c', iss: 'https://accounts.example' })

    assert.deepEqual(identity, { id: '42', name: 'Ada', email: 'ada@example.com', groups: [], claims: {} })
    assert.equal(url.origin + url.pathname, oauthProviders[name].authorize)
    const dedicated = ['github', 'gitlab', 'linkedin'].includes(name)
    const path = dedicated ? `/oauth2/${name}/callback` : '/oauth2/callback'
    assert.equal(url.searchParams.get('redirect_uri'), `${IDP}${path}`)
    assert.equal(observed.form.get('redirect_uri'), `${IDP}${path}`)
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
    assert.equal(observed.form.get('code_verifier'), memory.verifier)
    assert.equal(observed.form.get('client_secret'), 'app-secret')
    assert.deepEqual([...observed.authorizations], ['Bearer secret-token'])
  })

test('unverified emails are ignored', async (t) => {
  const unverified: [OauthProviderName, Record<string, unknown>][] = [
    ['google', { user: { ...openId, email_verified: false } }],
    ['gitlab', { user: { ...openId, email_verified: undefined } }],
    ['twitch', { user: { ...openId, email_verified: 'false' } }],
    ['microsoft', { user: { id: '42', mail: 'ceo@corp.test', userPrincipalName: 'a_b.test#EXT#@c.test' } }],
    [
      'github',
      {
        user: { id: 42, email: 'a@b.test' },
        emails: [{ email: 'a@b.test', primary: true, verified: false }],
      },
    ],
  ]
  for (const [name, about] of unverified) {
    const { complete } = await start(t, name, { fixture: { token: bearer, about } })
    assert.equal((await complete()).identity.email, '', name)
  }
})

const enter = async (
  t: TestContext,
  name: OauthProviderName,
  allow: Partial<AllowRules>,
  about = fixtures[name].about,
) => {
  const { complete } = await start(t, name, { allow, fixture: { token: bearer, about } })
  return complete().then(
    ({ identity }) => (identity.groups.length === 0 ? 'in' : 'in, and told the upstream'),
    (error: unknown) => (error instanceof SignInError ? 'out' : String(error)),
  )
}

test('GitHub teams and organizations admit their members only', async (t) => {
  const github = (groups: string[], about = fixtures.github.about) => enter(t, 'github', { groups }, about)

  for (const group of ['acme', 'acme/core', '99']) assert.equal(await github([group]), 'in', group)
  for (const group of ['acm', 'acme2', 'acme/cor', 'other/core', 'core', '9', '7', '42'])
    assert.equal(await github([group]), 'out', group)
  assert.equal(await github(['other', '99']), 'in')
  assert.equal(await github(['acme'], { user: { id: 42 } }), 'out', 'when GitHub does not tell')
})

test('GitLab groups admit their members only', async (t) => {
  const about = { user: { sub: '1', name: 'Ada', groups: ['Acme', 'acme/core'] } }

  assert.equal(await enter(t, 'gitlab', { groups: ['acme'] }, about), 'in')
  assert.equal(await enter(t, 'gitlab', { groups: ['acme/core'] }, about), 'in')
  assert.equal(await enter(t, 'gitlab', { groups: ['core'] }, about), 'out')
  assert.equal(await enter(t, 'gitlab', { groups: ['acme'] }, { user: { sub: '1' } }), 'out')
})

test('claims of the profile admit the visitors who have them', async (t) => {
  const about = { user: { sub: '1', name: 'Ada', hd: 'acme.test', email: 'x@acme.test' } }

  assert.equal(await enter(t, 'google', { claims: ['hd=acme.test'] }, about), 'in')
  assert.equal(await enter(t, 'google', { claims: ['hd=other.test'] }, about), 'out')
  assert.equal(await enter(t, 'google', { claims: ['email=x@acme.test'] }, about), 'out', 'unverified')
})

test('configured scopes are added to those that identify the user', async (t) => {
  const { url } = await start(t, 'github', { scopes: ['repo', 'read:user'] })

  assert.equal(url.searchParams.get('scope'), 'read:user user:email read:org repo')
})

test('an invalid token and a profile without an id are rejected', async (t) => {
  const invalid: ProviderFixture[] = [
    { token: { error: 'bad_verification_code', error_description: 'x' }, about: fixtures.google.about },
    { token: 'error=bad_verification_code', about: fixtures.google.about },
    { token: '<html>', about: fixtures.google.about },
    { token: '{"access_token":', about: fixtures.google.about },
    { token: '', about: fixtures.google.about },
    { token: { access_token: 5 }, about: fixtures.google.about },
    { token: bearer, about: {} },
    { token: bearer, about: { user: {} } },
    { token: bearer, about: { user: [] } },
  ]
  for (const fixture of invalid) {
    const { complete } = await start(t, 'google', { fixture })
    await assert.rejects(complete(), SignInError, JSON.stringify(fixture))
  }
  const { complete } = await start(t, 'google')
  await assert.rejects(complete({ error: 'access_denied' }), /cancelled/)
})

for (const [name, behave] of Object.entries(faults))
  test(`a provider that ${name} is reported as unavailable, whatever was requested`, async (t) => {
    for (const part of ['token', 'user', 'teams']) {
      const { complete } = await start(t, 'github', { fail: { [part]: behave } })
      await assert.rejects(complete(), isUnreachable, part)
    }
  })

test('provider redirects are not followed, and the sign-in fails', async (t) => {
  for (const part of ['token', 'user']) {
    const requests: string[] = []
    const { complete } = await start(t, 'google', {
      fail: {
        [part]: (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
        elsewhere: (response) => {
          requests.push(part)
          response.end(JSON.stringify({ ...bearer, ...openId }))
        },
      },
    })
    await assert.rejects(complete(), SignInError)
    assert.deepEqual(requests, [])
  }
})

test('a response on the redirect URI of another provider is not redeemed', async (t) => {
  const { complete, observed } = await start(t, 'github')
  for (const path of [
    '/oauth2/callback',
    '/oauth2/gitlab/callback',
    '/oauth2/github/callback/',
    '/oidc/callback/x',
  ])
    await assert.rejects(complete(undefined, path), SignInError, path)
  assert.equal(observed.form.size, 0)
  assert.equal((await complete()).identity.id, '42')
})

const ada = { id: '42', name: 'Ada', email: '', groups: [], claims: {} }

test('tokens are renewed, and their lifetime is read from JSON and from forms', async (t) => {
  for (const token of [
    { access_token: 'new', refresh_token: 'next', expires_in: '3600' },
    'access_token=new&refresh_token=next&expires_in=3600',
  ]) {
    const { signIn, observed } = await start(t, 'github', { fixture: { token, about: {} } })

    const { tokens, lifetimes } = await signIn.renew('current')

    assert.deepEqual(tokens, { access_token: 'new', refresh_token: 'next' })
    assert.ok(lifetimes.access_token! > 3590)
    assert.deepEqual(
      [observed.form.get('grant_type'), observed.form.get('refresh_token')],
      ['refresh_token', 'current'],
    )
  }
})

test('only the word of the provider says that a refresh token is not valid any more', async (t) => {
  const cases: [string | object, boolean][] = [
    [{ error: 'invalid_grant' }, true],
    ['error=bad_refresh_token&error_description=expired', true],
    [{ error: 'invalid_client' }, false],
    [{}, false],
    ['<html>Sorry</html>', false],
  ]
  for (const [token, revoked] of cases) {
    const fixture = { token: token as ProviderFixture['token'], about: {} }
    const { signIn } = await start(t, 'github', { fixture })

    const error: unknown = await signIn.renew('current').catch((error: unknown) => error)

    assert.ok(error instanceof SignInError || error instanceof GrantRevoked)
    assert.equal(error instanceof GrantRevoked, revoked, JSON.stringify(token))
  }
})

test('an identity is confirmed for the same person, and only if the rules still allow it', async (t) => {
  const grant = { tokens: { access_token: 'new' }, claims: undefined, lifetimes: {} }
  const allowed = await start(t, 'google', { allow: { domains: ['example.com'] } })
  const denied = await start(t, 'google', { allow: { domains: ['other.example'] } })

  const identity = await allowed.signIn.identify(grant, ada)

  assert.deepEqual(identity, { id: '42', name: 'Ada', email: 'ada@example.com', groups: [], claims: {} })
  assert.deepEqual([...allowed.observed.authorizations], ['Bearer new'])
  await assert.rejects(allowed.signIn.identify(grant, { ...ada, id: '43' }), GrantRevoked)
  await assert.rejects(denied.signIn.identify(grant, ada), SignInError)
})
