import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync, sign as signAsymmetric } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { HttpsRoute, WEBHOOK_PROVIDERS } from '../../resources/index.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'
import { unsupportedProviders, webhookSchemes } from './webhook-schemes.ts'

const SECRET = Buffer.from('a secret of some length').toString('base64')
const BODY = '{"event":"test","text":"grüße"}'
const FORM = 'b=two&a=one'
const sendgridKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A webhook as its provider sends it. */
interface SignedWebhook {
  headers: Record<string, string>
  body?: string | Buffer
}

type Signer = (sent: {
  body: string
  url: string
  path: string
  now: number
  secret: string
}) => SignedWebhook

const mac = (hash: string, key: string | Buffer, data: string) => createHmac(hash, key).update(data)
const seconds = (now: number) => `${Math.floor(now / 1000)}`

/** Signs the body alone. */
const bodySignature =
  (field: string, hash: string, encoding: 'hex' | 'base64', prefix = ''): Signer =>
  ({ body, secret }) => ({ headers: { [field]: prefix + mac(hash, secret, body).digest(encoding) } })

/** Signs time and body, both in one field. */
const timestamped =
  (field: string, time = 't', signature = 'v1'): Signer =>
  ({ body, secret, now }) => {
    const timestamp = seconds(now)
    const value = mac('sha256', secret, `${timestamp}.${body}`).digest('hex')
    return { headers: { [field]: `${time}=${timestamp},${signature}=${value}` } }
  }

/** Signs version, time and body, with the time in its own field. */
const versioned =
  (field: string, timeField: string, version: string): Signer =>
  ({ body, secret, now }) => {
    const timestamp = seconds(now)
    const value = mac('sha256', secret, `${version}:${timestamp}:${body}`).digest('hex')
    return { headers: { [field]: `${version}=${value}`, [timeField]: timestamp } }
  }

const standardWebhooks =
  (prefix: string): Signer =>
  ({ body, secret, now }) => {
    const timestamp = seconds(now)
    const value = mac('sha256', Buffer.from(secret, 'base64'), `msg_1.${timestamp}.${body}`).digest('base64')
    return {
      headers: {
        [`${prefix}-id`]: 'msg_1',
        [`${prefix}-timestamp`]: timestamp,
        [`${prefix}-signature`]: `v1,b2xk v1,${value}`,
      },
    }
  }

const form =
  (field: string, more: (secret: string, url: string) => Record<string, string> = () => ({})): Signer =>
  ({ url, secret }) => ({
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      [field]: mac('sha1', secret, `${url}aonebtwo`).digest('base64'),
      ...more(secret, url),
    },
    body: FORM,
  })

const meta = bodySignature('X-Hub-Signature-256', 'sha256', 'hex', 'sha256=')

