// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are what header values hold
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { RequestEvent } from '../contracts/observe.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'
import { ModuleConfigError } from './context.ts'
import { compileEdits } from './header-edits.ts'
import { variableNames } from './template.ts'
import { unsupportedProviders, webhookSchemes } from './webhook-schemes.ts'

test('header values expand variables of the connection and the request, with the same request id in both directions', async (t) => {
  const { config, routeId, sendRequest, tlsPort } = await startHttpsEdge(t)
  const all =
    '${conn.client_ip}|${conn.server_ip}:${ conn.server_port }|${conn.server_name}|${conn.tls_version}'
  const add = {
    'x-all': `${all}|\${req.method} \${req.host} \${req.path}`,
    'x-id': '${req.id}',
    'x-none': '${req.secret} $ {}',
  }
  config.update(routeId, { request_headers: { add }, response_headers: { add: { 'x-id': '${req.id}' } } })
  await config.waitUntilApplied()

  const reply = await sendRequest({ path: '/a/b?c=d', method: 'PUT' })

  const { headers } = JSON.parse(reply.text) as { headers: Record<string, string> }
  assert.equal(headers['x-all'], `127.0.0.1|127.0.0.1:${tlsPort}|${HOST}|TLSv1.3|PUT ${HOST} /a/b`)
  assert.match(headers['x-id'] ?? '', /^req_[0-9A-Za-z]{27}$/)
  assert.equal(headers['x-id'], reply.headers['x-id'])
  assert.equal(headers['x-none'], '${req.secret} $ {}')
})

test('framing and connection fields cannot be added', () => {
  for (const name of [
    'Content-Length',
    'transfer-encoding',
    'CONNECTION',
    'upgrade',
    'te',
    'trailer',
    'expect',
    'keep-alive',
    'proxy-authorization',
  ]) {
    assert.throws(() => compileEdits([[name, 'x']], []), ModuleConfigError, name)
  }
  assert.throws(() => compileEdits([['x', 'a\u0001b']], []), ModuleConfigError)
})

test('text beyond ASCII is sent as UTF-8', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.update(routeId, { request_headers: { add: { 'x-text': 'grüße → 💡' } } })
  await config.waitUntilApplied()

  const { headers } = JSON.parse((await sendRequest()).text) as { headers: Record<string, string> }

  assert.equal(Buffer.from(headers['x-text'] ?? '', 'latin1').toString(), 'grüße → 💡')
})

test('a user agent that exceeds the step limit of a pattern is rejected', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  const status = async (userAgent: string) =>
    (await sendRequest({ headers: { 'user-agent': userAgent } })).status

  for (const filter of [{ allow: ['(a?){300}b'] }, { deny: ['(a?){300}b'] }]) {
    config.update(routeId, { user_agent_filter: filter })
    await config.waitUntilApplied()
    assert.equal(await status('a'.repeat(1024)), 403)
    assert.equal(await status('curl/8.0'), 200)
  }
})

test('module decisions are recorded in the request event', async (t) => {
  const events: RequestEvent[] = []
  const observe = {
    wantsRequests: () => true,
    onRequest: (event: RequestEvent) => events.push(event),
    wantsConnections: () => false,
    onConnection: () => {},
  }
  const { config, routeId, sendRequest } = await startHttpsEdge(t, undefined, { dependencies: { observe } })
  config.update(routeId, {
    user_agent_filter: { deny: ['bot'] },
    webhook_verification: { provider: 'gitlab', secret: 'x' },
    compression: {},
    circuit_breaker: {},
  })
  await config.waitUntilApplied()

  await sendRequest({
    headers: { 'user-agent': 'a', 'x-gitlab-token': 'x', 'accept-encoding': 'br' },
    path: `/${'x'.repeat(500)}`,
  })
  await sendRequest({ headers: { 'user-agent': 'a', 'x-gitlab-token': 'y' } })
  await sendRequest({ headers: { 'user-agent': 'bot' } })

  assert.deepEqual(
    events.map(({ annotations, errorCode }) => ({ ...annotations, errorCode })),
    [
      {
        'user_agent_filter.decision': 'allow',
        'webhook_verification.decision': 'allow',
        'compression.algorithm': 'br',
        'circuit_breaker.decision': 'allow',
        errorCode: undefined,
      },
      {
        'user_agent_filter.decision': 'allow',
        'webhook_verification.decision': 'block',
        errorCode: 'ERR_ADIT_3204',
      },
      { 'user_agent_filter.decision': 'block', errorCode: 'ERR_ADIT_3211' },
    ],
  )
})

test('the documentation names every variable and every webhook provider', async () => {
  const text = await readFile(new URL('../../../docs/modules.md', import.meta.url), 'utf8')

  const missing = [
    ...variableNames,
    ...Object.keys(webhookSchemes),
    ...Object.keys(unsupportedProviders),
  ].filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\`\${${name}}\``))

  assert.deepEqual(missing, [])
})
