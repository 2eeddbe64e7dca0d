import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startApi } from '../../test/support/api.ts'
import { captureOutput } from '../../test/support/capture-output.ts'
import { writeMmdb } from '../../test/support/mmdb-writer.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { type PolicyError, readPolicy } from '../policy/index.ts'
import { checkPolicy } from './check.ts'
import { edgePolicy } from './edge-policy.ts'
import { printEdgePolicy } from './from-edge.ts'

function check(text: string, options: Partial<Parameters<typeof checkPolicy>[1]> = {}) {
  const file = join(createTempDir(), 'policy.yml')
  writeFileSync(file, text)
  const terminal = captureOutput()
  const code = checkPolicy(file, { edge: false, json: false, ipData: [], ...options }, terminal)
  return { code, file, ...terminal.written }
}

const DENY = 'on_http_request:\n  - actions:\n      - type: deny\n'

test('a valid policy is said to be one', () => {
  const { code, out } = check(DENY)
  const json = check(DENY, { json: true })

  assert.deepEqual([code, out], [0, 'The policy is valid: 1 rule.\n'])
  assert.deepEqual(
    [json.code, JSON.parse(json.out)],
    [0, { valid: true, rules: 1, issues: [], warnings: [] }],
  )
})

test('every mistake is printed with its file, line and code', () => {
  const { code, error, file } = check(
    DENY.replace('deny', 'denny').replace('- actions', '- expressions: ["1"]\n    actions'),
  )

  assert.equal(code, 1)
  assert.match(error, new RegExp(`${file}:2: on_http_request, rule 1, expression 1: .*\\(ERR_ADIT_2200\\)`))
  assert.match(error, new RegExp(`${file}:4: .*did you mean deny\\? \\(ERR_ADIT_2201\\)`))
})

test('mistakes are printed as JSON', () => {
  const { code, out } = check('on_http_request: [{actions: [{type: denny}]}]', { json: true })

  assert.equal(code, 1)
  assert.deepEqual(
    JSON.parse(out).issues.map(({ error_code, path, line }: Record<string, unknown>) => [
      error_code,
      path,
      line,
    ]),
    [['ERR_ADIT_2201', ['on_http_request', 0, 'actions', 0], 1]],
  )
})

test('expressions that never do what they say are mistakes, and those that may fail are warned of', () => {
  const policy = (expression: string) =>
    `on_http_request:\n  - name: partners\n    expressions: ["${expression}"]\n    actions: [{type: deny}]\n`
  const unset = check(policy("!('a' in actions.ngrok.terminate_tls.client.san.dns_names)"))
  const missing = check(policy("req.headers['x-key'][0] != 'a'"))
  const json = check(policy("req.headers['x-key'][0] != 'a'"), { json: true })
  const country = policy("conn.geo.country_code != 'DE'")
  const ipData = join(createTempDir(), 'country.mmdb')
  writeFileSync(ipData, writeMmdb([['198.51.100.0/24', { country: { iso_code: 'DE' } }]]))

  assert.equal(unset.code, 1)
  assert.match(unset.error, /policy.yml:3: .*no terminate-tls action comes before it \(ERR_ADIT_2200\)/)
  assert.deepEqual([missing.code, missing.out], [0, 'The policy is valid: 1 rule.\n'])
  assert.match(
    missing.error,
    /policy.yml:3: warning: .*req.headers\['x-key'\], which fails when there is none/,
  )
  assert.equal(JSON.parse(json.out).warnings[0].line, 3)
  assert.match(check(country).error, /warning: .* is empty without IP data about places/)
  assert.equal(check(country, { ipData: [ipData] }).error, '')
})

test('phases depend on the protocol and on what the policy is for', () => {
  const connect = 'on_tcp_connect: [{actions: [{type: deny}]}]'
  const codes = [
    check(DENY, { protocol: 'tcp' }).code,
    check(connect, { protocol: 'tcp', edge: true }).code,
    check(connect).code,
    check(connect, { edge: true }).code,
  ]

  assert.deepEqual(codes, [1, 0, 0, 1])
  assert.throws(() => check(DENY, { protocol: 'ftp' }), /--protocol must be one of https, http, tcp, tls/)
  assert.throws(
    () => checkPolicy('/no/such.yml', { edge: false, json: false, ipData: [] }, captureOutput()),
    /cannot read \/no\/such\.yml: no such file/,
  )
})