/** How the providers sign, written independently of the table under test. */
const signers: Record<string, Signer> = {
  aftership: bodySignature('Aftership-Hmac-Sha256', 'sha256', 'base64'),
  airship: ({ body, secret, now }) => ({
    headers: {
      'X-UA-Timestamp': seconds(now),
      'X-UA-Signature': mac('sha256', secret, `${seconds(now)}:${body}`).digest('hex'),
      'Content-Encoding': 'gzip',
    },
    body: gzipSync(body),
  }),
  alchemy: bodySignature('X-Alchemy-Signature', 'sha256', 'hex'),
  autodesk: bodySignature('X-Adsk-Signature', 'sha1', 'hex', 'sha1hash='),
  bitbucket: bodySignature('X-Hub-Signature', 'sha256', 'hex', 'sha256='),
  bolt: bodySignature('X-Bolt-Hmac-Sha256', 'sha256', 'base64'),
  box: ({ body, secret, now }) => {
    const timestamp = new Date(now).toISOString()
    return {
      headers: {
        'Box-Delivery-Timestamp': timestamp,
        'Box-Signature-Primary': mac('sha256', secret, body + timestamp).digest('base64'),
      },
    }
  },
  brex: standardWebhooks('Webhook'),
  buildkite: timestamped('X-Buildkite-Signature', 'timestamp', 'signature'),
  calendly: timestamped('Calendly-Webhook-Signature'),
  castle: bodySignature('X-Castle-Signature', 'sha256', 'base64'),
  chargify: bodySignature('X-Chargify-Webhook-Signature-Hmac-Sha-256', 'sha256', 'hex'),
  circleci: bodySignature('Circleci-Signature', 'sha256', 'hex', 'v1='),
  clearbit: bodySignature('X-Request-Signature', 'sha1', 'hex', 'sha1='),
  clerk: standardWebhooks('Svix'),
  coinbase: bodySignature('X-CC-Webhook-Signature', 'sha256', 'hex'),
  contentful: ({ body, secret, now, path }) => {
    const names = 'x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic'
    const fields = `x-contentful-signed-headers:${names};x-contentful-timestamp:${now};x-contentful-topic:a`
    const value = mac('sha256', secret, ['POST', path, fields, body].join('\n')).digest('hex')
    return {
      headers: {
        'X-Contentful-Signature': value,
        'X-Contentful-Signed-Headers': names,
        'X-Contentful-Timestamp': `${now}`,
        'X-Contentful-Topic': 'a',
      },
    }
  },
  docusign: bodySignature('X-DocuSign-Signature-1', 'sha256', 'base64'),
  dropbox: bodySignature('X-Dropbox-Signature', 'sha256', 'hex'),
  facebook_graph_api: meta,
  facebook_messenger: meta,
  frameio: versioned('X-Frameio-Signature', 'X-Frameio-Request-Timestamp', 'v0'),
  github: meta,
  gitlab: ({ secret }) => ({ headers: { 'X-Gitlab-Token': secret } }),
  go1: timestamped('Go1-Signature'),
  graphcms: ({ body, secret, now }) => {
    const signed = JSON.stringify({ Body: body, EnvironmentName: 'master', TimeStamp: now })
    const value = mac('sha256', secret, signed).digest('base64')
    return { headers: { 'Gcms-Signature': `sign=${value}, env=master, t=${now}` } }
  },
  heroku: bodySignature('Heroku-Webhook-Hmac-SHA256', 'sha256', 'base64'),
  hostedhooks: timestamped('HostedHooks-Signature', 't', 's'),
  hubspot: ({ body, secret, now, url }) => ({
    headers: {
      'X-HubSpot-Request-Timestamp': `${now}`,
      'X-HubSpot-Signature-V3': mac('sha256', secret, `POST${url}${body}${now}`).digest('base64'),
    },
  }),
  instagram: meta,
  intercom: bodySignature('X-Hub-Signature', 'sha1', 'hex', 'sha1='),
  jira: bodySignature('X-Hub-Signature', 'sha256', 'hex', 'sha256='),
  linear: bodySignature('Linear-Signature', 'sha256', 'hex'),
  launch_darkly: bodySignature('X-LD-Signature', 'sha256', 'hex'),
  mailchimp: form('X-Mandrill-Signature'),
  mailgun: ({ secret, now }) => {
    const signature = mac('sha256', secret, `${seconds(now)}word`).digest('hex')
    return {
      headers: {},
      body: JSON.stringify({
        signature: { timestamp: seconds(now), token: 'word', signature },
        'event-data': {},
      }),
    }
  },
  microsoft_teams: ({ body, secret }) => ({
    headers: { Authorization: `HMAC ${mac('sha256', Buffer.from(secret, 'base64'), body).digest('base64')}` },
  }),
  modern_treasury: bodySignature('X-Signature', 'sha256', 'hex'),
  mongodb: bodySignature('X-MMS-Signature', 'sha1', 'base64'),
  mux: timestamped('Mux-Signature'),
  orb: ({ body, secret, now }) => {
    const timestamp = new Date(now).toISOString()
    return {
      headers: {
        'X-Orb-Timestamp': timestamp,
        'X-Orb-Signature': `v1=${mac('sha256', secret, `v1:${timestamp}:${body}`).digest('hex')}`,
      },
    }
  },
  orbit: bodySignature('X-Orbit-Signature', 'sha256', 'hex', 'sha256='),
  pagerduty: ({ body, secret }) => ({
    headers: {
      'X-PagerDuty-Signature': `v1=${'0'.repeat(64)},v1=${mac('sha256', secret, body).digest('hex')}`,
    },
  }),
  pinwheel: versioned('X-Pinwheel-Signature', 'X-Timestamp', 'v2'),
  plivo: ({ url, secret }) => ({
    headers: {
      'X-Plivo-Signature-V2-Nonce': '05429567804466091622',
      'X-Plivo-Signature-V2': mac('sha256', secret, `${url}05429567804466091622`).digest('base64'),
    },
  }),
  pusher: bodySignature('X-Pusher-Signature', 'sha256', 'hex'),
  sendgrid: ({ body, now }) => ({
    headers: {
      'X-Twilio-Email-Event-Webhook-Timestamp': seconds(now),
      'X-Twilio-Email-Event-Webhook-Signature': signAsymmetric(
        'sha256',
        Buffer.from(seconds(now) + body),
        sendgridKeys.privateKey,
      ).toString('base64'),
    },
  }),
  sentry: bodySignature('Sentry-Hook-Signature', 'sha256', 'hex'),
  shopify: bodySignature('X-Shopify-Hmac-Sha256', 'sha256', 'base64'),
  signal_sciences: bodySignature('X-SigSci-Signature', 'sha256', 'hex'),
  slack: versioned('X-Slack-Signature', 'X-Slack-Request-Timestamp', 'v0'),
  sonatype: bodySignature('X-Nexus-Webhook-Signature', 'sha1', 'hex'),
  square: ({ body, url, secret }) => ({
    headers: { 'X-Square-HmacSha256-Signature': mac('sha256', secret, url + body).digest('base64') },
  }),
  stripe: timestamped('Stripe-Signature'),
  svix: standardWebhooks('Svix'),
  terraform: bodySignature('X-TFE-Notification-Signature', 'sha512', 'hex'),
  tiktok: timestamped('TikTok-Signature', 't', 's'),
  trendmicro_conformity: bodySignature('X-Conformity-Signature', 'sha256', 'hex'),
  twilio: form('X-Twilio-Signature'),
  twitter: bodySignature('X-Twitter-Webhooks-Signature', 'sha256', 'base64', 'sha256='),
  typeform: bodySignature('Typeform-Signature', 'sha256', 'base64', 'sha256='),
  webex: bodySignature('X-Spark-Signature', 'sha1', 'hex'),
  whatsapp: meta,
  worldline: bodySignature('X-GCS-Signature', 'sha256', 'base64'),
  xero: bodySignature('X-Xero-Signature', 'sha256', 'base64'),
  zendesk: ({ body, secret, now }) => {
    const timestamp = new Date(now).toISOString()
    return {
      headers: {
        'X-Zendesk-Webhook-Signature-Timestamp': timestamp,
        'X-Zendesk-Webhook-Signature': mac('sha256', secret, timestamp + body).digest('base64'),
      },
    }
  },
  zoom: versioned('X-Zm-Signature', 'X-Zm-Request-Timestamp', 'v0'),
}

