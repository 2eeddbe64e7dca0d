import type { ModuleName } from '../../src/edge/modules/index.ts'
import { type configurationModules, type ResourceKind, resources } from '../../src/resources/index.ts'
import type { ApiClient } from './api.ts'
import { generateSshPublicKey } from './ssh-keys.ts'
import { createTestCa, type TestCa, type TlsIdentity } from './test-ca.ts'

export type Body = Record<string, unknown>

/** What the contract test needs for a stored resource beyond its declaration. */
export interface ResourceSample {
  /** Ids in its path. */
  parents?(api: ApiClient): Promise<Record<string, string>>
  /** A complete creation body; creates everything it refers to. */
  create(api: ApiClient): Promise<Body>
  /** Fields of which one alternative is required, as the schema cannot say. */
  alternatives?: readonly string[]
  /** The response fields after a creation with only the required fields. */
  defaults: Body
  /** New values for editable fields; empty where only texts are editable. */
  update?(api: ApiClient): Promise<Body>
  /** Values that fit the schema but are rejected, by field. */
  rejected?: Readonly<Record<string, readonly unknown[]>>
}

let lastNumber = 0
/** A number unique in this process. */
export function nextNumber(): number {
  lastNumber += 1
  return lastNumber
}

let authority: Promise<{ ca: TestCa; leaf: TlsIdentity }> | undefined
/** Certificate material, generated once: keys are slow to generate. */
export function certificates(): Promise<{ ca: TestCa; leaf: TlsIdentity }> {
  authority ??= createTestCa().then(async (ca) => {
    const { cert, key } = await ca.issue('app.example.com')
    return { ca: { ...ca, caPem: `${ca.caPem.trim()}\n` }, leaf: { cert: `${cert.trim()}\n`, key } }
  })
  return authority
}

export async function createSample(api: ApiClient, kind: StoredKind): Promise<Body & { id: string }> {
  const sample = samples[kind]
  const parents = (await sample.parents?.(api)) ?? {}
  const path = collectionPath(kind, parents)
  return api.create(path, await sample.create(api))
}

/** The collection path of a resource. */
export function collectionPath(kind: StoredKind, parents: Record<string, string> = {}): string {
  return resources[kind].path.replace(/\{([a-z_]+)\}/g, (_, name: string) => parents[name]!)
}

const TEXTS = { description: 'what it is for', metadata: '{"team":"blue"}' }
const EMPTY_TEXTS = { description: '', metadata: '' }
const TOO_LONG = { description: ['x'.repeat(256)], metadata: ['x'.repeat(4097)] }
export const NO_SUCH_ID = '0'.repeat(27)
const ipPolicy = async (api: ApiClient) => (await api.create('/ip_policies', {})).id as string
const backend = async (api: ApiClient) => (await api.create('/backends/http_response', {})).id as string
const sshAuthority = async (api: ApiClient) =>
  (await api.create('/ssh_certificate_authorities', {})).id as string
const certificateAuthority = async (api: ApiClient) =>
  (await api.create('/certificate_authorities', { ca_pem: (await certificates()).ca.caPem })).id as string
const configuration = async (api: ApiClient, type: string) =>
  (await api.create('/endpoint_configurations', { type })).id as string
const destination = async (api: ApiClient) =>
  (await api.create('/event_destinations', { target: { kinesis } })).id as string

/** Creates a reserved domain and returns its hostport, as edges name it. */
export async function hostport(api: ApiClient): Promise<string> {
  const { domain } = await api.create('/reserved_domains', { domain: `app${nextNumber()}.adit.localhost` })
  return `${domain}:443`
}

const REJECTED_ACLS = {
  'acl[0]': ['connect:example.com', 'bind:', 'bind:a..b', 'bind:=x', 'bind:host:99999', 'example.com', ''],
}

const kinesis = {
  auth: { creds: { cloud_access_key_id: 'AKIA', cloud_secret_access_key: 'secret' } },
  stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/events',
}

const ipRestriction = async (api: ApiClient) => ({ enabled: false, ip_policy_ids: [await ipPolicy(api)] })
const webhook = async () => ({ enabled: false, provider: 'github', secret: 'hook secret' })

