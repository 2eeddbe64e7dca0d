import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createSelfSigned } from '../../certs/index.ts'
import { createSnsKeys } from '../services/sns-keys.ts'
import { startHttpsEdge } from '../testing/https-edge.ts'
import { findDuplicateKey } from './json-keys.ts'

const CERT_URL = 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem'

type Fields = Record<string, unknown>

/** A fake Amazon SNS: a key, its certificate at a URL, and signed messages. */
async function createSender(options: { notBefore?: Date; notAfter?: Date } = {}) {
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'sns.test', ...options })
  const fetched: string[] = []
  const response = { status: 200, text: certificatePem }
  const fetch = async (url: string | URL) => {
    fetched.push(String(url))
    return new Response(response.text, { status: response.status })
  }

  /** Written independently of the code under test: the signed text is spelled out for each type. */
  function signed(fields: Fields, version = '2'): Fields {
    const { Message, MessageId, Subject, SubscribeURL, Timestamp, Token, TopicArn, Type } = fields
    const subject = Subject === undefined ? '' : `Subject\n${Subject}\n`
    const text =
      Type === 'Notification'
        ? `Message\n${Message}\nMessageId\n${MessageId}\n${subject}Timestamp\n${Timestamp}\nTopicArn\n${TopicArn}\nType\n${Type}\n`
        : `Message\n${Message}\nMessageId\n${MessageId}\nSubscribeURL\n${SubscribeURL}\nTimestamp\n${Timestamp}\nToken\n${Token}\nTopicArn\n${TopicArn}\nType\n${Type}\n`
    const hash = version === '1' ? 'sha1' : 'sha256'
    const Signature = sign(hash, Buffer.from(text), privateKeyPem.reveal()).toString('base64')
    return { ...fields, SignatureVersion: version, Signature, SigningCertURL: CERT_URL }
  }

  return { fetch, fetched, response, signed }
}

function notification(overrides: Fields = {}): Fields {
  return {
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
    Message: 'Hello\nworld "grüße"',
    Timestamp: new Date().toISOString(),
    ...overrides,
  }
}

function confirmation(Type: string): Fields {
  return notification({
    Type,
    Token: '2336412f37',
    SubscribeURL: 'https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37',
  })
}

async function start(t: TestContext) {
  const sender = await createSender()
  const harness = await startHttpsEdge(t, undefined, { dependencies: { outbound: { fetch: sender.fetch } } })
  harness.config.update(harness.routeId, { webhook_verification: { provider: 'sns', secret: '' } })
  await harness.config.waitUntilApplied()
  const post = async (body: Fields | string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'content-type': 'text/plain; charset=UTF-8' }
    return (await harness.sendRequest({ method: 'POST', headers, body: text })).status
  }
  return { ...sender, ...harness, post }
}

test('genuine SNS messages of every type pass in both signature versions, and the certificate is fetched once', async (t) => {
  const { signed, post, fetched } = await start(t)

  for (const version of ['1', '2']) {
    assert.equal(await post(signed(notification(), version)), 200, `version ${version}`)
    assert.equal(await post(signed(notification({ Subject: 'My first' }), version)), 200)
    assert.equal(await post(signed(confirmation('SubscriptionConfirmation'), version)), 200)
    assert.equal(await post(signed(confirmation('UnsubscribeConfirmation'), version)), 200)
  }
  const attributes = { a: { Type: 'String', Value: 'x' }, b: { Type: 'String', Value: 'y' } }
  assert.equal(await post({ ...signed(notification()), MessageAttributes: attributes }), 200)
  assert.deepEqual(fetched, [CERT_URL])
})

test('forged and altered SNS messages are rejected', async (t) => {
  const { signed, post, tunnel } = await start(t)
  const otherSender = await createSender()
  const genuine = signed(notification())
  const minutesAgo = (minutes: number) => ({
    Timestamp: new Date(Date.now() - minutes * 60_000).toISOString(),
  })
  const rejected: Record<string, Fields | string> = {
    'by another key': otherSender.signed(notification()),
    'with another message': { ...genuine, Message: 'other' },
    'with another topic': { ...genuine, TopicArn: 'arn:aws:sns:us-west-2:1:Other' },
    'with a subject that was not signed': { ...genuine, Subject: 'other' },
    'with a subject that is no text': { ...genuine, Subject: 7 },
    'with a key twice': JSON.stringify(genuine).replace('{', '{"Message":"evil",'),
    'with a key twice, one escaped': JSON.stringify(genuine).replace('{', '{"\\u004dessage":"evil",'),
    'of another kind': { ...genuine, Type: 'SubscriptionConfirmation' },
    'of no kind': { ...genuine, Type: 'constructor' },
    'in another version': { ...genuine, SignatureVersion: '1' },
    'in an unknown version': { ...genuine, SignatureVersion: '3' },
    'without a signature': { ...genuine, Signature: undefined },
    'without a message': { ...genuine, Message: undefined },
    'too old': signed(notification(minutesAgo(70))),
    'from the future': signed(notification(minutesAgo(-10))),
    'without a time': signed(notification({ Timestamp: 'yesterday' })),
    'that is a list': JSON.stringify([genuine]),
    'that is null': 'null',
    'that is no JSON': 'Message=x',
  }

  for (const [name, body] of Object.entries(rejected)) assert.equal(await post(body), 403, name)
  assert.equal(tunnel.clients.length, 0)
  assert.equal(await post(signed(notification(minutesAgo(50)))), 200, 'a late attempt')
})

