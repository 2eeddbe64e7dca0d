import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { captureOutput } from '../../test/support/capture-output.ts'
import { startHttp } from '../../test/support/local-server.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { explainPolicy } from './explain.ts'
import { testPolicy } from './trial.ts'

interface Rule {
  readonly phase: string
  readonly name: string
  readonly outcome: string
  readonly expressions: readonly { readonly value?: unknown; readonly error?: string }[]
  readonly actions: readonly { readonly type: string; readonly outcome: string; readonly effect: string }[]
}

interface Result {
  readonly rules: readonly Rule[]
  readonly forwarded: { readonly target: string; readonly headers: [string, string][]; body: string } | null
  readonly answer: { readonly status: number; readonly headers: [string, string][]; body: string } | null
}

const ASSUMED = { edge: false, secrets: [], signedInAs: undefined, ipData: [] }

const TEST = {
  ...ASSUMED,
  request: 'GET https://app.example.com/a',
  headers: [],
  body: undefined,
  clientIp: undefined,
  responseStatus: undefined,
  responseHeaders: [],
}

type TestFlags = Partial<Parameters<typeof testPolicy>[1]>

async function run(policy: object | string, flags: TestFlags = {}): Promise<Result> {
  const file = join(createTempDir(), 'policy.yml')
  writeFileSync(file, typeof policy === 'string' ? policy : JSON.stringify(policy))
  const terminal = captureOutput()
  const code = await testPolicy(file, { ...TEST, json: true, ...flags }, terminal)
  assert.equal(code, 0, terminal.written.error)
  return JSON.parse(terminal.written.out) as Result
}

const action = (type: string, config: object = {}) => ({ actions: [{ type, config }] })

const outcomes = ({ rules }: Result) => rules.map(({ outcome }) => outcome)

const effects = ({ rules }: Result) =>
  rules.flatMap(({ actions }) => actions.map(({ outcome, effect }) => `${outcome} ${effect}`.trim()))

test('each rule says whether it matched, and each expression what it was', async () => {
  const result = await run(
    {
      on_http_request: [
        { expressions: ["req.method == 'PUT'", 'true'], ...action('deny') },
        { expressions: ["req.headers['x-no'][0] == 'a'"], ...action('log', { metadata: { a: 'b' } }) },
        { expressions: ["conn.client_ip == '198.51.100.7'"], ...action('deny', { status_code: 410 }) },
        action('deny'),
      ],
    },
    { clientIp: '198.51.100.7' },
  )

  assert.deepEqual(outcomes(result), ['not matched', 'not matched', 'matched', 'not reached'])
  const [first, second, third] = result.rules
  assert.deepEqual(
    first!.expressions.map(({ value }) => value),
    [false, undefined],
  )
  assert.match(second!.expressions[0]!.error!, /no such key: x-no/)
  assert.equal(third!.expressions[0]!.value, true)
  assert.equal(third!.actions[0]!.effect, 'responds 410')
  assert.deepEqual([result.answer?.status, result.forwarded], [410, null])
})

test('a rule that rejects and cannot be evaluated is shown as undecided, with the rejection', async () => {
  const result = await run({
    on_http_request: [{ name: 'agents', expressions: ["req.headers['x-no'][0] != 'a'"], ...action('deny') }],
  })

  assert.deepEqual(outcomes(result), ['undecided'])
  assert.deepEqual([result.answer?.status, result.forwarded], [403, null])
  assert.match(result.answer?.body ?? '', /on_http_request, rule 1 "agents" \(deny\): no such key: x-no/)
})

test('a request that passes is shown as the upstream gets it, and its response after the response phase', async () => {
  const result = await run(
    {
      on_http_request: [
        action('url-rewrite', { from: '/a', to: '/b' }),
        action('add-headers', { headers: { 'x-one': '${req.method}' } }),
        action('request-body-find-replace', { replacements: [{ from: 'secret', to: '***' }] }),
      ],
      on_http_response: [
        {
          expressions: ['res.status_code == 404', "getResHeader('server')[0] == 'x'"],
          ...action('custom-response', { body: 'gone' }),
        },
      ],
    },
    {
      request: 'post https://app.example.com/a?q=1',
      body: 'my secret',
      responseStatus: '404',
      responseHeaders: ['server: x'],
    },
  )

  assert.deepEqual(outcomes(result), ['matched', 'matched', 'matched', 'matched'])
  assert.equal(result.forwarded?.target, '/b?q=1')
  assert.ok(result.forwarded.headers.some(([name, value]) => name === 'x-one' && value === 'POST'))
  assert.equal(result.forwarded.body, 'my ***')
  assert.deepEqual([result.answer?.status, result.answer?.body], [200, 'gone'])
})

