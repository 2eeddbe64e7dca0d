import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openBrowser } from '../support/dashboard.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'

const cleanups: (() => unknown)[] = []
let platform: TestPlatform
before(async () => {
  platform = await startPlatform({ after: (cleanup: () => unknown) => cleanups.push(cleanup) } as never)
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

const CLOUD = { protocol: 'https', kind: 'cloud' }
const POLICY = `on_http_request:
  - name: greeting
    expressions: ["req.url.path == '/hello'"]
    actions:
      - type: custom-response
        config:
          body: \${secrets.get('v', 'n')}
  - actions:
      - type: deny
`

const check = (policy: string, attachment: object = CLOUD) =>
  platform.call('POST', '/dashboard/api/policy_check', { body: { policy, attachment } })

const attempt = (changes: object) =>
  platform.call('POST', '/dashboard/api/policy_trial', {
    body: {
      policy: POLICY,
      attachment: CLOUD,
      method: 'GET',
      url: 'https://shop.example.com/hello',
      headers: ['accept: text/html'],
      body: '',
      client_ip: '203.0.113.1',
      signed_in_as: '',
      ...changes,
    },
  })

test('a check names every mistake of a policy with its line', async () => {
  const { status, body } = await check(
    POLICY.replace('custom-response', 'custom-respond').replace('/hello\'"', '/hello"'),
  )

  assert.equal(status, 200)
  assert.deepEqual(
    body.issues.map(({ line }: { line: number }) => line),
    [3, 5],
  )
  assert.match(
    body.issues[1].message,
    /rule 1 "greeting", action 1 \(custom-respond\): there is no action "custom-respond"; did you mean/,
  )
})

test('a check warns of expressions that may fail, and of facts that the server has no data for', async () => {
  const expression = "req.headers['x-key'][0] == conn.geo.country"
  const policy = {
    on_http_request: [
      { expressions: [expression], actions: [{ type: 'deny' }] },
      { actions: [{ type: 'deny' }] },
    ],
  }
  const { body } = await check(JSON.stringify(policy))

  assert.deepEqual(body.issues, [])
  assert.deepEqual(
    body.warnings.map(({ message }: { message: string }) => /: it reads (\S+?),? /.exec(message)?.[1]),
    ["req.headers['x-key']", 'geo'],
  )
})

test('a check of a valid policy outlines its rules, and depends on what the policy is for', async () => {
  const { body } = await check(POLICY)
  const route = await check('on_http_request: [{actions: [{type: log, config: {metadata: {a: b}}}]}]', {
    protocol: 'https',
    kind: 'route',
  })
  const cloud = await check('on_http_request: [{actions: [{type: log, config: {metadata: {a: b}}}]}]')

  assert.deepEqual(body.issues, [])
  assert.deepEqual(body.rules, [
    {
      phase: 'on_http_request',
      name: 'greeting',
      expressions: ["req.url.path == '/hello'"],
      actions: [{ type: 'custom-response', ends: true }],
    },
    { phase: 'on_http_request', name: '', expressions: [], actions: [{ type: 'deny', ends: true }] },
  ])
  assert.deepEqual([route.body.issues.length, cloud.body.issues.length], [0, 1])
})

test('a trial shows what each rule does with a request, and no secret', async () => {
  const greeted = await attempt({})
  const denied = await attempt({ url: 'https://shop.example.com/' })

  assert.deepEqual([greeted.body.answer.status, greeted.body.answer.body], [200, 'secret n of v'])
  assert.deepEqual(
    denied.body.rules.map(({ outcome }: { outcome: string }) => outcome),
    ['not matched', 'matched'],
  )
  assert.deepEqual([denied.body.forwarded, denied.body.answer.status], [null, 403])
})

test('a trial that cannot run names the field to correct', async () => {
  const fields: unknown[] = []
  for (const changes of [
    { url: 'shop' },
    { client_ip: '1.2.3' },
    { headers: ['accept'] },
    { policy: 'a: 1' },
  ]) {
    const { status, body } = await attempt(changes)
    fields.push([status, body.details.field])
  }

  assert.deepEqual(fields, [
    [400, 'url'],
    [400, 'client_ip'],
    [400, 'headers'],
    [400, 'policy'],
  ])
})

test('the words of the language need a session, as do checks and trials', async () => {
  const browser = openBrowser(platform.credentials.api_url)
  const { body } = await platform.call('GET', '/dashboard/api/policy_language')
  const statuses = [
    (await browser.call('GET', '/dashboard/api/policy_language')).status,
    (await browser.call('POST', '/dashboard/api/policy_check')).status,
    (await browser.call('POST', '/dashboard/api/policy_trial')).status,
  ]

  assert.ok(body.actions.some(({ type }: { type: string }) => type === 'rate-limit'))
  assert.deepEqual(statuses, [401, 401, 401])
})