test('from-edge prints a valid policy with the modules of all routes', async (t) => {
  const api = await startApi(t)
  const ipPolicy = await api.call.create('/ip_policies', {})
  const edge = await api.call.create('/edges/https', {})
  const routes = `/edges/https/${edge.id}/routes`
  await api.call.create(routes, {
    match_type: 'path_prefix',
    match: '/',
    ip_restriction: { ip_policy_ids: [ipPolicy.id] },
    user_agent_filter: { deny: ['bot'], allow: ['^curl/'] },
    compression: {},
    request_headers: { add: { 'x-path': '${req.path}', 'x-id': '${req.id}' }, remove: ['cookie'] },
    circuit_breaker: {},
    oauth: {
      provider: {
        github: { client_id: 'a', client_secret: 'b', email_domains: ['example.com'], teams: ['o/t'] },
      },
      maximum_duration: 60,
    },
    traffic_policy: { value: DENY },
  })
  await api.call.create(routes, {
    match_type: 'exact_path',
    match: '/hook',
    webhook_verification: { provider: 'GitHub', secret: 'key' },
  })
  const terminal = captureOutput()

  const code = await printEdgePolicy(
    edge.id,
    { apiUrl: api.url, apiKey: api.account.apiKey.reveal() },
    terminal,
  )

  const { out } = terminal.written
  const policy = parse(out) as Record<string, { name: string; expressions?: string[] }[]>
  assert.equal(code, 0)
  try {
    readPolicy(out, { protocol: 'https', kind: 'route' })
  } catch (error) {
    assert.fail((error as PolicyError).lines.join('\n'))
  }
  const rules = policy.on_http_request!.map(({ name, expressions }) => `${name}: ${expressions?.[0]}`)
  assert.ok(rules.includes('webhook_verification: req.url.path == "/hook"'))
  assert.deepEqual(
    rules.filter((rule) => rule.endsWith(': !(req.url.path == "/hook")')).map((rule) => rule.split(': !')[0]),
    [
      'ip_restriction',
      'user_agent_filter',
      'oauth',
      'oauth: who may enter',
      'request_headers',
      'circuit_breaker',
      'traffic_policy',
    ],
  )
  assert.match(out, /# route \/: teams of oauth has no field in the action/)
  assert.match(out, /# route \/: \$\{req\.id\} in request_headers has no equivalent variable/)
})

test('from-edge prints the policy of a TCP edge, and explains an id that is none', async () => {
  const { phases } = edgePolicy({
    id: 'edgtcp_1',
    ip_restriction: { enabled: true, ip_policies: [{ id: 'ipp_1' }] },
    traffic_policy: { enabled: false, value: 'x' },
  })

  assert.deepEqual(phases, {
    on_tcp_connect: [
      { name: 'ip_restriction', actions: [{ type: 'restrict-ips', config: { ip_policies: ['ipp_1'] } }] },
    ],
  })
  await assert.rejects(
    printEdgePolicy('tn_1', { apiUrl: undefined, apiKey: undefined }, captureOutput()),
    /"tn_1" is not the id of an edge/,
  )
})

test('from-edge prints saml with the groups that may enter', () => {
  const saml = { enabled: true, idp_metadata: '', idp_metadata_url: 'https://idp.example.com/metadata' }
  const { phases, notes } = edgePolicy({
    id: 'edghts_1',
    routes: [
      {
        match_type: 'path_prefix',
        match: '/',
        saml: {
          ...saml,
          nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
          authorized_groups: ['staff'],
          email_attribute: '',
          groups_attribute: 'Role',
          inactivity_timeout: 60,
        },
      },
    ],
  })

  readPolicy(JSON.stringify(phases), { protocol: 'https', kind: 'endpoint' })
  const [signIn, admission] = phases.on_http_request!
  assert.deepEqual(signIn!.actions, [
    {
      type: 'saml',
      config: {
        idp_metadata: 'https://idp.example.com/metadata',
        nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
        sign_requests: true,
        groups_attribute: 'Role',
        idle_session_timeout: '60s',
      },
    },
  ])
  assert.deepEqual(admission!.expressions, [
    '!(actions.ngrok.saml.identity.groups.exists(g, g in ["staff"]))',
  ])
  assert.match(notes.join('\n'), /another entity ID/)
})

test('from-edge prints the TLS modules of an edge as one action', () => {
  const { phases } = edgePolicy({
    id: 'edgtls_1',
    tls_termination: { enabled: true, terminate_at: 'edge', min_version: '1.3' },
    mutual_tls: { enabled: true, certificate_authorities: [{ id: 'ca_1' }] },
  })

  readPolicy(JSON.stringify(phases), { protocol: 'tls', kind: 'edge' })
  assert.deepEqual(phases, {
    on_tcp_connect: [
      {
        name: 'tls',
        actions: [
          {
            type: 'terminate-tls',
            config: { min_version: '1.3', mutual_tls_certificate_authorities: ['ca_1'] },
          },
        ],
      },
    ],
  })
})
