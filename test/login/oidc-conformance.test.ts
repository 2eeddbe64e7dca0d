import assert from 'node:assert/strict'
import { createHmac, sign } from 'node:crypto'
import { test } from 'node:test'
import { SignInError } from '../../src/edge/login/sign-in.ts'
import {
  createSigningKey,
  firstKey,
  type ProviderBehaviour,
  secondKey,
  startOpenidProvider as start,
} from '../../src/edge/testing/login/openid-provider.ts'

/*
 * The cases of the OpenID Foundation's conformance plan for relying parties, under the names of the plan, as far as they
 * concern a relying party with the code flow, discovery and a client secret. The other cases do not apply:
 *
 * rp-response_type-id_token, -id_token+token, -code+id_token, -code+token, -code+id_token+token, rp-response_mode-form_post,
 * rp-id_token-bad-at_hash, -bad-c_hash, rp-nonce-unless-code-flow: implicit and hybrid flow, which are not offered.
 * rp-token_endpoint-client_secret_jwt, -private_key_jwt, rp-key-rotation-rp-sign-key: the module has a client secret and no key.
 * rp-id_token-sig+enc, rp-userinfo-enc, rp-userinfo-sig+enc, rp-key-rotation-rp-enc-key, rp-key-rotation-op-enc-key: no
 * encryption key is registered, so a provider has nothing to encrypt for.
 * rp-userinfo-sig: signed responses are sent only to clients that register for them.
 * rp-userinfo-bearer-body: the alternative to rp-userinfo-bearer-header, one of which is required.
 * rp-discovery-webfinger-url, -webfinger-acct, -webfinger-unknown-member, -webfinger-http-href, rp-self-issued: the owner of a
 * route names its issuer, visitors do not choose one.
 * rp-registration-dynamic, -uses-https-endpoints, -well-formed-jwk: the owner registers the client at the provider.
 * rp-request_uri-unsigned, -sig, -enc, -sig+enc, rp-claims_request-id_token, -userinfo: optional request parameters, not used.
 * rp-claims-aggregated, -distributed: optional claim types, not used.
 * rp-support-3rd-party-init-login: sign-ins begin at the page itself.
 * rp-frontchannel-*, rp-sess-mgmt-*: of log-outs that a provider begins, back-channel logout is offered; the cases of
 * rp-backchannel-* are in src/edge/login/oidc/backchannel-logout.test.ts.
 */

type Provider = Awaited<ReturnType<typeof start>>
type SignedIn = Awaited<ReturnType<Provider['attempt']>>

interface Case {
  /** What the plan requires of the relying party. */
  readonly requirement: string
  /** How the provider of the case behaves. */
  readonly provider?: Partial<ProviderBehaviour>
  readonly outcome: 'accepts' | 'rejects'
  /** Further assertions after an accepted sign-in. */
  check?(provider: Provider, signedIn: SignedIn): unknown
}

const ellipticKey = createSigningKey('elliptic', 'ES256')
const claims = (change: Record<string, unknown>): Partial<ProviderBehaviour> => ({
  claims: (right) => ({ ...right, ...change }),
})
/** An ID token without the claims of `profile` and `email`, as specified for the code flow. */
const bareToken = claims({ name: undefined, email: undefined })
const withMethods = (...methods: string[]): Partial<ProviderBehaviour> => ({
  description: { token_endpoint_auth_methods_supported: methods },
})
const ecdsa: Partial<ProviderBehaviour> = {
  description: { id_token_signing_alg_values_supported: ['RS256', 'ES256'] },
  key: ellipticKey,
  published: [firstKey, ellipticKey],
}