test('actions that reach outside are described and not run', async () => {
  const policy = {
    on_http_request: [
      action('http-request', { url: 'https://auth.example.com/${req.method}', method: 'POST' }),
      action('restrict-ips', { ip_policies: ['ipp_1'] }),
      action('oauth', { provider: 'github', client_id: 'a', client_secret: 'b' }),
      {
        expressions: ["actions.ngrok.oauth.identity.email == 'ana@example.com'"],
        ...action('forward-internal', { url: 'https://orders.internal' }),
      },
    ],
  }

  const visitor = await run(policy)
  const ana = await run(policy, { signedInAs: 'ana@example.com' })

  assert.deepEqual(effects(visitor), [
    'would call POST https://auth.example.com/GET; its results are absent here',
    'ran goes on, and would check the address against ipp_1',
    'would send the visitor to github to sign in',
    'not reached',
  ])
  assert.equal(visitor.answer?.status, 302)
  assert.deepEqual(effects(ana).slice(2), [
    'would admit ana@example.com, who has signed in with github',
    'would forward to https://orders.internal',
  ])
  assert.equal(ana.answer?.status, 200)
  assert.notEqual(ana.forwarded, null)
})

test('an address that on_tcp_connect denies ends in a closed connection', async () => {
  const result = await run(
    {
      on_tcp_connect: [action('restrict-ips', { deny: ['10.0.0.0/8'] })],
      on_http_request: [action('custom-response')],
    },
    { clientIp: '10.1.2.3' },
  )

  assert.deepEqual(outcomes(result), ['matched', 'not reached'])
  assert.match(effects(result)[0]!, /closes the connection \(ERR_ADIT_3203\)/)
  assert.equal(result.answer, null)
})

test('secrets are what the command line says; without one the action fails', async () => {
  const policy = {
    on_http_request: [action('basic-auth', { credentials: ["ana:${secrets.get('v', 'n')}"] })],
  }
  const headers = [`authorization: Basic ${Buffer.from('ana:password1').toString('base64')}`]

  const known = await run(policy, { headers, secrets: ['v/n=password1'] })
  const unknown = await run(policy, { headers })

  assert.equal(known.answer?.status, 200)
  assert.match(effects(unknown)[0]!, /ran fails, so that the request is rejected/)
  assert.equal(unknown.answer?.status, 500)
})

test('a report for people names the rule, its expressions and the response', async () => {
  const file = join(createTempDir(), 'policy.yml')
  writeFileSync(
    file,
    'on_http_request: [{name: no posts, expressions: ["req.method == \'POST\'"], actions: [{type: deny}]}]',
  )
  const terminal = captureOutput()

  await testPolicy(file, { ...TEST, json: false, request: 'POST https://app.example.com/' }, terminal)

  assert.match(terminal.written.out, /rule 1 "no posts": matched\n {4}req.method == 'POST' {2}-> {2}true/)
  assert.match(terminal.written.out, /deny: responds 403\n\nThe visitor gets: 403/)
})

test('flags with mistakes are explained', async () => {
  const CASES: [TestFlags, RegExp][] = [
    [{ request: 'GET' }, /--request must be a method and a URL/],
    [{ request: 'GET ftp://x/' }, /--request must be a method and a URL/],
    [{ headers: ['x'] }, /--header must be "name: value"/],
    [{ headers: ['x: a\nb'] }, /cannot be sent/],
    [{ clientIp: 'me' }, /--client-ip must be an IP address/],
    [{ responseStatus: '99' }, /--response-status must be between 200 and 599/],
    [{ secrets: ['x'] }, /--secret must be vault\/name=value/],
    [{ body: '@/no/such' }, /cannot read \/no\/such/],
    [{ request: 'CONNECT https://app.example.com/' }, /the edge rejects the request/],
  ]
  for (const [flags, message] of CASES)
    await assert.rejects(run({ on_http_request: [action('deny')] }, flags), message)
})

const EXPLAIN = {
  ...ASSUMED,
  json: true,
  har: undefined,
  entry: undefined,
  capture: undefined,
  webAddr: undefined,
}

