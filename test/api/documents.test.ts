import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestResponse } from '../support/api.ts'
import { shareApi, startApi } from '../support/api.ts'
import { createOnline } from '../support/online.ts'
import { type Body, collectionPath, type StoredKind, samples } from '../support/samples.ts'

const { fresh } = await shareApi()

/**
 * The tables of documents 1 and 2, row by row. They are retyped from the documents rather than derived from our
 * declarations, so that a declaration that drifts from the documents fails a test.
 */

type Kind =
  | 'string'
  | 'string?'
  | 'time'
  | 'int'
  | 'Ref'
  | 'Ref?'
  | 'Ref[]'
  | 'string[]'
  | 'string[]?'
  | 'Map<string>'
  | 'Map<string>?'
  | 'Map<int>'
  | 'policy?'
  | 'status?'
  | 'delivery?'
  | 'added'
  | 'module?'
  | 'target'
  | 'null'

interface DocumentedResource {
  /** Singular name in the endpoints table. */
  readonly kind: StoredKind
  readonly prefix: string
  readonly base: string
  readonly listKey: string
  readonly response: Readonly<Record<string, Kind>>
  readonly create: readonly string[]
  readonly update?: readonly string[]
  readonly noDelete?: boolean
}

const commonFields: Record<string, Kind> = {
  id: 'string',
  uri: 'string',
  created_at: 'time',
  description: 'string',
  metadata: 'string',
}
const textFields = ['description', 'metadata']

