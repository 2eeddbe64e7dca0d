import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openBrowser } from '../support/dashboard.ts'
import { eventually } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'

test('a change through the API is delivered to a webhook, and the destination shows the delivery', async (t) => {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const { call } = platform
  const received: {
    event_type: string
    object: { description: string }
    principal: { source: string }
  }[] = []
  const sink = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      received.push(...(Array.isArray(body) ? body : [body]))
      response.writeHead(204).end(() => sink.emit('event'))
    })
  }).listen(0, '127.0.0.1')
  await once(sink, 'listening')
  t.after(() => sink.close())
  const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/hook`
  const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
  const destination = await call.create('/event_destinations', { target: { webhook: { url, secret } } })
  await call.create('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })

  const testResponse = await call('POST', `/event_destinations/${destination.id}/send_test_event`, {
    body: {},
  })
  assert.equal(testResponse.status, 200, JSON.stringify(testResponse.body))
  assert.match(testResponse.body.event_id, /^ev_/)
  await call.create('/ip_policies', { description: 'watch me' })
  const browser = openBrowser(platform.credentials.api_url)
  assert.equal((await browser.signIn(platform.admin)).status, 200)
  const createResponse = await browser.call('POST', '/ip_policies', { body: { description: 'by hand' } })
  assert.equal(createResponse.status, 201, JSON.stringify(createResponse.body))
  const listReceived = () =>
    received
      .filter(({ event_type }) => event_type === 'ip_policy_created.v0')
      .map(({ object, principal }) => `${object.description}: ${principal.source}`)
  while (listReceived().length < 2) await once(sink, 'event')

  assert.deepEqual(listReceived().sort(), ['by hand: Dashboard', 'watch me: API'])
  await eventually(async () => {
    const { status } = (await call('GET', `/event_destinations/${destination.id}`)).body
    return status.last_success_at !== null && status.backlog === 0
  }, 'the destination reports the success')
})

test('a failed test event reports the reason, and an invalid filter is rejected on creation', async (t) => {
  const { call } = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const destination = await call.create('/event_destinations', {
    target: {
      webhook: {
        url: 'https://127.0.0.1:9/hook',
        secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
      },
    },
  })

  const testResponse = await call('POST', `/event_destinations/${destination.id}/send_test_event`, {
    body: {},
  })
  const filterResponse = await call('POST', '/event_subscriptions', {
    body: {
      sources: [{ type: 'http_request_complete.v0', fields: ['conn.client_ip'], filter: 'ev.nope == 1' }],
    },
  })

  assert.equal(testResponse.status, 400)
  assert.equal(testResponse.body.error_code, 'ERR_ADIT_5132')
  assert.equal(filterResponse.status, 400)
  assert.equal(filterResponse.body.details.field, 'sources[0].filter')
})