/** A complete request body of every module. Mutually exclusive modules are last and left out of creations. */
export const moduleSamples: Record<
  ModuleName | 'backend' | keyof typeof configurationModules,
  (api: ApiClient) => Promise<Body>
> &
  Record<string, (api: ApiClient) => Promise<Body>> = {
  backend: async (api) => ({ enabled: false, backend_id: await backend(api) }),
  ip_restriction: ipRestriction,
  ip_policy: ipRestriction,
  basic_auth: async () => ({
    enabled: false,
    auth_provider_id: 'agent',
    realm: 'Staff only',
    allow_options: true,
  }),
  mutual_tls: async (api) => ({
    enabled: false,
    certificate_authority_ids: [await certificateAuthority(api)],
  }),
  tls_termination: async () => ({ enabled: false, terminate_at: 'edge', min_version: '1.3' }),
  circuit_breaker: async () => ({
    enabled: false,
    tripped_duration: 1,
    rolling_window: 2,
    num_buckets: 3,
    volume_threshold: 4,
    error_threshold_percentage: 0.25,
  }),
  compression: async () => ({ enabled: false }),
  request_headers: async () => ({ enabled: false, add: { 'x-one': '1' }, remove: ['x-two'] }),
  response_headers: async () => ({ enabled: false, add: { 'x-one': '1' }, remove: ['x-two'] }),
  webhook_verification: webhook,
  webhook_validation: webhook,
  websocket_tcp_converter: async () => ({ enabled: false }),
  // Has no rule, so that it fits all edges.
  traffic_policy: async () => ({ enabled: false, value: 'on_http_request: []' }),
  jwt_validation: async () => ({
    enabled: false,
    issuer: { allow_list: [{ value: 'https://id.example.com' }] },
    audience: { allow_list: [{ value: 'shop' }] },
    http: { tokens: [{ type: 'jwt', method: 'header', name: 'Authorization', prefix: 'Bearer ' }] },
    jws: {
      allowed_algorithms: ['ES256'],
      keys: { sources: { additional_jkus: ['https://id.example.com/keys'] } },
    },
  }),
  user_agent_filter: async () => ({ enabled: false, allow: ['^curl/'], deny: ['bot'] }),
  oauth: async () => ({
    enabled: false,
    options_passthrough: true,
    cookie_prefix: 'mine.',
    inactivity_timeout: 60,
    maximum_duration: 600,
    auth_check_interval: 30,
    provider: {
      github: {
        client_id: 'id',
        client_secret: 'secret',
        scopes: ['user'],
        email_addresses: ['a@example.com'],
        email_domains: ['example.com'],
        teams: ['org/team'],
        organizations: ['org'],
      },
    },
  }),
  saml: async () => ({
    enabled: false,
    options_passthrough: true,
    cookie_prefix: 'mine.',
    inactivity_timeout: 60,
    maximum_duration: 600,
    idp_metadata: '<EntityDescriptor entityID="https://idp.example.com"/>',
    force_authn: true,
    allow_idp_initiated: false,
    authorized_groups: ['staff'],
    nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
    email_attribute: 'mail',
    name_attribute: 'displayName',
    groups_attribute: 'Role',
  }),
  oidc: async () => ({
    enabled: false,
    options_passthrough: true,
    cookie_prefix: 'mine.',
    inactivity_timeout: 60,
    maximum_duration: 600,
    issuer: 'https://id.example.com',
    client_id: 'client',
    client_secret: 'client secret',
    token_endpoint_auth_method: 'client_secret_basic',
    scopes: ['profile'],
    userinfo_refresh_interval: 300,
  }),
}

async function modules(api: ApiClient, ...names: string[]): Promise<Body> {
  const entries = await Promise.all(names.map(async (name) => [name, await moduleSamples[name]!(api)]))
  return Object.fromEntries(entries)
}

/** The modules of a resource as they are shown before they are set. */
function unset(kind: ResourceKind): Body {
  return Object.fromEntries(resources[kind].modules.map((name) => [name, null]))
}

const CLOUD_POLICY = 'on_http_request: [{actions: [{type: deny}]}]'