const DOCUMENTED: readonly DocumentedResource[] = [
  {
    kind: 'api_keys',
    prefix: 'ak',
    base: '/api_keys',
    listKey: 'keys',
    response: { ...commonFields, token: 'string?', owner_id: 'string' },
    create: [...textFields, 'owner_id'],
    update: textFields,
  },
  {
    kind: 'credentials',
    prefix: 'cr',
    base: '/credentials',
    listKey: 'credentials',
    response: { ...commonFields, token: 'string?', acl: 'string[]', owner_id: 'string' },
    create: [...textFields, 'acl', 'owner_id'],
    update: [...textFields, 'acl'],
  },
  {
    kind: 'ssh_credentials',
    prefix: 'sshcr',
    base: '/ssh_credentials',
    listKey: 'ssh_credentials',
    response: { ...commonFields, public_key: 'string', acl: 'string[]', owner_id: 'string' },
    create: [...textFields, 'acl', 'public_key', 'owner_id'],
    update: [...textFields, 'acl'],
  },
  {
    kind: 'ip_policy_rules',
    prefix: 'ipr',
    base: '/ip_policy_rules',
    listKey: 'ip_policy_rules',
    response: { ...commonFields, cidr: 'string', ip_policy: 'Ref', action: 'string' },
    create: [...textFields, 'cidr', 'ip_policy_id', 'action'],
    update: [...textFields, 'cidr'],
  },
  {
    kind: 'reserved_addrs',
    prefix: 'ra',
    base: '/reserved_addrs',
    listKey: 'reserved_addrs',
    response: { ...commonFields, addr: 'string', region: 'string', endpoint_configuration: 'Ref?' },
    create: [...textFields, 'region'],
    update: [...textFields, 'endpoint_configuration_id'],
  },
  {
    kind: 'reserved_domains',
    prefix: 'rd',
    base: '/reserved_domains',
    listKey: 'reserved_domains',
    response: {
      ...commonFields,
      domain: 'string',
      region: 'string?',
      cname_target: 'string?',
      http_endpoint_configuration: 'Ref?',
      https_endpoint_configuration: 'Ref?',
      certificate: 'Ref?',
      certificate_management_policy: 'policy?',
      certificate_management_status: 'status?',
      acme_challenge_cname_target: 'string?',
      resolves_to: 'added',
    },
    create: ['domain', 'region', ...textFields, 'certificate_id', 'certificate_management_policy'],
    update: [
      ...textFields,
      'certificate_id',
      'certificate_management_policy',
      'http_endpoint_configuration_id',
      'https_endpoint_configuration_id',
    ],
  },
  {
    kind: 'agent_ingresses',
    prefix: 'agin',
    base: '/agent_ingresses',
    listKey: 'ingresses',
    response: {
      ...commonFields,
      domain: 'string',
      ns_targets: 'string[]',
      region_domains: 'string[]',
      certificate_management_policy: 'policy?',
      certificate_management_status: 'status?',
    },
    create: [...textFields, 'domain', 'certificate_management_policy'],
    update: [...textFields, 'certificate_management_policy'],
  },
  {
    kind: 'certificate_authorities',
    prefix: 'ca',
    base: '/certificate_authorities',
    listKey: 'certificate_authorities',
    response: {
      ...commonFields,
      ca_pem: 'string',
      subject_common_name: 'string',
      not_before: 'time',
      not_after: 'time',
      key_usages: 'string[]',
      extended_key_usages: 'string[]',
    },
    create: [...textFields, 'ca_pem'],
  },
  {
    kind: 'ssh_certificate_authorities',
    prefix: 'sshca',
    base: '/ssh_certificate_authorities',
    listKey: 'ssh_certificate_authorities',
    response: { ...commonFields, public_key: 'string', key_type: 'string' },
    create: [...textFields, 'private_key_type', 'elliptic_curve', 'key_size'],
    update: textFields,
  },
  {
    kind: 'ssh_user_certificates',
    prefix: 'sucrt',
    base: '/ssh_user_certificates',
    listKey: 'ssh_user_certificates',
    response: {
      ...commonFields,
      public_key: 'string',
      key_type: 'string',
      ssh_certificate_authority_id: 'string',
      principals: 'string[]',
      critical_options: 'Map<string>',
      extensions: 'Map<string>',
      valid_after: 'time',
      valid_until: 'time',
      certificate: 'string',
    },
    create: [
      'ssh_certificate_authority_id',
      'public_key',
      'principals',
      'critical_options',
      'extensions',
      'valid_after',
      'valid_until',
      ...textFields,
    ],
  },
  {
    kind: 'edges_tls',
    prefix: 'edgtls',
    base: '/edges/tls',
    listKey: 'tls_edges',
    response: {
      ...commonFields,
      hostports: 'string[]?',
      backend: 'module?',
      ip_restriction: 'module?',
      mutual_tls: 'module?',
      tls_termination: 'module?',
      traffic_policy: 'added',
      policies: 'null',
    },
    create: [...textFields, 'hostports', 'backend', 'ip_restriction', 'mutual_tls', 'tls_termination'],
    update: [...textFields, 'hostports', 'backend', 'ip_restriction', 'mutual_tls', 'tls_termination'],
    noDelete: true,
  },
  {
    kind: 'edges_tcp',
    prefix: 'edgtcp',
    base: '/edges/tcp',
    listKey: 'tcp_edges',
    response: {
      ...commonFields,
      hostports: 'string[]?',
      backend: 'module?',
      ip_restriction: 'module?',
      traffic_policy: 'added',
      policies: 'null',
    },
    create: [...textFields, 'hostports', 'backend', 'ip_restriction'],
    update: [...textFields, 'hostports', 'backend', 'ip_restriction'],
  },
  {
    kind: 'backends_http_response',
    prefix: 'bkdhr',
    base: '/backends/http_response',
    listKey: 'backends',
    response: { ...commonFields, body: 'string', headers: 'Map<string>?', status_code: 'int' },
    create: [...textFields, 'body', 'headers', 'status_code'],
    update: [...textFields, 'body', 'headers', 'status_code'],
  },
  {
    kind: 'backends_tunnel_group',
    prefix: 'bkdtg',
    base: '/backends/tunnel_group',
    listKey: 'backends',
    response: { ...commonFields, labels: 'Map<string>', tunnels: 'Ref[]' },
    create: [...textFields, 'labels'],
    update: [...textFields, 'labels'],
  },
  {
    kind: 'backends_weighted',
    prefix: 'bkdwd',
    base: '/backends/weighted',
    listKey: 'backends',
    response: { ...commonFields, backends: 'Map<int>' },
    create: [...textFields, 'backends'],
    update: [...textFields, 'backends'],
  },
  {
    kind: 'backends_failover',
    prefix: 'bkdfo',
    base: '/backends/failover',
    listKey: 'backends',
    response: { ...commonFields, backends: 'string[]' },
    create: [...textFields, 'backends'],
    update: [...textFields, 'backends'],
  },
  {
    kind: 'event_destinations',
    prefix: 'ed',
    base: '/event_destinations',
    listKey: 'event_destinations',
    response: { ...commonFields, format: 'string', target: 'target', status: 'delivery?' },
    create: ['metadata', 'description', 'format', 'target'],
  },
]

