import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { KeyGenerator } from '../../x509/keys.ts'
import { AcmeAccount } from './rfc8555.ts'
import { AcmeRejected, AcmeUnavailable } from './transport.ts'

const ORIGIN = 'https://ca.test'
const DIRECTORY = {
  newNonce: `${ORIGIN}/nonce`,
  newAccount: `${ORIGIN}/account`,
  newOrder: `${ORIGIN}/order`,
}
const PROBLEM = 'urn:ietf:params:acme:error:'

type Respond = (method: string, body: string) => Response

const badNonce = () =>
  Response.json({ type: `${PROBLEM}badNonce` }, { status: 400, headers: { 'replay-nonce': 'next' } })

test('a request is a JWS that its own key verifies, and a stale nonce is replaced by the one in the response', async () => {
  const bodies: string[] = []
  const { account } = await startAccount({
    '/account': (_method, body) => {
      bodies.push(body)
      return bodies.length === 1
        ? badNonce()
        : Response.json({}, { status: 201, headers: { location: `${ORIGIN}/account/1` } })
    },
  })

  assert.equal(await account.register(['mailto:ops@example.com']), `${ORIGIN}/account/1`)

  const [first, second] = bodies.map((body) => JSON.parse(body))
  const decode = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())
  const { jwk, ...header } = decode(second.protected)
  assert.deepEqual(header, { alg: 'ES256', nonce: 'next', url: DIRECTORY.newAccount })
  assert.equal(decode(first.protected).nonce, 'first')
  assert.deepEqual(decode(second.payload), {
    termsOfServiceAgreed: true,
    contact: ['mailto:ops@example.com'],
  })
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const signed = Buffer.from(`${second.protected}.${second.payload}`)
  const signature = Buffer.from(second.signature, 'base64url')
  assert.ok(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature))
})

test('an authority that rejects every nonce is asked a bounded number of times', async () => {
  const { account, requests } = await startAccount({ '/order': badNonce })

  await assert.rejects(account.newOrder({}), (error) => {
    return error instanceof AcmeRejected && error.type === 'badNonce'
  })

  assert.equal(requests.filter((request) => request === 'POST /order').length, 31)
})

for (const [name, responses] of Object.entries<Record<string, Respond>>({
  'a redirect': { '/directory': () => new Response(null, { status: 302, headers: { location: '/' } }) },
  'a page as its directory': { '/directory': () => new Response('<html>') },
  'broken JSON': {
    '/directory': () => new Response('{', { headers: { 'content-type': 'application/json' } }),
  },
  'no nonce': { '/nonce': () => new Response(null, { status: 204 }) },
  'an order without a location': { '/order': () => Response.json({}, { status: 201 }) },
  'a page as an order': { '/order': () => new Response('<html>', { headers: { location: ORIGIN } }) },
}))
  test(`an authority that answers with ${name} is unavailable`, async () => {
    const { account } = await startAccount(responses)

    await assert.rejects(account.newOrder({}), AcmeUnavailable)
  })

/** Creates an unregistered account at an authority that answers these paths so. */
async function startAccount(responses: Record<string, Respond>) {
  const requests: string[] = []
  const all: Record<string, Respond> = {
    '/directory': () => Response.json(DIRECTORY),
    '/nonce': () => new Response(null, { headers: { 'replay-nonce': 'first' } }),
    ...responses,
  }
  const fetch = async (url: string | URL, init?: { method?: string; body?: unknown }) => {
    const { pathname } = new URL(url)
    const method = init?.method ?? 'GET'
    requests.push(`${method} ${pathname}`)
    return all[pathname]!(method, String(init?.body ?? ''))
  }
  const key = await new KeyGenerator().generate('ecdsa')
  return { account: new AcmeAccount({ fetch } as never, `${ORIGIN}/directory`, key), requests }
}
