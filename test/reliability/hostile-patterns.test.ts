// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is what policies hold
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHost } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { startBoundedServer } from '../support/bounded-server.ts'
import { eventuallyEqual } from '../support/eventually.ts'

const NESTED_COUNTS = `${'(?:'.repeat(6)}${'){1000}'.repeat(6)}`
/** Each of its matches reads the rest of the text. */
const REREADING = 'a(?:(?:[^c]|[^d]|[^e]|[^f]|[^g]|[^h])*c)?'
const HOST = 'hostile.adit.localhost'

/** A policy that does this everywhere but at `/`, where it answers with its revision. */
const policyOf = (type: string, config: object, revision = 0) =>
  JSON.stringify({
    on_http_request: [
      { expressions: ["req.url.path != '/'"], actions: [{ type, config }] },
      { actions: [{ type: 'custom-response', config: { body: `revision ${revision}` } }] },
    ],
  })

test('a reader cannot stop the server with a pattern in a filter', async (t) => {
  const { server, bounded, call } = await startBoundedServer(t)
  const user = await call.create('/bot_users', { name: 'reader' })
  await call('PATCH', `/bot_users/${user.id}`, { body: { role: 'read_only' } })
  const { token } = await call.create('/api_keys', { owner_id: user.id })
  const read = createClient(server.url, token)
  const filters = [
    `obj.id.matches("${NESTED_COUNTS}")`,
    `obj.id.matches("${'(?:|'.repeat(6)}${'){1000}'.repeat(6)}" + obj.id)`,
    `obj.id.matches("(?i)[${'\u4e00-\u9fa5a'.repeat(300)}]{0,900}x")`,
    Array.from({ length: 100 }, (_, n) => `obj.id.matches("(.*a){300}${n}")`).join(' || '),
  ]

  for (const filter of filters) {
    const { status } = await bounded(filter.slice(0, 60), () =>
      read('GET', `/api_keys?filter=${encodeURIComponent(filter)}`),
    )
    assert.ok([200, 400].includes(status), `${status}`)
  }

  assert.equal((await read('GET', '/api_keys')).status, 200)
  assert.equal(await server.stop(), 0)
})

test('policies with hostile patterns are rejected, or their requests are, and the server goes on', async (t) => {
  const { server, bounded, call } = await startBoundedServer(t)
  const url = `http://${HOST}`
  await call.create('/reserved_domains', { domain: HOST })
  const longPath = `/${'a'.repeat(7000)}`
  const rejected = await bounded('a policy', () =>
    call('POST', '/endpoints', {
      body: { url, traffic_policy: policyOf('url-rewrite', { from: NESTED_COUNTS, to: '/' }) },
    }),
  )
  const endpoint = await call.create('/endpoints', { url, traffic_policy: policyOf('deny', {}) })
  const actions: [type: string, config: object][] = [
    ['url-rewrite', { from: REREADING, to: 'b' }],
    ['redirect', { from: REREADING, to: 'b' }],
    ['url-rewrite', { from: 'a', to: 'b'.repeat(4000) }],
    ['url-rewrite', { from: '(a+)', to: '$1'.repeat(2000) }],
    ['url-rewrite', { from: "${'(.*a){300}' + req.method.replace('GET', '$')}", to: 'b' }],
  ]

  assert.match(rejected.body.msg, /too large/)
  for (const [index, [type, config]] of actions.entries()) {
    const body = { traffic_policy: policyOf(type, config, index) }
    assert.equal((await call('PATCH', `/endpoints/${endpoint.id}`, { body })).status, 200, `${index}`)
    await eventuallyEqual(async () => (await fetchHost(server, HOST)).body, `revision ${index}`)
    const { status } = await bounded(`${type} ${index}`, () => fetchHost(server, HOST, longPath))
    assert.equal(status, 500, `${type} ${index}`)
  }
  assert.equal(await server.stop(), 0)
})