const isText = (value: unknown): value is string => typeof value === 'string'
const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isTime = (value: unknown) => isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)
const isRef = (value: unknown) =>
  isObject(value) && isText(value.id) && isText(value.uri) && Object.keys(value).length === 2
const isJob = (value: unknown) =>
  isObject(value) &&
  (value.error_code === null || ['INTERNAL_ERROR', 'DNS_ERROR'].includes(value.error_code as string)) &&
  isText(value.msg) &&
  isTime(value.started_at) &&
  (value.retries_at === null || isTime(value.retries_at))

const VALIDATORS: Record<Kind, (value: unknown) => boolean> = {
  string: isText,
  'string?': (value) => value === null || isText(value),
  time: isTime,
  int: Number.isInteger,
  Ref: isRef,
  'Ref?': (value) => value === null || isRef(value),
  'Ref[]': (value) => Array.isArray(value) && value.every(isRef),
  'string[]': (value) => Array.isArray(value) && value.every(isText),
  'string[]?': (value) => value === null || (Array.isArray(value) && value.every(isText)),
  'Map<string>': (value) => isObject(value) && Object.values(value).every(isText),
  'Map<string>?': (value) => value === null || (isObject(value) && Object.values(value).every(isText)),
  'Map<int>': (value) => isObject(value) && Object.values(value).every(Number.isInteger),
  'policy?': (value) =>
    value === null ||
    (isObject(value) &&
      isText(value.authority) &&
      ['rsa', 'ecdsa'].includes(value.private_key_type as string)),
  'delivery?': (value) => value === null || (typeof value === 'object' && 'backlog' in value),
  'status?': (value) =>
    value === null ||
    (isObject(value) &&
      (value.renews_at === null || isTime(value.renews_at)) &&
      (value.provisioning_job === null || isJob(value.provisioning_job))),
  // Not in the documents; clients of the original expect it.
  added: (value) => value !== undefined,
  'module?': (value) => value === null || (isObject(value) && typeof value.enabled === 'boolean'),
  target: (value) => isObject(value) && Object.values(value).filter((member) => member !== null).length === 1,
  null: (value) => value === null,
}

function assertDocumented(row: DocumentedResource, response: Body): void {
  for (const [field, kind] of Object.entries(row.response))
    assert.ok(
      VALIDATORS[kind](response[field]),
      `${row.base} ${field}: ${JSON.stringify(response[field])} is no ${kind}`,
    )
  assert.deepEqual(Object.keys(response).toSorted(), Object.keys(row.response).toSorted(), row.base)
}