const cases: Record<string, Case> = {
  'rp-response_type-code': {
    requirement: 'requests response_type=code and redeems the code',
    outcome: 'accepts',
    check({ observed }, { url }) {
      assert.equal(url.searchParams.get('response_type'), 'code')
      assert.equal(observed.form.get('grant_type'), 'authorization_code')
      assert.match(observed.form.get('code') ?? '', /^code-/)
    },
  },
  'rp-scope-openid': {
    requirement: 'asks for the scope openid',
    outcome: 'accepts',
    check: (_, { url }) => assert.ok(url.searchParams.get('scope')?.split(' ').includes('openid')),
  },
  'rp-scope-userinfo-claims': {
    requirement: 'asks for claims by scope and gets them from the UserInfo endpoint or the ID token',
    provider: bareToken,
    outcome: 'accepts',
    check(_, { url, identity }) {
      assert.equal(url.searchParams.get('scope'), 'openid profile email')
      assert.deepEqual([identity.name, identity.email], ['Ada', 'ada@example.com'])
    },
  },
  'rp-nonce-invalid': {
    requirement: 'rejects an ID token whose nonce is not the one sent',
    provider: claims({ nonce: 'invalid' }),
    outcome: 'rejects',
  },
  'rp-token_endpoint-client_secret_basic': {
    requirement: 'authenticates with HTTP Basic',
    provider: withMethods('client_secret_basic'),
    outcome: 'accepts',
    check({ observed }) {
      const expected = `Basic ${Buffer.from('app:app-secret').toString('base64')}`
      // RFC 6749 section 2.3.1: both parts are form-encoded first.
      assert.equal(decodeURIComponent(decodedBasic(observed.tokenAuthorization)), decodedBasic(expected))
      assert.equal(observed.form.get('client_secret'), null)
    },
  },
  'rp-token_endpoint-client_secret_basic, by default': {
    requirement: 'authenticates with HTTP Basic where the provider lists no method',
    outcome: 'accepts',
    check: ({ observed }) => assert.match(observed.tokenAuthorization ?? '', /^Basic /),
  },
  'rp-token_endpoint-client_secret_post': {
    requirement: 'authenticates in the form',
    provider: withMethods('private_key_jwt', 'client_secret_post'),
    outcome: 'accepts',
    check({ observed }) {
      assert.deepEqual(
        [observed.form.get('client_id'), observed.form.get('client_secret'), observed.tokenAuthorization],
        ['app', 'app-secret', undefined],
      )
    },
  },
  'rp-id_token-sig-rs256': { requirement: 'accepts a token signed with RS256', outcome: 'accepts' },
  'rp-id_token-sig-es256': {
    requirement: 'accepts a token signed with ES256',
    provider: ecdsa,
    outcome: 'accepts',
  },
  'rp-id_token-sig-hs256': {
    requirement:
      'may accept a token signed with HS256, and rejects it here: every holder of the secret could sign',
    provider: {
      header: { alg: 'HS256', kid: undefined },
      signer: (input) => createHmac('sha256', 'app-secret').update(input).digest(),
    },
    outcome: 'rejects',
  },
  'rp-id_token-sig-none': {
    requirement: 'may accept an unsigned token of the code flow, and rejects it here',
    provider: { header: { alg: 'none', kid: undefined }, signer: () => Buffer.alloc(0) },
    outcome: 'rejects',
  },
  'rp-id_token-bad-sig-rs256': {
    requirement: 'rejects a token whose RS256 signature is not valid',
    provider: { signer: (input) => sign('sha256', Buffer.from(`${input}x`), firstKey.privateKey) },
    outcome: 'rejects',
  },
  'rp-id_token-bad-sig-es256': {
    requirement: 'rejects a token whose ES256 signature is not valid',
    provider: { ...ecdsa, signer: () => Buffer.alloc(64, 1) },
    outcome: 'rejects',
  },
  'rp-id_token-bad-sig-hs256': {
    requirement: 'rejects a token whose HS256 signature is not valid',
    provider: { header: { alg: 'HS256' }, signer: () => Buffer.alloc(32, 1) },
    outcome: 'rejects',
  },
  'rp-id_token-issuer-mismatch': {
    requirement: 'rejects a token whose iss is not the issuer',
    provider: claims({ iss: 'https://example.org/' }),
    outcome: 'rejects',
  },
  'rp-id_token-sub': {
    requirement: 'rejects a token without sub',
    provider: claims({ sub: undefined }),
    outcome: 'rejects',
  },
  'rp-id_token-aud': {
    requirement: 'rejects a token whose aud is not the client id',
    provider: claims({ aud: 'https://example.org/' }),
    outcome: 'rejects',
  },
  'rp-id_token-aud, absent': {
    requirement: 'rejects a token without aud',
    provider: claims({ aud: undefined }),
    outcome: 'rejects',
  },
  'rp-id_token-iat': {
    requirement: 'rejects a token without iat',
    provider: claims({ iat: undefined }),
    outcome: 'rejects',
  },
  'rp-id_token-kid-absent-single-jwks': {
    requirement: 'accepts a token without kid if the provider publishes one key',
    provider: { header: { kid: undefined } },
    outcome: 'accepts',
  },
  'rp-id_token-kid-absent-multiple-jwks': {
    requirement: 'rejects a token without kid if several keys fit (it may also try them all)',
    provider: { header: { kid: undefined }, published: [firstKey, secondKey] },
    outcome: 'rejects',
  },
  'rp-userinfo-bearer-header': {
    requirement: 'sends the access token to the UserInfo endpoint as a bearer token in the head',
    provider: bareToken,
    outcome: 'accepts',
    check: ({ observed }) =>
      assert.deepEqual(
        observed.userinfo.map(({ authorization }) => authorization),
        ['Bearer x'],
      ),
  },
  'rp-userinfo-not-query': {
    requirement: 'sends no access token in the query',
    provider: bareToken,
    outcome: 'accepts',
    check: ({ observed }) =>
      assert.deepEqual(
        observed.userinfo.map(({ url }) => url),
        ['/userinfo'],
      ),
  },
  'rp-userinfo-bad-sub-claim': {
    requirement: 'rejects what the UserInfo endpoint says of another sub than that of the ID token',
    provider: { ...bareToken, userinfo: { sub: 'eve', email: 'ada@example.com' } },
    outcome: 'rejects',
  },
  'rp-userinfo-bad-sub-claim, absent': {
    requirement: 'rejects what the UserInfo endpoint says without a sub',
    provider: { ...bareToken, userinfo: { email: 'ada@example.com' } },
    outcome: 'rejects',
  },
  'rp-discovery-openid-configuration': {
    requirement: 'uses the endpoints of /.well-known/openid-configuration',
    outcome: 'accepts',
    check({ observed, issuer }, { url }) {
      assert.equal(`${url.origin}${url.pathname}`, `${issuer}/auth`)
      assert.equal(observed.descriptions, 1)
    },
  },
  'rp-discovery-jwks_uri-keys': {
    requirement: 'uses the keys at jwks_uri',
    outcome: 'accepts',
    check: ({ observed }) => assert.equal(observed.keyRequests, 1),
  },
  'rp-discovery-issuer-not-matching-config': {
    requirement: 'rejects a configuration whose issuer is another than the one asked',
    provider: { description: { issuer: 'https://example.org/' } },
    outcome: 'rejects',
  },
}