async function explain(policy: object, flags: Partial<typeof EXPLAIN> | object) {
  const file = join(createTempDir(), 'policy.json')
  writeFileSync(file, JSON.stringify(policy))
  const terminal = captureOutput()
  await explainPolicy(file, { ...EXPLAIN, ...flags }, terminal)
  return JSON.parse(terminal.written.out) as Result
}

test('explain takes a request and its response from an HTTP archive', async () => {
  const har = join(createTempDir(), 'session.har')
  const field = (name: string, value: string) => ({ name, value })
  const entry = {
    request: {
      method: 'POST',
      url: 'https://app.example.com/login?x=1',
      headers: [field(':authority', 'app.example.com'), field('X-Key', '1')],
      postData: { mimeType: 'text/plain', text: 'hello' },
    },
    response: {
      status: 503,
      headers: [field('content-encoding', 'gzip')],
      content: { text: 'Zm9v', encoding: 'base64' },
    },
  }
  writeFileSync(har, JSON.stringify({ log: { entries: [{}, entry] } }))
  const policy = {
    on_http_request: [
      { expressions: ["getReqHeader('x-key')[0] == '1'"], ...action('log', { metadata: { a: 'b' } }) },
    ],
    on_http_response: [
      {
        expressions: ['res.status_code == 503'],
        ...action('response-body-find-replace', { replacements: [{ from: 'foo', to: 'bar' }] }),
      },
    ],
  }

  const result = await explain(policy, { har, entry: '2' })

  assert.deepEqual(outcomes(result), ['matched', 'matched'])
  assert.deepEqual([result.forwarded?.target, result.forwarded?.body], ['/login?x=1', 'hello'])
  assert.deepEqual([result.answer?.status, result.answer?.body], [503, 'bar'])
  await assert.rejects(explain(policy, { har, entry: '3' }), /--entry must be a number between 1 and 2/)
  await assert.rejects(explain(policy, { har }), /entry 1 of .* is not a complete entry/)
  await assert.rejects(explain(policy, {}), /--har FILE .* or --capture ID/)
})

test('explain takes a captured request from the local API of an agent', async (t) => {
  const message = { proto: 'HTTP/1.1', body_size: 2, truncated: false }
  const capture = {
    remote_addr: '198.51.100.7:4711',
    request: {
      ...message,
      method: 'PUT',
      uri: '/a',
      headers: { Host: ['app.example.com'], 'X-Forwarded-Proto': ['https'], 'Content-Encoding': ['gzip'] },
    },
    response: { ...message, status: '201 Created', status_code: 201, headers: {} },
  }
  const port = await startHttp(t, (request, response) => {
    const body = { base64: Buffer.from('hi').toString('base64'), decoded: ['gzip'] }
    response.statusCode = request.url!.startsWith('/api/requests/http/airt_1') ? 200 : 404
    response.end(JSON.stringify(request.url!.includes('/body?side=') ? body : capture))
  })
  const policy = {
    on_http_request: [
      {
        expressions: ["conn.client_ip == '198.51.100.7'", "req.url == 'https://app.example.com/a'"],
        ...action('log', { metadata: { a: 'b' } }),
      },
    ],
  }
  const webAddr = `127.0.0.1:${port}`

  const result = await explain(policy, { capture: 'airt_1', webAddr })

  assert.deepEqual(outcomes(result), ['matched'])
  assert.deepEqual([result.forwarded?.body, result.answer?.status], ['hi', 201])
  assert.deepEqual(result.forwarded?.headers, [])
  await assert.rejects(explain(policy, { capture: 'none', webAddr }), /has no request with this id/)
  await assert.rejects(explain(policy, { capture: 'x', webAddr: '127.0.0.1:1' }), /cannot be reached/)
})

test('facts about the address come from the files that are named', async () => {
  const file = join(createTempDir(), 'office.txt')
  writeFileSync(file, '198.51.100.0/24 com.example.office\n')
  const policy = {
    on_http_request: [{ expressions: ["'com.example' in conn.client_ip.categories"], ...action('deny') }],
  }

  const inside = await run(policy, { clientIp: '198.51.100.7', ipData: [file] })
  const outside = await run(policy, { clientIp: '192.0.2.7', ipData: [file] })

  assert.deepEqual([...outcomes(inside), ...outcomes(outside)], ['matched', 'not matched'])
  await assert.rejects(run(policy, { ipData: ['/no/such'] }), /cannot read \/no\/such/)
})