for (const row of DOCUMENTED)
  test(`${row.base} as documented`, async () => {
    const api = await fresh()
    assert.equal(collectionPath(row.kind), row.base)
    const sample = samples[row.kind]
    const sampleBody = await sample.create(api.call)
    const body = Object.fromEntries(
      row.create.flatMap((field) => (field in sampleBody ? [[field, sampleBody[field]]] : [])),
    )
    if (row.create.includes('owner_id')) body.owner_id = api.account.userId

    const created = await api.call('POST', row.base, { body, headers: { 'service-version': '2' } })

    assert.equal(created.status, 201, JSON.stringify(created.body))
    assert.match(created.headers.get('content-type') ?? '', /^application\/json/)
    const { id, uri } = created.body
    assert.match(id, new RegExp(`^${row.prefix}_[0-9A-Za-z]+$`))
    assert.equal(uri, row.kind === 'agent_ingresses' ? `${row.base}/${id}` : `${api.url}${row.base}/${id}`)
    assertDocumented(row, created.body)
    const response = await api.call('GET', `${row.base}/${id}`)
    assert.equal(response.status, 200)
    assertDocumented(row, response.body)
    const listResponse = await api.call('GET', row.base)
    assert.equal(listResponse.status, 200)
    assert.deepEqual(Object.keys(listResponse.body), [row.listKey, 'uri', 'next_page_uri'])
    for (const item of listResponse.body[row.listKey]) assertDocumented(row, item)
    assert.deepEqual(listResponse.body[row.listKey][0], response.body)
    const update: Body = {
      ...sampleBody,
      ...(await sample.update?.(api.call)),
      description: 'new',
      metadata: 'new',
    }
    for (const field of row.update ?? []) {
      if (update[field] === undefined) continue
      const updateResponse = await api.call('PATCH', `${row.base}/${id}`, {
        body: { [field]: update[field] },
      })
      assert.equal(updateResponse.status, 200, `${field}: ${JSON.stringify(updateResponse.body)}`)
      assertDocumented(row, updateResponse.body)
      if (textFields.includes(field)) assert.equal(updateResponse.body[field], 'new')
    }
    const deleteResponse = await api.call('DELETE', `${row.base}/${id}`)
    assert.equal(deleteResponse.status, 204)
    assert.equal(deleteResponse.body, '')
    assert.equal((await api.call('GET', `${row.base}/${id}`)).status, 404)
  })

test('tunnel sessions can be listed, read and sent commands as documented', async (t) => {
  const online = createOnline()
  const api = await startApi(t, { online })
  const empty = await api.call('GET', '/tunnel_sessions')
  assert.deepEqual(empty.body, {
    tunnel_sessions: [],
    uri: `${api.url}/tunnel_sessions`,
    next_page_uri: null,
  })
  const { session } = online.putOnline(api.account.accountId, api.url)
  const fields: Record<string, Kind> = {
    id: 'string',
    uri: 'string',
    agent_version: 'string',
    credential: 'Ref',
    ip: 'string',
    metadata: 'string',
    os: 'string',
    region: 'string',
    started_at: 'time',
    transport: 'string',
  }

  const { body: list } = await api.call('GET', '/tunnel_sessions')
  const { body: item } = await api.call('GET', `/tunnel_sessions/${session}`)

  assert.deepEqual(list.tunnel_sessions, [item])
  // Agents of this platform have several connections, which the documents do not know.
  assert.deepEqual(Object.keys(item), [...Object.keys(fields), 'legs'])
  for (const [field, kind] of Object.entries(fields)) assert.ok(VALIDATORS[kind](item[field]), field)
  for (const command of ['restart', 'stop', 'update'] as const) {
    const response = await api.call('POST', `/tunnel_sessions/${session}/${command}`, { body: {} })
    assert.equal(response.status, 204)
    assert.equal(response.body, '')
    assert.deepEqual(online.commands.at(-1), [command, session])
  }
  const rejectUpdate = async (): Promise<TestResponse> =>
    api.call('POST', `/tunnel_sessions/${session}/update`, { body: {} })
  for (const [cause, status] of [
    ['unsupported', 400],
    ['failed', 400],
    ['lost', 503],
  ] as const) {
    online.outcome = { done: false, because: cause, reason: 'there is no update.' }
    assert.equal((await rejectUpdate()).status, status)
  }
  const unknownSession = await api.call('POST', `/tunnel_sessions/ts_${'0'.repeat(27)}/stop`, { body: {} })
  assert.equal(unknownSession.status, 404)
})
