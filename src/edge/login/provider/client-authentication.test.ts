import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { type ProviderBehaviour, startOpenidProvider } from '../../testing/login/openid-provider.ts'
import { SignInError } from '../sign-in.ts'

const post = 'client_secret_post'
const basic = 'client_secret_basic'
const announced = { description: { token_endpoint_auth_methods_supported: [basic, post] } }

type Client = NonNullable<Parameters<Awaited<ReturnType<typeof startOpenidProvider>>['createSignIn']>[2]>

/** One application at a provider, which signs people in as often as it is asked to. */
async function start(
  t: Parameters<typeof startOpenidProvider>[0],
  behaviour: Partial<ProviderBehaviour>,
  client: Client = {},
) {
  const { observed, attempt, createSignIn, issuer, ...provider } = await startOpenidProvider(t)
  Object.assign(provider.behaviour, behaviour)
  const application = createSignIn(issuer, {}, client)
  return {
    application,
    behaviour: provider.behaviour,
    observed,
    /** Signs in; returns who that is or how it failed, and the methods that were tried. */
    async signIn() {
      observed.methods.length = 0
      const result = await attempt(application).then(
        ({ identity }) => identity.id,
        (error: unknown) => (error instanceof SignInError ? error.failure : String(error)),
      )
      return [result, ...observed.methods]
    },
  }
}

/** A rejection as some providers send it. */
const respondWith = (status: number, body: object | undefined, fields: Record<string, string> = {}) => ({
  rejectClient(response: ServerResponse) {
    response.writeHead(status, fields)
    response.end(body && JSON.stringify(body))
  },
})
const rejections: Record<string, Partial<ProviderBehaviour>> = {
  'status 401': {},
  'status 400': respondWith(400, { error: 'invalid_client' }),
  'a challenge alone': respondWith(401, undefined, { 'www-authenticate': 'Basic realm="idp"' }),
  'a challenge and an error': respondWith(
    401,
    { error: 'invalid_client' },
    { 'www-authenticate': 'Basic realm="idp"' },
  ),
}

for (const [title, rejection] of Object.entries(rejections))
  test(`the other method is used once the provider has rejected the first one with ${title}, and remembered`, async (t) => {
    const { signIn, application } = await start(t, { ...announced, ...rejection, registered: basic })

    assert.deepEqual(await signIn(), ['ada', post, basic])
    assert.deepEqual(await signIn(), ['ada', basic])

    const identity = { id: 'ada', name: '', email: '', groups: [], claims: {} }
    assert.ok(await application.renew('refresh', identity))
  })

test('a provider that announces nothing gets HTTP Basic first', async (t) => {
  const { signIn } = await start(t, { registered: post })

  assert.deepEqual(await signIn(), ['ada', basic, post])
  assert.deepEqual(await signIn(), ['ada', post])
})

test('a refresh token is redeemed with the other method too', async (t) => {
  const { application, observed } = await start(t, { ...announced, registered: basic })

  await application.renew('refresh', { id: 'ada', name: '', email: '', groups: [], claims: {} })

  assert.deepEqual(observed.methods, [post, basic])
})

test('a wrong secret costs two requests a sign-in, and nothing is remembered', async (t) => {
  const { signIn, behaviour } = await start(t, announced, { clientSecret: 'wrong' })

  assert.deepEqual(await signIn(), ['client_rejected', post, basic])
  assert.deepEqual(await signIn(), ['client_rejected', post, basic])
  behaviour.registered = basic
  assert.deepEqual(await signIn(), ['client_rejected', post, basic])
})

test('a provider whose rejection uses up the code rejects the client, and gets the right method next time', async (t) => {
  const { signIn } = await start(t, { ...announced, registered: basic, usesUpCodes: true })

  assert.deepEqual(await signIn(), ['client_rejected', post, basic])
  assert.deepEqual(await signIn(), ['ada', basic])
})

test('a rejected code is no reason to try another method', async (t) => {
  const rejectCode = (response: ServerResponse) => {
    response.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' }))
  }
  const { signIn } = await start(t, { ...announced, token: rejectCode })

  assert.deepEqual(await signIn(), ['code_rejected', post])
})

test('the method of a setting is the only one', async (t) => {
  const { signIn, behaviour } = await start(t, announced, { tokenAuthMethod: basic })

  assert.deepEqual(await signIn(), ['ada', basic])
  behaviour.registered = post
  assert.deepEqual(await signIn(), ['client_rejected', basic])
})

test('a public client sends its id alone, whether it has no secret or a setting says so', async (t) => {
  for (const client of [{ clientSecret: '' }, { tokenAuthMethod: 'none' }] as const) {
    const { signIn, observed } = await start(t, { ...announced, registered: 'none' }, client)

    assert.deepEqual(await signIn(), ['ada', 'none'])
    assert.equal(observed.form.get('client_id'), 'app')
    assert.ok(observed.form.get('code_verifier'), 'PKCE stands for the secret')
  }
})
