import { mock, snapshot, type TestContext, test } from 'node:test'
import { ENDPOINT_FLAGS, LABELLED_FLAGS, toDefinition } from '../../src/agent/commands/flags.ts'
import { tunnelCommands } from '../../src/agent/commands/list.ts'
import { type TunnelDefinition, tunnelShape } from '../../src/agent/config/definitions.ts'
import type { ConfigProblem } from '../../src/agent/config/shape.ts'
import { toTunnelSpec } from '../../src/agent/spec/spec.ts'
import { commandHelp } from '../../src/command-line/help.ts'
import { compileEndpoint } from '../../src/edge/compile/endpoint-options.ts'
import { modules } from '../../src/edge/modules/index.ts'
import { type BindOpts, BindRequest } from '../../src/protocol/messages.ts'
import { toEndpointOptions } from '../../src/sessions/bind/endpoint-options.ts'
import { parseCommand } from '../../src/sessions/ssh/command-line.ts'
import type { EndpointOptions } from '../../src/sessions/tunnel.ts'

/*
 * What users, agents and SDKs depend on, in full: flags and their help, configuration keys, wire fields, SSH options, the
 * sentences of every rejection, and what each option compiles to. A change here is a change of the product; write the new
 * snapshot with `node --test --test-update-snapshots` when it is meant.
 */

// One line for each entry, so that a difference shows what changed.
snapshot.setDefaultSnapshotSerializers([
  (value) =>
    Object.entries(value)
      .map(([key, each]) => `${key}: ${JSON.stringify(each)}`)
      .join('\n'),
])

/** The result of `run`, or the message of what it throws. */
function attempt(run: () => unknown): unknown {
  try {
    return run() ?? null
  } catch (error) {
    return { rejected: (error as Error).message }
  }
}

/** The same value with sorted keys: their order means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}

const table = <K extends string>(keys: readonly K[], row: (key: K) => unknown) =>
  sorted(Object.fromEntries(keys.map((key) => [key, row(key)])))

test('flags and their help', async (t: TestContext) => {
  for (const name of ['http', 'tcp', 'tls', 'tunnel']) {
    const { examples: _, ...command } = tunnelCommands.find(({ words }) => words[0] === name)!
    t.assert.snapshot((await commandHelp(tunnelCommands, command, [])).split('\n'))
  }
  t.assert.snapshot(sorted({ ...ENDPOINT_FLAGS, labelled: LABELLED_FLAGS }))
})

const KEYS = Object.keys(tunnelShape.fields) as (keyof TunnelDefinition)[]
const VALUES: readonly unknown[] = [
  'text',
  '',
  '0.5',
  0,
  7,
  true,
  'no',
  [],
  ['a', 1, { b: 2 }],
  {},
  { unknown: 1 },
  null,
]

test('configuration keys and what they accept', (t: TestContext) => {
  t.assert.snapshot(
    table(KEYS, (key) =>
      VALUES.map((value) => {
        const problems: ConfigProblem[] = []
        const parsed = tunnelShape.read({ [key]: value }, ['web'], problems)
        return problems.length > 0 ? problems : (parsed ?? null)
      }),
    ),
  )
  const nested = (fields: Record<string, unknown>) => {
    const problems: ConfigProblem[] = []
    return [tunnelShape.read(fields, [], problems), problems]
  }
  t.assert.snapshot(
    ['nothing', 'userAgent_filter', 'auth', 'compresion', 'oauth2'].map((key) => nested({ [key]: 1 })),
  )
  const inner = { allow: 1, deny: 'x', provider: ['x'], scopes: 'x', add: {}, secret: true, unknown: 1 }
  t.assert.snapshot(table(KEYS, (key) => nested({ [key]: inner })))
})

/** A definition that uses every option an http tunnel can have. */
const HTTP: TunnelDefinition = {
  proto: 'http',
  addr: '3000',
  basic_auth: ['ann:pass:word1', 'bob:password2'],
  compression: true,
  circuit_breaker: 0.25,
  websocket_tcp_converter: true,
  request_header: { add: ['X-A: one', 'x-a:two'], remove: ['X-B'] },
  response_header: { add: ['X-C: three'] },
  oauth: {
    provider: 'google',
    client_id: 'c',
    client_secret: 's',
    scopes: ['email'],
    allow_domains: ['example.com'],
    allow_emails: ['a@example.com'],
  },
  verify_webhook: { provider: 'GitHub', secret: 'w' },
  user_agent_filter: { allow: ['^curl'], deny: ['bot'] },
  ip_restriction: { allow_cidrs: ['10.0.0.0/8'], deny_cidrs: ['10.1.0.0/16'] },
  proxy_proto: '2',
}
const { oauth: _, ...WITHOUT_OAUTH } = HTTP
const OIDC = { issuer_url: 'https://id.test', client_id: 'c', client_secret: 's', scopes: ['openid'] }