/** Schemes that do not cover the body: they prove the sender, not the content. */
const BODY_UNSIGNED = new Set(['gitlab', 'mailgun', 'plivo'])
/** Schemes that include a timestamp. */
const TIMED = Object.keys(signers).filter((name) => {
  const sign = (now: number) =>
    JSON.stringify(signers[name]!({ body: BODY, url: '', path: '', now, secret: SECRET }))
  return name !== 'sendgrid' && sign(1e12) !== sign(2e12)
})

function secretFor(provider: string): string {
  if (provider !== 'sendgrid') return SECRET
  return sendgridKeys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}

test('every provider is either supported or listed as unsupported with a reason', () => {
  const providers = [...Object.keys(webhookSchemes), ...Object.keys(unsupportedProviders)].sort()

  assert.deepEqual(providers, [...WEBHOOK_PROVIDERS].sort())
  // SNS signs with a published key and has a test of its own.
  assert.deepEqual([...Object.keys(signers), 'sns'].sort(), Object.keys(webhookSchemes).sort())
  assert.ok(TIMED.length > 20)
})

test('genuine webhooks of every provider pass; forged, altered and stale ones are rejected', async (t) => {
  const { config, edgeId, backendId, sendRequest, tunnel } = await startHttpsEdge(t)
  for (const provider of Object.keys(signers)) {
    config.create(HttpsRoute, {
      edge_id: edgeId,
      match_type: 'exact_path',
      match: `/${provider}`,
      backend: { backend_id: backendId },
      webhook_verification: { provider, secret: secretFor(provider) },
    })
  }
  await config.waitUntilApplied()
  const send = async (
    provider: string,
    change: (sent: SignedWebhook) => SignedWebhook,
    now = Date.now(),
    secret = SECRET,
  ) => {
    const path = `/${provider}`
    const sent = change(signers[provider]!({ body: BODY, path, url: `https://${HOST}${path}`, now, secret }))
    const reply = await sendRequest({ path, method: 'POST', headers: sent.headers, body: sent.body ?? BODY })
    return reply.status
  }
  const rejectedStatus = (provider: string) => (provider === 'xero' ? 401 : 403)

  for (const provider of Object.keys(signers)) {
    assert.equal(await send(provider, (sent) => sent), 200, `${provider}: genuine`)
    const streams = tunnel.clients.length
    // Mailgun's signature is part of the body.
    if (provider !== 'mailgun') {
      const unsigned = await send(provider, ({ body }) => ({ headers: {}, ...(body && { body }) }))
      assert.equal(unsigned, rejectedStatus(provider), `${provider}: unsigned`)
    }
    if (provider !== 'sendgrid') {
      const other = Buffer.from('another secret').toString('base64')
      assert.equal(
        await send(provider, (sent) => sent, Date.now(), other),
        rejectedStatus(provider),
        `${provider}: forged`,
      )
    }
    if (!BODY_UNSIGNED.has(provider)) {
      const changed = await send(provider, ({ headers, body }) => ({
        headers: { ...headers, ...(headers['Content-Encoding'] && { 'Content-Encoding': 'identity' }) },
        body: body === FORM ? `${FORM}&c=three` : `${BODY} `,
      }))
      assert.equal(changed, rejectedStatus(provider), `${provider}: changed`)
    }
    if (TIMED.includes(provider)) {
      assert.equal(
        await send(provider, (sent) => sent, Date.now() - 3_600_000),
        rejectedStatus(provider),
        `${provider}: stale`,
      )
      assert.equal(
        await send(provider, (sent) => sent, Date.now() + 3_600_000),
        rejectedStatus(provider),
        `${provider}: early`,
      )
    }
    assert.equal(tunnel.clients.length, streams, 'the upstream is never connected to')
  }
})