/** Resources that are created through the API; all others come from agents and visitors. */
export type StoredKind = Exclude<ResourceKind, 'tunnel_sessions' | 'tunnels' | 'app_users' | 'app_sessions'>

let errorPages = 0
/** An account has at most one error page for a status. */
const nextErrorStatus = () => `${400 + (errorPages++ % 200)}`

/** One sample per resource: a resource without one does not compile. */
export const samples: Record<StoredKind, ResourceSample> = {
  api_keys: {
    create: async () => ({ ...TEXTS }),
    defaults: EMPTY_TEXTS,
    rejected: { ...TOO_LONG, owner_id: [`usr_${NO_SUCH_ID}`, `ak_${NO_SUCH_ID}`, 'me', ''] },
  },
  credentials: {
    create: async () => ({
      ...TEXTS,
      acl: ['bind:*.example.com', 'bind:1.tcp.example.com:2000', 'bind:a=b'],
    }),
    defaults: { ...EMPTY_TEXTS, acl: [] },
    update: async () => ({ acl: ['bind:*=blue'] }),
    rejected: { ...TOO_LONG, ...REJECTED_ACLS, owner_id: [`usr_${NO_SUCH_ID}`, `bot_${NO_SUCH_ID}`] },
  },
  ssh_credentials: {
    create: async () => ({ ...TEXTS, acl: ['*'], public_key: generateSshPublicKey() }),
    defaults: { ...EMPTY_TEXTS, acl: [] },
    update: async () => ({ acl: ['bind:app.example.com'] }),
    rejected: {
      ...TOO_LONG,
      ...REJECTED_ACLS,
      public_key: ['', 'ssh-ed25519', 'ssh-ed25519 AAAA', '-----BEGIN PUBLIC KEY-----', 'x'.repeat(16_385)],
      owner_id: [`usr_${NO_SUCH_ID}`],
    },
  },
  ip_policies: { create: async () => ({ ...TEXTS }), defaults: EMPTY_TEXTS, rejected: TOO_LONG },
  ip_policy_rules: {
    create: async (api) => ({
      ...TEXTS,
      cidr: `10.${nextNumber() % 256}.0.0/16`,
      action: 'deny',
      ip_policy_id: await ipPolicy(api),
    }),
    defaults: EMPTY_TEXTS,
    update: async () => ({ cidr: '2001:db8::/32' }),
    rejected: {
      ...TOO_LONG,
      cidr: ['10.0.0', '10.0.0.1/8', '10.0.0.0/33', '2001:db8::/129', 'example.com/8', '', '10.0.0.0/-1'],
      ip_policy_id: [`ipp_${NO_SUCH_ID}`, `ipr_${NO_SUCH_ID}`, 'ipp_', ''],
    },
  },
  ip_restrictions: {
    create: async (api) => ({
      ...TEXTS,
      type: 'agent',
      ip_policy_ids: [await ipPolicy(api)],
      enforced: true,
    }),
    defaults: { ...EMPTY_TEXTS, enforced: false },
    update: async (api) => ({ enforced: false, ip_policy_ids: [await ipPolicy(api), await ipPolicy(api)] }),
    rejected: { ...TOO_LONG, ip_policy_ids: [[]], 'ip_policy_ids[0]': [`ipp_${NO_SUCH_ID}`, 'ipp_x'] },
  },
  reserved_addrs: {
    create: async (api) => ({
      ...TEXTS,
      region: 'eu',
      endpoint_configuration_id: await configuration(api, 'tcp'),
    }),
    defaults: { ...EMPTY_TEXTS, region: 'us', endpoint_configuration: null },
    update: async (api) => ({ endpoint_configuration_id: await configuration(api, 'tcp') }),
    rejected: { ...TOO_LONG, endpoint_configuration_id: [`ec_${NO_SUCH_ID}`, 'ec'] },
  },
  reserved_domains: {
    create: async (api) => ({
      ...TEXTS,
      domain: `app${nextNumber()}.example.com`,
      region: 'jp',
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
      http_endpoint_configuration_id: await configuration(api, 'http'),
      https_endpoint_configuration_id: await configuration(api, 'https'),
    }),
    defaults: {
      ...EMPTY_TEXTS,
      region: null,
      certificate: null,
      http_endpoint_configuration: null,
      https_endpoint_configuration: null,
    },
    update: async (api) => ({
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'rsa' },
      http_endpoint_configuration_id: await configuration(api, 'http'),
    }),
    rejected: {
      ...TOO_LONG,
      domain: ['', 'com', 'a..example.com', 'a_b.example.com', '-a.example.com', 'a.*.example.com', '*'],
      http_endpoint_configuration_id: [`ec_${NO_SUCH_ID}`],
    },
  },
  endpoint_configurations: {
    create: async (api) => ({
      ...TEXTS,
      type: 'https',
      ...(await modules(
        api,
        'basic_auth',
        'circuit_breaker',
        'compression',
        'request_headers',
        'response_headers',
        'ip_policy',
        'mutual_tls',
        'tls_termination',
        'webhook_validation',
        'oidc',
      )),
    }),
    defaults: { ...EMPTY_TEXTS, ...unset('endpoint_configurations') },
    update: async (api) => ({ backend: { enabled: true, backend_id: await backend(api) } }),
    rejected: { ...TOO_LONG, 'backend.backend_id': [`bkdhr_${NO_SUCH_ID}`] },
  },
  agent_ingresses: {
    create: async () => ({
      ...TEXTS,
      domain: `tunnel${nextNumber()}.example.com`,
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'rsa' },
    }),
    defaults: { ...EMPTY_TEXTS, certificate_management_policy: null, certificate_management_status: null },
    update: async () => ({
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
    }),
    rejected: { ...TOO_LONG, domain: ['', 'com', '*.example.com', 'a.adit.localhost'] },
  },
  certificate_authorities: {
    create: async () => ({ ...TEXTS, ca_pem: (await certificates()).ca.caPem }),
    defaults: EMPTY_TEXTS,
    rejected: {
      ...TOO_LONG,
      ca_pem: ['', 'pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
    },
  },
  tls_certificates: {
    create: async () => {
      const { leaf } = await certificates()
      return { ...TEXTS, certificate_pem: leaf.cert, private_key_pem: leaf.key }
    },
    defaults: { ...EMPTY_TEXTS, issued_at: null },
    rejected: { ...TOO_LONG, certificate_pem: ['', 'pem'], private_key_pem: ['', 'pem'] },
  },
  ssh_certificate_authorities: {
    create: async () => ({ ...TEXTS, private_key_type: 'ecdsa', elliptic_curve: 'p384' }),
    defaults: { ...EMPTY_TEXTS, key_type: 'ed25519' },
    rejected: { ...TOO_LONG, key_size: [2048] },
  },
  ssh_user_certificates: {
    create: async (api) => ({
      ...TEXTS,
      ssh_certificate_authority_id: await sshAuthority(api),
      public_key: generateSshPublicKey(),
      principals: ['root', 'deploy'],
      critical_options: { 'force-command': '/bin/date', 'source-address': '10.0.0.0/8' },
      extensions: { 'permit-pty': '', 'permit-port-forwarding': '' },
      valid_after: '2026-01-01T00:00:00Z',
      valid_until: '2036-01-01T00:00:00Z',
    }),
    defaults: {
      ...EMPTY_TEXTS,
      principals: [],
      critical_options: {},
      extensions: { 'permit-pty': '', 'permit-user-rc': '' },
    },
    rejected: {
      ...TOO_LONG,
      ssh_certificate_authority_id: [`sshca_${NO_SUCH_ID}`, `ca_${NO_SUCH_ID}`, ''],
      public_key: ['', 'ssh-rsa AAAA'],
      'principals[0]': ['', 'a,b'],
      critical_options: [{ 'no-such-option': 'x' }, { 'source-address': '10.0.0.1/8' }],
      valid_until: ['2025-12-31T23:59:59Z', 'tomorrow', '2030-01-01'],
      valid_after: ['yesterday'],
    },
  },
  ssh_host_certificates: {
    create: async (api) => ({
      ...TEXTS,
      ssh_certificate_authority_id: await sshAuthority(api),
      public_key: generateSshPublicKey('p256'),
      principals: ['host.example.com'],
      valid_after: '2026-01-01T00:00:00Z',
      valid_until: '2036-01-01T00:00:00Z',
    }),
    defaults: { ...EMPTY_TEXTS, principals: [] },
    rejected: {
      ...TOO_LONG,
      ssh_certificate_authority_id: [`sshca_${NO_SUCH_ID}`],
      public_key: ['rubbish'],
      valid_until: ['2025-12-31T23:59:59Z'],
    },
  },
  edges_https: {
    create: async (api) => ({
      ...TEXTS,
      hostports: [await hostport(api)],
      ...(await modules(api, 'mutual_tls', 'tls_termination')),
    }),
    defaults: { ...EMPTY_TEXTS, hostports: null, mutual_tls: null, tls_termination: null, routes: [] },
    update: async (api) => ({ hostports: [await hostport(api), await hostport(api)] }),
    rejected: { ...TOO_LONG, ...rejectedHostports() },
  },
  edges_https_routes: {
    parents: async (api) => ({ edge_id: (await api.create('/edges/https', {})).id }),
    create: async (api) => ({
      ...TEXTS,
      match_type: 'path_prefix',
      match: `/path${nextNumber()}`,
      ...(await modules(
        api,
        'backend',
        'ip_restriction',
        'circuit_breaker',
        'compression',
        'request_headers',
        'response_headers',
        'webhook_verification',
        'websocket_tcp_converter',
        'user_agent_filter',
        'jwt_validation',
        'traffic_policy',
        'oidc',
      )),
    }),
    defaults: {
      ...EMPTY_TEXTS,
      ...unset('edges_https_routes'),
    },
    update: async (api) => ({
      match_type: 'exact_path',
      match: '/other',
      backend: { enabled: true, backend_id: await backend(api) },
    }),
    rejected: {
      ...TOO_LONG,
      match: ['', 'path', '/a?b', '/a//b', '/a/../b', '/a b', '/a%2Fb', '/é', `/${'a'.repeat(1024)}`],
      'backend.backend_id': [`bkdhr_${NO_SUCH_ID}`, `ipp_${NO_SUCH_ID}`],
    },
  },
  edges_tls: {
    create: async (api) => ({
      ...TEXTS,
      hostports: [await hostport(api)],
      ...(await modules(api, 'backend', 'ip_restriction', 'mutual_tls', 'tls_termination', 'traffic_policy')),
    }),
    defaults: {
      ...EMPTY_TEXTS,
      hostports: null,
      backend: null,
      ip_restriction: null,
      mutual_tls: null,
      tls_termination: null,
    },
    update: async (api) => ({
      hostports: [await hostport(api)],
      backend: { enabled: true, backend_id: await backend(api) },
    }),
    rejected: {
      ...TOO_LONG,
      ...rejectedHostports(),
      'mutual_tls.certificate_authority_ids[0]': [`ca_${NO_SUCH_ID}`],
    },
  },
  edges_tcp: {
    create: async (api) => ({
      ...TEXTS,
      hostports: [(await api.create('/reserved_addrs', {})).addr],
      ...(await modules(api, 'backend', 'ip_restriction', 'traffic_policy')),
    }),
    defaults: { ...EMPTY_TEXTS, hostports: null, backend: null, ip_restriction: null },
    update: async (api) => ({ hostports: [(await api.create('/reserved_addrs', {})).addr] }),
    rejected: { ...TOO_LONG, 'hostports[0]': ['localhost', 'localhost:1', 'localhost:70000', ':1'] },
  },
  backends_http_response: {
    create: async () => ({
      ...TEXTS,
      body: 'hello',
      headers: { 'content-type': 'text/plain' },
      status_code: 404,
    }),
    defaults: { ...EMPTY_TEXTS, body: '', headers: null, status_code: 200 },
    update: async () => ({ body: '', headers: { 'x-one': 'two' }, status_code: 503 }),
    rejected: {
      ...TOO_LONG,
      status_code: [199, 600, 0, -1],
      headers: [{ 'a b': 'c' }, { '': 'c' }, { A: '1', a: '2' }],
      'headers.a': ['line\r\nend'],
    },
  },
  backends_tunnel_group: {
    create: async () => ({ ...TEXTS, labels: { team: 'blue', app: 'web' } }),
    defaults: { ...EMPTY_TEXTS, labels: {}, tunnels: [] },
    update: async () => ({ labels: { team: 'red' } }),
    rejected: { ...TOO_LONG, labels: [{ 'a=b': 'c' }, { '': 'c' }], 'labels.a': ['b=c'] },
  },
  backends_weighted: {
    create: async (api) => ({
      ...TEXTS,
      backends: { [await backend(api)]: 10_000, [await backend(api)]: 0 },
    }),
    defaults: { ...EMPTY_TEXTS, backends: {} },
    update: async (api) => ({ backends: { [await backend(api)]: 1 } }),
    rejected: { ...TOO_LONG, backends: [{ [`ipp_${NO_SUCH_ID}`]: 1 }, { x: 1 }] },
  },
  backends_failover: {
    create: async (api) => ({ ...TEXTS, backends: [await backend(api), await backend(api)] }),
    defaults: { ...EMPTY_TEXTS, backends: [] },
    update: async (api) => ({ backends: [await backend(api)] }),
    rejected: { ...TOO_LONG, 'backends[0]': [`bkdhr_${NO_SUCH_ID}`, `ipp_${NO_SUCH_ID}`, ''] },
  },
  backends_static: {
    create: async () => ({ ...TEXTS, address: 'app.example.com:8080', tls: { enabled: true } }),
    defaults: { ...EMPTY_TEXTS, tls: { enabled: false } },
    update: async () => ({ address: '[2001:db8::1]:80', tls: { enabled: false } }),
    rejected: { ...TOO_LONG, address: ['', 'example.com', 'example.com:0', '1.2.3:80', 'a b:80'] },
  },
  error_pages: {
    create: async () => ({ ...TEXTS, status: nextErrorStatus(), html: '<h1>{{title}}</h1>' }),
    defaults: EMPTY_TEXTS,
    update: async () => ({ status: nextErrorStatus(), html: '<h1>{{status}}</h1><p>{{message}}</p>' }),
    rejected: {
      ...TOO_LONG,
      status: ['', '200', '399', '600', '6xx', 'any', '4XX', '44'],
      html: ['', ' ', '{{unknown}}', 'ö'.repeat(32_769), 'x'.repeat(65_537)],
    },
  },
  endpoints: {
    create: async () => ({
      ...TEXTS,
      type: 'cloud',
      url: `https://app${nextNumber()}.internal`,
      bindings: ['internal'],
      pooling_enabled: true,
      pooling_weight: 3,
      traffic_policy: CLOUD_POLICY,
    }),
    defaults: {
      ...EMPTY_TEXTS,
      type: 'cloud',
      bindings: ['internal'],
      pooling_enabled: false,
      pooling_weight: 1,
    },
    update: async () => ({
      url: `https://other${nextNumber()}.internal:8443`,
      pooling_enabled: false,
      pooling_weight: 0,
      traffic_policy: CLOUD_POLICY.replace('deny', 'close-connection'),
    }),
    rejected: {
      ...TOO_LONG,
      type: ['ephemeral'],
      pooling_weight: [-1, 10_001, 1.5],
      url: ['', 'app.internal', 'tcp://db.internal', 'https://app.internal/path', 'https://x.example.com'],
    },
  },
  vaults: {
    create: async () => ({ ...TEXTS, name: `vault-${nextNumber()}` }),
    defaults: EMPTY_TEXTS,
    update: async () => ({ name: `vault/${nextNumber()}` }),
    rejected: { ...TOO_LONG, name: ['', 'a b', 'a\n', 'x'.repeat(256)] },
  },
  vault_secrets: {
    create: async (api) => ({
      ...TEXTS,
      name: `secret-${nextNumber()}`,
      value: 'value',
      vault_id: (await api.create('/vaults', { name: `vault-${nextNumber()}` })).id,
    }),
    alternatives: ['vault_id'],
    defaults: EMPTY_TEXTS,
    update: async () => ({ name: `secret.${nextNumber()}`, value: 'other' }),
    rejected: {
      ...TOO_LONG,
      name: ['', 'a b', 'x'.repeat(256)],
      value: ['', 'x'.repeat(65_537)],
      vault_id: [`vault_${NO_SUCH_ID}`],
      vault_name: ['no-such-vault'],
    },
  },
  event_destinations: {
    create: async () => ({ ...TEXTS, format: 'json', target: { kinesis } }),
    defaults: { ...EMPTY_TEXTS, format: 'json' },
    update: async () => ({
      target: {
        kinesis: {
          auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/sender' } },
          stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/other',
        },
      },
    }),
    rejected: {
      ...TOO_LONG,
      format: ['xml', ''],
      target: [{}, { kinesis, monitoring: { api_key: 'k' } }],
      // Partition and region become parts of a host name.
      'target.kinesis.stream_arn': [
        'arn:aws:kinesis:evil.example/:123456789012:stream/x',
        'arn:aws:kinesis:x@evil.example:123456789012:stream/x',
        'arn:evil:kinesis:us-east-1:123456789012:stream/x',
      ],
    },
  },
  event_subscriptions: {
    create: async (api) => ({
      ...TEXTS,
      sources: [
        { type: 'ip_policy_created.v0' },
        { type: 'http_request_complete.v0', fields: ['conn.client_ip'], filter: '' },
      ],
      destination_ids: [await destination(api)],
    }),
    defaults: { ...EMPTY_TEXTS, sources: [], destinations: [] },
    update: async (api) => ({
      sources: [{ type: 'ip_policy_deleted.v0' }],
      destination_ids: [await destination(api), await destination(api)],
    }),
    rejected: {
      ...TOO_LONG,
      'sources[0].type': ['no_such_event.v0', ''],
      sources: [[{ type: 'ip_policy_created.v0' }, { type: 'ip_policy_created.v0' }]],
      'destination_ids[0]': [`ed_${NO_SUCH_ID}`],
    },
  },
  users: {
    create: async () => ({
      email: `person${nextNumber()}@example.com`,
      name: 'A Person',
      role: 'read_only',
      active: false,
    }),
    defaults: { name: '', role: 'developer', active: true },
    update: async () => ({ name: 'Another', role: 'developer', active: true }),
    rejected: { email: ['', 'person', 'a b@example.com'] },
  },
  bot_users: {
    create: async () => ({ name: `bot ${nextNumber()}`, role: 'read_only', active: false }),
    defaults: { role: 'developer', active: true },
    update: async () => ({ name: `bot ${nextNumber()}`, role: 'developer', active: true }),
    rejected: { name: ['', '  ', 'a\nb'] },
  },
  kubernetes_operators: {
    create: async () => ({
      ...TEXTS,
      enabled_features: ['ingress', 'gateway', 'bindings'],
      region: 'eu',
      deployment: { name: 'operator', namespace: 'ingress', version: '0.19.0', cluster_name: 'blue' },
      binding: { endpoint_selectors: ['true'], csr: '' },
    }),
    defaults: {
      ...EMPTY_TEXTS,
      enabled_features: [],
      region: 'global',
      deployment: { name: '', namespace: '', version: '', cluster_name: '' },
      binding: null,
    },
    update: async () => ({
      enabled_features: ['gateway'],
      region: 'us',
      binding: { endpoint_selectors: ["endpoint.proto == 'http'"], csr: '' },
    }),
    rejected: {
      ...TOO_LONG,
      'enabled_features[0]': ['dns'],
      'binding.csr': ['PEM'],
      'binding.endpoint_selectors[0]': ['endpoint.', '1'],
    },
  },
  abuse_reports: {
    create: async () => ({
      urls: ['https://app.example.com/login', 'https://app.example.com/form'],
      metadata: 'phishing',
    }),
    defaults: {
      metadata: '',
      status: 'PENDING',
      hostnames: [{ hostname: 'app.example.com', status: 'PENDING' }],
    },
    rejected: {
      urls: [[]],
      'urls[0]': ['app.example.com', 'ftp://app.example.com'],
      metadata: ['x'.repeat(4097)],
    },
  },
}

function rejectedHostports() {
  return {
    'hostports[0]': ['app.example.com', 'nobody.example.com:443', ':443', 'a b:443', 'app.example.com:0'],
  }
}