const bindsOf = (definition: TunnelDefinition) => attempt(() => toTunnelSpec('web', definition).binds)
const http = (definition: TunnelDefinition) => bindsOf({ proto: 'http', addr: '80', ...definition })

test('definitions become wire options', (t: TestContext) => {
  t.assert.snapshot(sorted(bindsOf(HTTP)))
  t.assert.snapshot(sorted(bindsOf({ ...WITHOUT_OAUTH, oidc: { ...OIDC, allow_domains: ['example.com'] } })))
  t.assert.snapshot(sorted(['tcp', 'tls'].map((proto) => bindsOf({ ...ip, proto, addr: '80' }))))
  t.assert.snapshot(sorted(UNUSUAL.map((definition) => [definition, http(definition)])))
})
const ip = { ip_restriction: HTTP.ip_restriction! }

const UNUSUAL: readonly TunnelDefinition[] = [
  {},
  { compression: false, websocket_tcp_converter: false, circuit_breaker: 0, basic_auth: [] },
  { request_header: {}, response_header: { add: [], remove: [] }, ip_restriction: {}, user_agent_filter: {} },
  { user_agent_filter: { allow: [] } },
  { ip_restriction: { allow_cidrs: [], deny_cidrs: ['::/0'] } },
  { basic_auth: ['nocolon'] },
  { basic_auth: [':password'] },
  { basic_auth: ['user:short'] },
  { basic_auth: [`${'u'.repeat(129)}:password`] },
  { request_header: { add: ['nocolon'] } },
  { response_header: { add: ['x-a: b\nc'] } },
  { response_header: { remove: ['not a name'] } },
  { ip_restriction: { allow_cidrs: ['10.0.0.1'] } },
  { ip_restriction: { deny_cidrs: ['10.0.0.0/33'] } },
  { oauth: {} },
  { oauth: { provider: 'google' } },
  { oauth: { provider: 'google' }, oidc: OIDC },
  { oidc: { issuer_url: 'https://id.test' } },
  { verify_webhook: { secret: 'x' } },
  { verify_webhook: { provider: 'sns' } },
]

test('keys apply to some kinds of tunnels only', (t: TestContext) => {
  const values: TunnelDefinition = { ...HTTP, oidc: OIDC, schemes: ['http'], host_header: 'rewrite' }
  const own = Object.keys(values).filter(
    (key) => key !== 'proto' && key !== 'addr',
  ) as (keyof TunnelDefinition)[]
  const kinds: Record<string, TunnelDefinition> = {
    http: { proto: 'http' },
    tcp: { proto: 'tcp' },
    tls: { proto: 'tls' },
    labelled: { labels: ['a=b'] },
  }
  t.assert.snapshot(
    table(own, (key) =>
      table(Object.keys(kinds), (kind) =>
        bindsOf({ ...kinds[kind], addr: '80', [key]: values[key] } as TunnelDefinition),
      ),
    ),
  )
})

test('flags become definitions', (t: TestContext) => {
  for (const flags of [...Object.values(ENDPOINT_FLAGS), LABELLED_FLAGS]) {
    const values = Object.fromEntries(
      flags.map(({ name, kind }) => [name, kind === 'list' ? [`${name} 1`, `${name} 2`] : name]),
    )
    t.assert.snapshot(sorted(toDefinition(flags, values)))
  }
})