test('a truncated, extended, doubled, altered or empty signature is rejected', async (t) => {
  const { config, edgeId, backendId, sendRequest, tunnel } = await startHttpsEdge(t)
  for (const provider of Object.keys(signers))
    config.create(HttpsRoute, {
      edge_id: edgeId,
      match_type: 'exact_path',
      match: `/${provider}`,
      backend: { backend_id: backendId },
      webhook_verification: { provider, secret: secretFor(provider) },
    })
  await config.waitUntilApplied()
  const corrupt = (value: string) => [
    '',
    value.slice(0, -1),
    `${value}A`,
    `${value}\u00e9`,
    `${value}, ${value}`,
    value.replace(/[0-9A-Za-z]{8}/, '00000000'),
    value.replace(/[A-Za-z0-9+/=]{20,}$/, ''),
  ]
  let attempts = 0

  for (const provider of Object.keys(signers)) {
    const path = `/${provider}`
    const url = `https://${HOST}${path}`
    const sent = signers[provider]!({ body: BODY, path, url, now: Date.now(), secret: SECRET })
    const body = sent.body ?? BODY
    for (const [name, value] of Object.entries(sent.headers)) {
      if (!/signature|token|hmac|authorization|sha256/i.test(name) || /time|nonce|headers/i.test(name))
        continue
      for (const bad of corrupt(value)) {
        // A list of signatures passes when one of them matches, and hexadecimal digits have no case.
        if (bad === value || (bad.startsWith(`${value},`) && /[,=]/.test(value))) continue
        const headers = { ...sent.headers, [name]: bad }
        const { status } = await sendRequest({ path, method: 'POST', headers, body })
        assert.equal(status, provider === 'xero' ? 401 : 403, `${provider} ${name}: ${bad}`)
        attempts++
      }
      const twice = { ...sent.headers, [name]: [value, value] }
      const { status } = await sendRequest({ path, method: 'POST', headers: twice, body })
      assert.equal(status, provider === 'xero' ? 401 : 403, `${provider} with ${name} twice`)
    }
  }
  assert.ok(attempts > 300, `${attempts} attempts`)
  assert.equal(tunnel.clients.length, 0)
})