function decodedBasic(authorization = ''): string {
  return Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString()
}

for (const [name, { requirement, provider: manners = {}, outcome, check }] of Object.entries(cases))
  test(`${name}: the relying party ${requirement}`, async (t) => {
    const provider = await start(t)
    Object.assign(provider.behaviour, manners)

    if (outcome === 'rejects') {
      await assert.rejects(provider.attempt(), SignInError)
      return
    }
    const signedIn = await provider.attempt()
    assert.equal(signedIn.identity.id, 'ada')
    check?.(provider, signedIn)
  })

for (const [name, published] of Object.entries({
  'rp-key-rotation-op-sign-key': [secondKey],
  'rp-key-rotation-op-sign-key, with the old key still published': [firstKey, secondKey],
}))
  test(`${name}: the relying party fetches the new key and accepts a token signed with it`, async (t) => {
    const { behaviour, attempt, createSignIn, observed } = await start(t)
    const signIn = createSignIn()
    await attempt(signIn)

    Object.assign(behaviour, { key: secondKey, published })

    assert.equal((await attempt(signIn)).identity.id, 'ada')
    assert.equal(observed.keyRequests, 2)
  })

test('rp-init-logout: the relying party redirects to the end_session_endpoint', async (t) => {
  const { createSignIn, attempt, issuer } = await start(t)
  const { identity, grant } = await attempt()

  const url = new URL(
    (await createSignIn().logoutUrl?.(identity, { idToken: grant.logoutHint, state: 'back' })) ?? '',
  )

  assert.equal(`${url.origin}${url.pathname}`, `${issuer}/end`)
  assert.equal(url.searchParams.get('client_id'), 'app')
  assert.equal(url.searchParams.get('id_token_hint'), grant.tokens.identity_token)
})
