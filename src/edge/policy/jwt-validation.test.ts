import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generateKeyPair } from 'jose'
import { startHttp } from '../../../test/support/local-server.ts'
import { bearer, createTokenIssuer } from '../testing/login/token-issuer.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

/** An issuer that publishes its key. */
async function startIssuer(t: TestContext) {
  const state = { fetches: 0, offline: false }
  const port = await startHttp(t, async (request, response) => {
    state.fetches++
    if (state.offline) response.statusCode = 503
    response.end(JSON.stringify(request.url === '/keys' ? keySet : { jwks_uri: `${url}/keys` }))
  })
  const { url, keySet, sign } = await createTokenIssuer(`http://127.0.0.1:${port}`)
  return { url, sign, state }
}

function policyOf(issuer: string, changes: object = {}, algorithms = ['ES256']) {
  return JSON.stringify({
    on_http_request: [
      {
        actions: [
          {
            type: 'jwt-validation',
            config: {
              issuer: { allow_list: [{ value: issuer }] },
              audience: { allow_list: [{ value: 'other' }, { value: 'shop' }] },
              http: { tokens: [{ type: 'jwt', method: 'header', name: 'Authorization', prefix: 'Bearer ' }] },
              jws: {
                allowed_algorithms: algorithms,
                keys: { sources: { additional_jkus: [`${issuer}/keys`] } },
              },
              ...changes,
            },
          },
          {
            type: 'custom-response',
            config: { body: 'hello ${actions.ngrok.jwt_validation.tokens[0].payload.sub}' },
          },
        ],
      },
    ],
  })
}

const dependencies = { outbound: { fetch: (url: string | URL) => fetch(url) } }

for (const version of HTTP_VERSIONS)
  test(`jwt-validation admits valid tokens and says why others are refused (${version})`, async (t) => {
    const { url, sign, state } = await startIssuer(t)
    const { privateKey: foreign } = await generateKeyPair('ES256')
    const { ask } = await startPolicyEndpoint(t, policyOf(url), { dependencies })
    const past = Math.floor(Date.now() / 1000) - 3600
    const refused = {
      'it has expired': await sign({ exp: past }),
      'its claim "aud" is not accepted here': await sign({ aud: 'elsewhere' }),
      'its issuer is not accepted here': await sign({ iss: `${url}/` }),
      'its signature is not valid': await sign({}, {}, foreign),
      'its key is unknown': await sign({}, { kid: 'two' }),
      'it is not a signed JSON Web Token': 'nonsense',
    }

    const admitted = await ask(bearer(await sign()), version)
    const without = await ask({}, version)

    assert.equal(admitted.text, 'hello ann')
    assert.deepEqual([without.status, without.headers['adit-error-code']], [401, 'ERR_ADIT_3401'])
    for (const [reason, token] of Object.entries(refused)) {
      const { status, text } = await ask(bearer(token), version)
      assert.equal(status, 403, reason)
      assert.ok(
        text.includes(reason.replaceAll('"', '&quot;')) || text.includes(reason),
        `${reason}: ${text}`,
      )
    }
    assert.equal(state.fetches, 1, 'the keys are fetched once')
  })

test('without key sets the configuration of the issuer names its keys', async (t) => {
  const { url, sign } = await startIssuer(t)
  const { ask } = await startPolicyEndpoint(t, policyOf(url, { jws: { allowed_algorithms: ['ES256'] } }), {
    dependencies,
  })

  assert.equal((await ask(bearer(await sign()))).text, 'hello ann')
})

test('algorithms and types of tokens are limited to those that the policy names', async (t) => {
  const { url, sign } = await startIssuer(t)
  const tokens = [{ type: 'at+jwt', method: 'header', name: 'x-token' }]
  const typed = await startPolicyEndpoint(t, policyOf(url, { http: { tokens } }), { dependencies })
  const other = await startPolicyEndpoint(t, policyOf(url, {}, ['RS256']), { dependencies })

  const statuses = [
    await typed.ask({ headers: { 'X-Token': await sign({}, { typ: 'at+jwt' }) } }),
    await typed.ask({ headers: { 'X-Token': await sign() } }),
    await other.ask(bearer(await sign())),
  ].map(({ status }) => status)

  assert.deepEqual(statuses, [200, 403, 403])
})

test('tokens are read from forms and JSON, and all of them are required', async (t) => {
  const { url, sign } = await startIssuer(t)
  const tokens = [
    { type: 'jwt', method: 'body', name: 'Token' },
    { type: 'jwt', method: 'header', name: 'x-token' },
  ]
  const { ask } = await startPolicyEndpoint(t, policyOf(url, { http: { tokens } }), { dependencies })
  const token = await sign()
  const post = (type: string, body: string, headers: object = { 'x-token': token }) =>
    ask({ method: 'POST', body, headers: { 'content-type': type, ...headers } })

  const statuses = [
    await post('application/json', JSON.stringify({ token })),
    await post('application/x-www-form-urlencoded', `a=b&token=${token}`),
    await post('text/plain', token),
    await post('application/json', JSON.stringify({ token }), {}),
    await ask({ headers: { 'x-token': token } }),
  ].map(({ status }) => status)

  assert.deepEqual(statuses, [200, 200, 401, 401, 401])
})

test('an issuer that is offline is asked once in a while, and requests are refused', async (t) => {
  const { url, sign, state } = await startIssuer(t)
  state.offline = true
  const { ask } = await startPolicyEndpoint(t, policyOf(url), { dependencies })

  const first = await ask(bearer(await sign()))
  const second = await ask(bearer(await sign()))

  assert.deepEqual([first.status, second.status, state.fetches], [403, 403, 1])
  assert.match(first.text, /the keys of its issuer cannot be read/)
})

test('a token has one spelling: padding, the other alphabet and spare bits are refused', async (t) => {
  const { url, sign } = await startIssuer(t)
  const { ask } = await startPolicyEndpoint(t, policyOf(url), { dependencies })
  const token = await sign()
  const [header, payload, signature] = token.split('.') as [string, string, string]
  // 64 bytes leave four spare bits in the last character.
  const last = String.fromCharCode(signature.charCodeAt(85) + 1)
  const spellings = [
    `${header}.${payload}.${signature}==`,
    `${header}==.${payload}.${signature}`,
    `${header}.${payload}.${signature.slice(0, 85)}${last}`,
    `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`,
    `${header}.${payload}.${signature} `.replace(' ', '%20'),
    `${token}.`,
  ]

  const statuses = await Promise.all(spellings.map(async (spelling) => (await ask(bearer(spelling))).status))

  assert.deepEqual(
    statuses,
    spellings.map(() => 403),
  )
  assert.equal((await ask(bearer(token))).status, 200)
})