test('the CRC challenge of X cannot be used to sign a webhook', async (t) => {
  const { config, routeId, sendRequest, tunnel } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'twitter', secret: SECRET } })
  await config.waitUntilApplied()

  for (const event of [BODY, '{}', '[1]', '"x"', 'a b', '12345', 'true', 'a=b']) {
    const challenge = await sendRequest({ path: `/?crc_token=${encodeURIComponent(event)}` })
    const signature = challenge.status === 200 ? JSON.parse(challenge.text).response_token : 'none'
    const headers = { 'x-twitter-webhooks-signature': signature }
    assert.equal((await sendRequest({ method: 'POST', body: event, headers })).status, 403, event)
  }
  assert.equal(tunnel.clients.length, 0)
})

test('a body that the Plivo signature does not cover is rejected', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'plivo', secret: SECRET } })
  await config.waitUntilApplied()
  const headers = {
    'X-Plivo-Signature-V3-Nonce': '1',
    'X-Plivo-Signature-V3': mac('sha256', SECRET, `https://${HOST}/.1`).digest('base64'),
  }

  assert.equal((await sendRequest({ path: '/', headers })).status, 200)
  for (const [method, type] of [
    ['POST', 'application/json'],
    ['PUT', 'application/x-www-form-urlencoded'],
  ] as const) {
    const { status } = await sendRequest({
      path: '/',
      method,
      body: FORM,
      headers: { ...headers, 'content-type': type },
    })
    assert.equal(status, 403, `${method} ${type}`)
  }
})

test('signatures from the providers’ documentation are accepted', async (t) => {
  const clock = { now: () => 0, monotonic: () => performance.now() }
  const { config, routeId, sendRequest } = await startHttpsEdge(t, undefined, { dependencies: { clock } })
  const examples = [
    {
      provider: 'github',
      secret: "It's a Secret to Everybody",
      timestamp: 0,
      body: 'Hello, World!',
      headers: {
        'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      },
    },
    {
      provider: 'slack',
      secret: '8f742231b10e8888abcd99yyyzzz85a5',
      timestamp: 1531420618,
      body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      headers: {
        'x-slack-request-timestamp': '1531420618',
        'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      },
    },
    {
      provider: 'svix',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      timestamp: 1614265330,
      body: '{"test": 2432232314}',
      headers: {
        'svix-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'svix-timestamp': '1614265330',
        'svix-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
    },
  ]

  for (const { provider, secret, timestamp, body, headers } of examples) {
    clock.now = () => timestamp * 1000
    config.update(routeId, { webhook_verification: { provider, secret } })
    await config.waitUntilApplied()
    assert.equal((await sendRequest({ method: 'POST', body, headers })).status, 200, provider)
  }
})

test('a Box webhook passes with either of its two signatures and is rejected without a valid one', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'box', secret: SECRET } })
  await config.waitUntilApplied()
  const timestamp = new Date().toISOString()
  const matching = mac('sha256', SECRET, BODY + timestamp).digest('base64')
  const other = mac('sha256', 'another', BODY + timestamp).digest('base64')
  const status = async (signatures: Record<string, string>) => {
    const headers = { 'Box-Delivery-Timestamp': timestamp, ...signatures }
    return (await sendRequest({ method: 'POST', body: BODY, headers })).status
  }

  assert.equal(await status({ 'Box-Signature-Primary': other, 'Box-Signature-Secondary': matching }), 200)
  assert.equal(await status({ 'Box-Signature-Secondary': matching }), 200)
  assert.equal(await status({ 'Box-Signature-Primary': other, 'Box-Signature-Secondary': other }), 403)
  assert.equal(await status({ 'Box-Signature-Primary': '', 'Box-Signature-Secondary': '' }), 403)
})