test('certificates are fetched from SNS only', async (t) => {
  const { signed, post, fetched } = await start(t)
  const addresses = [
    'http://sns.us-east-1.amazonaws.com/a.pem',
    'https://sns.us-east-1.amazonaws.com.evil.example/a.pem',
    'https://evil.example/sns.us-east-1.amazonaws.com/a.pem',
    'https://sns.us-east-1.amazonaws.com@evil.example/a.pem',
    'https://s3.us-east-1.amazonaws.com/a.pem',
    'https://sns.us-east-1.amazonaws.com:8443/a.pem',
    'https://sns.us-east-1.amazonaws.com/?Action=x&a=.pem',
    'https://sns.us-east-1.amazonaws.com/a/b.pem',
    'https://sns.us-east-1.amazonaws.com/../a.pem',
    'https://sns.us-east-1.amazonaws.com/a.pem#.pem',
    'https://sns.us-east-1.amazonaws.com/a.pem\n',
    'https://SNS.us-east-1.amazonaws.com/a.pem',
    'https://sns.evil.example.amazonaws.com/a.pem',
    'https://127.0.0.1/a.pem',
    '',
  ]

  for (const SigningCertURL of addresses)
    assert.equal(await post({ ...signed(notification()), SigningCertURL }), 403, SigningCertURL)
  assert.deepEqual(fetched, [])
})

test('a missing, unreadable, expired or oversized certificate is rejected', async () => {
  const clock = { now: () => Date.now(), monotonic: () => 0 }
  const past = await createSender({ notAfter: new Date(Date.now() - 86_400_000) })
  const future = await createSender({ notBefore: new Date(Date.now() + 86_400_000 * 30) })
  const missing = await createSender()
  missing.response.status = 404
  const unreadable = await createSender()
  unreadable.response.text = 'hello'
  const huge = await createSender()
  huge.response.text += ' '.repeat(100_000)

  for (const { fetch } of [past, future, missing, unreadable, huge])
    await assert.rejects(createSnsKeys({ fetch, clock })(CERT_URL), /could not be fetched or read/)
})

test('made-up certificate names cost few requests, and keys in use stay cached', async () => {
  const time = { now: Date.now(), monotonic: 0 }
  const clock = { now: () => time.now, monotonic: () => time.monotonic }
  const { fetch, fetched, response } = await createSender()
  const keys = createSnsKeys({ fetch, clock })
  await keys(CERT_URL)
  response.status = 404

  for (let minute = 0; minute < 10; minute++) {
    for (let n = 0; n < 100; n++)
      await assert.rejects(keys(`https://sns.us-east-1.amazonaws.com/made-up-${minute}-${n}.pem`))
    time.now += 60_000
    time.monotonic += 60_000
  }

  assert.ok(fetched.length <= 201, `${fetched.length} requests`)
  await keys(CERT_URL)
  assert.equal(fetched.filter((url) => url === CERT_URL).length, 1)
})

test('a failed certificate fetch is retried after a minute', async () => {
  const time = { now: Date.now() }
  const { fetch, fetched, response } = await createSender()
  const keys = createSnsKeys({ fetch, clock: { now: () => time.now, monotonic: () => 0 } })
  response.status = 503
  await assert.rejects(keys(CERT_URL))
  response.status = 200

  await assert.rejects(keys(CERT_URL))
  time.now += 60_000
  await keys(CERT_URL)

  assert.equal(fetched.length, 2)
})

test('a key is a duplicate only within one object', () => {
  assert.equal(findDuplicateKey('{"a":{"a":[{"a":1},{"a":2}]},"b":"{\\"a\\":1,\\"a\\":2}"}'), undefined)
  assert.equal(findDuplicateKey('{"a":1,"b":{"c" : "x","c":2}}'), 'c')
  assert.equal(findDuplicateKey('{"a":1,"\\u0061":2}'), 'a')
})

test('without a way to fetch certificates the module denies all traffic', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { webhook_verification: { provider: 'sns', secret: '' } })
  await config.waitUntilApplied()

  assert.equal((await sendRequest({ method: 'POST', body: '{}' })).status, 503)
})