test('the wire schema of a bind', (t: TestContext) => {
  t.assert.snapshot(sorted(JSON.parse(JSON.stringify(BindRequest))))
})

const WIRE: BindOpts = {
  ProxyProto: 2,
  Auth: 'old:pass:word',
  BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'p' }] },
  IPRestriction: { allow_cidrs: ['10.0.0.0/8'], deny_cidrs: ['10.1.0.0/16'] },
  RequestHeaders: { add: ['X-A: one:two'], remove: ['X-B '] },
  ResponseHeaders: { add: ['x-c:d'] },
  Compression: {},
  WebsocketTCPConverter: {},
  CircuitBreaker: { error_threshold: 0.5 },
  OAuth: {
    provider: 'google',
    client_id: 'c',
    client_secret: 's',
    allow_domains: ['ex.com'],
    allow_emails: ['a@ex.com'],
    scopes: ['email'],
  },
  OIDC: {
    issuer_url: 'https://id.test',
    client_id: 'c',
    client_secret: 's',
    scopes: ['openid'],
    allow_emails: ['a@ex.com'],
  },
  WebhookVerification: { provider: 'github', secret: 'w' },
  UserAgentFilter: { allow: ['curl.*'], deny: ['bot'] },
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

const UNUSUAL_WIRE: readonly BindOpts[] = [
  {},
  { Auth: 'nocolon' },
  { Auth: 'user:' },
  { Auth: 'a:b', BasicAuth: { credentials: [] } },
  { BasicAuth: {} },
  { BasicAuth: { credentials: [{ username: 'a' }] } },
  { BasicAuth: { credentials: [{ username: 'a', hashed_password: base64('$2b$10$x') }] } },
  { IPRestriction: {} },
  { IPRestriction: { allow_cidrs: ['10.0.0.1/8'] } },
  { IPRestriction: { deny_cidrs: ['everyone'] } },
  { RequestHeaders: { add: ['nocolon'] } },
  { ResponseHeaders: { add: [`:${'x'.repeat(100)}`] } },
  { RequestHeaders: {} },
  { OAuth: { provider: 'myspace' } },
  { OAuth: { provider: 'Google' } },
  { OIDC: { issuer_url: '', client_id: '' } },
  { WebhookVerification: { provider: 'nobody', secret: 'x' } },
  { WebhookVerification: { provider: 'SNS' } },
  { UserAgentFilter: {} },
  { UserAgentFilter: { deny: ['('] } },
  { TrafficPolicy: 'x' },
]

test('wire options become endpoint options', (t: TestContext) => {
  for (const proto of ['http', 'https', 'tcp', 'tls'] as const) {
    t.assert.snapshot(sorted(attempt(() => toEndpointOptions(proto, WIRE))))
    t.assert.snapshot(
      UNUSUAL_WIRE.map((opts) => [opts, sorted(attempt(() => toEndpointOptions(proto, opts)))]),
    )
  }
})

const SSH_LINES = [
  'http 80 --basic-auth u:p --auth v:q:r',
  'http --basic-auth nocolon',
  'http --auth :x',
  'http --cidr-allow 10.0.0.0/8 --cidr-allow 11.0.0.0/8 --cidr-deny ::/0',
  'http --cidr-allow 10.0.0.0/8,11.0.0.0/8',
  'tcp --cidr-deny ::/0',
  'tls --cidr-deny ::/0',
  'http --compression --websocket-tcp-converter --circuit-breaker 0.5',
  'http --circuit-breaker 0',
  'http --circuit-breaker lots',
  'http --circuit-breaker 2',
  'http --request-header-add "x-a: b" --request-header-remove x-c',
  'http --response-header-add "x-a: b" --response-header-remove x-c',
  'http 80 --request-header-add "x-a: b" --host-header rewrite',
  'http --request-header-add nocolon',
  'http --ua-filter-allow curl --ua-filter-deny bot --ua-filter-deny crawler',
  'http --verify-webhook github --verify-webhook-secret s',
  'http --verify-webhook sns',
  'http --verify-webhook-secret s',
  'http --verify-webhook nobody',
  'http --oauth google --oauth-client-id c --oauth-client-secret s --oauth-allow-email a@b.c --oauth-allow-domain b.c --oauth-scope email',
  'http --oauth google',
  'http --oauth-client-id c',
  'http --oidc https://id.test',
  'http --mutual-tls-cas x',
  'http --scheme http',
  ...[
    'basic-auth a:b',
    'auth a:b',
    'compression',
    'circuit-breaker 0.5',
    'host-header x',
    'request-header-add a:b',
    'request-header-remove a',
    'response-header-add a:b',
    'response-header-remove a',
    'websocket-tcp-converter',
    'ua-filter-allow a',
    'ua-filter-deny a',
    'verify-webhook github',
    'verify-webhook-secret s',
    'oauth google',
    'oauth-client-id c',
    'oauth-scope s',
  ].flatMap((option) => [`tcp --${option}`, `tls --${option}`]),
  'http --compression=true',
  'http --oauth',
]