test('Plivo version 3 covers the query and the form, in any order', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'plivo', secret: SECRET } })
  await config.waitUntilApplied()
  const nonce = '12345'
  const status = async (path: string, signed: string, body?: string, field = 'X-Plivo-Signature-V3') => {
    const headers = {
      'X-Plivo-Signature-V3-Nonce': nonce,
      [field]: `b2xk,${mac('sha256', SECRET, `https://${HOST}${signed}.${nonce}`).digest('base64')}`,
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    }
    return (
      await sendRequest({ path, method: body === undefined ? 'GET' : 'POST', headers, body: body ?? '' })
    ).status
  }

  assert.equal(await status('/answer', '/answer'), 200)
  assert.equal(await status('/answer?b=2&a=x%20y&a=1', '/answer?a=1&a=x y&b=2'), 200)
  assert.equal(await status('/answer', '/answer?aonebtwo', FORM), 200)
  assert.equal(await status('/answer?z=1', '/answer?z=1.aonebtwo', FORM, 'X-Plivo-Signature-Ma-V3'), 200)
  assert.equal(await status('/answer?z=2', '/answer?z=1.aonebtwo', FORM), 403)
  assert.equal(await status('/answer?z=1', '/answer?z=1.aonebtwo', `${FORM}&c=three`), 403)
})

test('the edge answers challenges, signed ones only with a valid signature', async (t) => {
  const { config, routeId, sendRequest, tunnel } = await startHttpsEdge(t)
  const selectProvider = async (provider: string) => {
    config.update(routeId, { webhook_verification: { provider, secret: SECRET } })
    await config.waitUntilApplied()
  }
  const signed = (provider: string, body: string) => ({
    method: 'POST',
    body,
    ...signers[provider]!({ body, url: '', path: '', now: Date.now(), secret: SECRET }),
  })

  await selectProvider('dropbox')
  const dropbox = await sendRequest({ path: '/?challenge=abc' })
  const script = await sendRequest({ path: '/?challenge=%3Cscript%3E' })
  await selectProvider('whatsapp')
  const whatsapp = await sendRequest({
    path: '/?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=x',
  })
  await selectProvider('twitter')
  const twitter = await sendRequest({ path: '/?crc_token=abc' })
  await selectProvider('slack')
  const slack = await sendRequest(signed('slack', '{"type":"url_verification","challenge":"3eZbrw1aB"}'))
  const forged = await sendRequest({
    method: 'POST',
    body: '{"type":"url_verification","challenge":"3eZbrw1aB"}',
  })
  await selectProvider('zoom')
  const zoom = await sendRequest(
    signed('zoom', '{"event":"endpoint.url_validation","payload":{"plainToken":"q9ibPhGeRZ6ayx5WTrXjRw"}}'),
  )

  assert.deepEqual([dropbox.status, dropbox.text, script.status], [200, 'abc', 403])
  assert.deepEqual([whatsapp.status, whatsapp.text], [200, '1158201444'])
  const token = createHmac('sha256', SECRET).update('abc').digest('base64')
  assert.deepEqual(JSON.parse(twitter.text), { response_token: `sha256=${token}` })
  assert.deepEqual([slack.text, forged.status], ['3eZbrw1aB', 403])
  assert.equal(
    JSON.parse(zoom.text).encryptedToken,
    createHmac('sha256', SECRET).update('q9ibPhGeRZ6ayx5WTrXjRw').digest('hex'),
  )
  assert.equal(tunnel.clients.length, 0)
})

test('a chunked body is buffered, verified and forwarded in full; an oversized one is rejected', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'shopify', secret: SECRET } })
  await config.waitUntilApplied()
  const body = 'x'.repeat(300_000)
  const signature = createHmac('sha256', SECRET).update(body).digest('base64')

  const chunked = await sendRequest({
    method: 'POST',
    body,
    headers: { 'x-shopify-hmac-sha256': signature, 'transfer-encoding': 'chunked', expect: '100-continue' },
  })
  const large = await sendRequest({ method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) })
  const largeInChunks = await sendRequest({
    method: 'POST',
    body: 'x'.repeat(1024 * 1024 + 1),
    headers: { 'transfer-encoding': 'chunked' },
  })

  assert.equal(chunked.status, 200)
  assert.equal(
    createHash('sha1').update(JSON.parse(chunked.text).body).digest('hex'),
    createHash('sha1').update(body).digest('hex'),
  )
  assert.deepEqual([large.status, largeInChunks.status], [413, 413])
})