test('SSH command lines become endpoint options', (t: TestContext) => {
  const read = (line: string) =>
    attempt(() => {
      const { proto = 'http', opts, ...rest } = parseCommand(line)
      return { ...rest, options: toEndpointOptions(proto, opts) }
    })
  t.assert.snapshot(SSH_LINES.map((line) => [line, sorted(read(line))]))
})

test('endpoint options become module settings, in the order in which a request passes them', (t: TestContext) => {
  // As they are, in order: sessions of visitors are bound to a hash of these settings.
  const built: [name: keyof typeof modules, ...unknown[]][] = []
  const isRequest = ([name]: (typeof built)[number]) => modules[name].phase === 'request'
  for (const [name, module] of Object.entries(modules)) {
    mock.method(
      module as { build(settings: unknown, context: unknown): unknown },
      'build',
      (...args: unknown[]) => {
        const [settings, context] = args as [object, { scopeId: string }]
        built.push([name as keyof typeof modules, settings, context.scopeId])
        return module.phase === 'tls' ? { clientAuthorities: ['x'] } : () => undefined
      },
    )
  }
  t.after(() => mock.restoreAll())
  const warnings: unknown[] = []
  const compile = (proto: 'http' | 'https' | 'tcp', options: EndpointOptions) => {
    built.length = 0
    const address = {
      proto,
      host: 'app.test',
      port: 443,
      hostport: 'app.test:443',
      url: `${proto}://app.test`,
    }
    const tunnel = { id: 'tn_1', accountId: 'ac_1', address, options }
    const dependencies = {
      runtime: { clock: {}, log: { warn: (...args: unknown[]) => warnings.push(args) } },
      ipPolicies: { accountRestriction: () => () => undefined },
    }
    const { connectionSteps, steps, wrapBackend, tls } = compileEndpoint(
      tunnel as never,
      undefined,
      dependencies as never,
    )
    return {
      // Only those that see requests have an order.
      built: [...built.filter(isRequest), ...built.filter((each) => !isRequest(each)).toSorted()],
      connectionSteps: connectionSteps.length,
      steps: steps?.length ?? null,
      wrapped: wrapBackend !== undefined,
      tls,
    }
  }
  const all = toEndpointOptions('https', WIRE)
  t.assert.snapshot(compile('https', { ...all, mutualTls: { caPem: 'x' } }))
  t.assert.snapshot(
    Object.keys(all)
      .toSorted()
      .map((key) => [key, compile('https', { proxyProto: 0, [key]: all[key as never] })]),
  )
  t.assert.snapshot(
    [
      { proxyProto: 0 },
      { proxyProto: 0, compression: false, websocketTcpConverter: false },
      { proxyProto: 0, basicAuth: [] },
      { proxyProto: 0, oauth: { ...all.oauth!, provider: 'myspace' } },
      { proxyProto: 0, tlsTermination: { certPem: 'c', keyPem: 'k' } },
      { proxyProto: 0, requestHeaders: { add: [['host', '//']], remove: [] } },
    ].map((options) => compile('http', options as EndpointOptions)),
  )
  t.assert.snapshot(warnings)
})
