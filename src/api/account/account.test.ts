import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestApi } from '../../../test/support/api.ts'
import { engines, shareEngines } from '../../../test/support/engines.ts'
import {
  certificates,
  createSample,
  nextNumber,
  type StoredKind,
  samples,
} from '../../../test/support/samples.ts'
import { documentResources } from './document.ts'

type Document = Record<string, Record<string, Record<string, unknown>>>

async function exportOf({ call }: Pick<TestApi, 'call'>): Promise<Document> {
  const { status, body } = await call('GET', '/export')
  assert.equal(status, 200, JSON.stringify(body))
  return body.document
}

async function apply({ call }: Pick<TestApi, 'call'>, document: object, options: object = {}) {
  const { status, body } = await call('POST', '/apply', { body: { ...document, ...options } })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const countsOf = ({ created, updated, deleted, failed }: Record<string, number>) => ({
  created,
  updated,
  deleted,
  failed,
})
const NOTHING = { created: 0, updated: 0, deleted: 0, failed: 0 }

/** Exports never hold secrets, so that a new account needs them from elsewhere. */
async function addSecrets(document: Document): Promise<Document> {
  const complete = structuredClone(document)
  const { leaf } = await certificates()
  for (const certificate of Object.values(complete.tls_certificates ?? {}))
    certificate.private_key_pem = leaf.key
  for (const secret of Object.values(complete.vault_secrets ?? {})) secret.value = 'secret'
  for (const endpoint of Object.values(complete.endpoints ?? {}))
    endpoint.traffic_policy = 'on_http_request: [{actions: [{type: deny}]}]'
  for (const { target } of Object.values(complete.event_destinations ?? {}) as never[] as { target: never }[])
    Object.assign((target as { kinesis: { auth: { creds: object } } }).kinesis.auth.creds, {
      cloud_secret_access_key: 'secret',
    })
  const secrets = {
    traffic_policy: { value: 'on_http_request: []' },
    webhook_verification: { secret: 'hook secret' },
    webhook_validation: { secret: 'hook secret' },
    oidc: { client_secret: 'client secret' },
  }
  for (const kind of ['edges_https_routes', 'edges_tls', 'edges_tcp', 'endpoint_configurations'])
    for (const owner of Object.values(complete[kind] ?? {}))
      for (const [module, secret] of Object.entries(secrets))
        if (owner[module]) Object.assign(owner[module], secret)
  return complete
}

/** The entries of a document that another one also has. */
function pick(document: Document, names: Document): Document {
  return Object.fromEntries(
    Object.entries(names).map(([kind, entries]) => [
      kind,
      Object.fromEntries(Object.keys(entries).map((name) => [name, document[kind]![name]!])),
    ]),
  )
}

for (const [engine, fresh] of await shareEngines()) {
  test(`${engine}: an export of every kind of resource is an empty diff, and makes an empty account the same`, async (t) => {
    const source = await fresh()
    for (const kind of Object.keys(samples) as StoredKind[]) await createSample(source.call, kind)

    const exported = await exportOf(source)
    assert.deepEqual(Object.keys(exported).sort(), documentResources.map(({ kind }) => kind).sort())
    assert.doesNotMatch(JSON.stringify(exported), /hook secret|client secret|PRIVATE KEY|"secret"/)
    const diff = await apply(source, exported, { dry_run: true, prune: true })
    assert.deepEqual(countsOf(diff), NOTHING, JSON.stringify(diff.changes, null, 1))

    // Its domains are unique on a server.
    const target = await engines[engine]!(t)
    const applied = await apply(target, await addSecrets(exported))
    assert.equal(
      applied.failed,
      0,
      JSON.stringify(applied.changes.filter((each: { error: unknown }) => each.error)),
    )
    assert.deepEqual(pick(await exportOf(target), exported), exported)
    const again = await apply(target, exported, { prune: true })
    assert.deepEqual(countsOf(again), NOTHING, JSON.stringify(again.changes, null, 1))
  })

  test(`${engine}: a plan names the fields that differ, changes nothing, and hides secrets`, async () => {
    const api = await fresh()
    const route = (secret: string, match = '/') => ({
      edges_https: { front: {} },
      edges_https_routes: {
        root: {
          edge_id: 'front',
          match_type: 'path_prefix',
          match,
          webhook_verification: { provider: 'github', secret },
        },
      },
    })
    assert.equal((await apply(api, route('one'))).created, 2)

    const plan = await apply(api, route('two', '/a'), { dry_run: true })
    assert.deepEqual(plan.changes, [
      {
        action: 'update',
        status: 'planned',
        kind: 'edges_https_routes',
        name: 'root',
        id: plan.changes[0].id,
        fields: [
          { field: 'match', old: '/', new: '/a', secret: false },
          { field: 'webhook_verification.secret', old: null, new: null, secret: true },
        ],
        shown_once: {},
        error: null,
      },
    ])
    assert.equal((await exportOf(api)).edges_https_routes!.root!.match, '/')
    assert.equal((await apply(api, route('two', '/a'))).updated, 1)
    assert.equal((await apply(api, route('two', '/a'))).unchanged, 2)
    const { body } = await api.call('GET', '/edges/https')
    assert.equal(body.https_edges[0].routes[0].webhook_verification.secret, 'two')
  })

  test(`${engine}: a field that the document leaves out gets its default, a secret stays`, async () => {
    const api = await fresh()
    const oidc = { issuer: 'https://id.example.com', client_id: 'c', client_secret: 'kept' }
    const document = (module: object, description = '') => ({
      edges_https: { front: { description } },
      edges_https_routes: { root: { edge_id: 'front', match_type: 'path_prefix', match: '/', ...module } },
    })
    await apply(api, document({ oidc, compression: {} }, 'the front'))

    const { client_secret: _, ...withoutSecret } = oidc
    const report = await apply(api, document({ oidc: withoutSecret }))
    assert.deepEqual(
      report.changes.map(({ kind, fields }: { kind: string; fields: { field: string }[] }) => [
        kind,
        fields.map(({ field }) => field),
      ]),
      [
        ['edges_https', ['description']],
        ['edges_https_routes', ['compression.enabled']],
      ],
    )
    const [edge] = (await api.call('GET', '/edges/https')).body.https_edges
    assert.equal(edge.routes[0].oidc.client_secret, 'kept')
    assert.equal(edge.routes[0].compression, null)
  })

  test(`${engine}: prune deletes what an earlier document held, in the order of references, and nothing else`, async () => {
    const api = await fresh()
    const unmanaged = await api.call.create('/ip_policies', { description: 'by hand' })
    const document = {
      ip_policies: { office: {} },
      ip_policy_rules: { home: { ip_policy_id: 'office', cidr: '10.0.0.0/8', action: 'allow' } },
      ip_restrictions: { agents: { type: 'agent', ip_policy_ids: ['office'] } },
      backends_http_response: { answer: {} },
      backends_failover: { first: { backends: ['answer'] } },
    }
    assert.equal((await apply(api, document)).created, 5)
    assert.deepEqual(countsOf(await apply(api, { ip_policies: { office: {} } })), NOTHING)

    const report = await apply(api, { ip_policies: { office: {} } }, { prune: true })
    assert.deepEqual(countsOf(report), { ...NOTHING, deleted: 4 }, JSON.stringify(report))
    assert.deepEqual(
      (await api.call('GET', '/ip_policies')).body.ip_policies
        .map(({ id }: { id: string }) => id)
        .includes(unmanaged.id),
      true,
    )
    assert.equal((await apply(api, {}, { prune: true })).deleted, 1)
  })

  test(`${engine}: what cannot be changed fails alone; what depends on it too, and a second run completes the rest`, async () => {
    const api = await fresh()
    const domain = `apply${nextNumber()}.adit.localhost`
    const other = await api.callAsOther('POST', '/reserved_domains', { body: { domain } })
    const document = {
      reserved_domains: { site: { domain } },
      ip_policies: { office: {} },
      certificate_authorities: { broken: { ca_pem: 'none' } },
      edges_tls: {
        entry: {
          mutual_tls: { certificate_authority_ids: ['broken'] },
          tls_termination: { terminate_at: 'edge' },
        },
      },
    }

    const report = await apply(api, document)
    assert.deepEqual([report.created, report.failed], [1, 3])
    assert.deepEqual(
      report.changes.flatMap((change: { name: string; error: { error_code: string } | null }) =>
        change.error === null ? [] : [[change.name, change.error.error_code]],
      ),
      [
        ['site', 'ERR_ADIT_413'],
        ['broken', 'ERR_ADIT_215'],
        ['entry', 'ERR_ADIT_215'],
      ],
    )
    await api.callAsOther('DELETE', `/reserved_domains/${other.body.id}`)
    const ca_pem = (await certificates()).ca.caPem
    const rest = { ...document, reserved_domains: {}, certificate_authorities: { broken: { ca_pem } } }
    const second = await apply(api, rest)
    assert.deepEqual(countsOf(second), { ...NOTHING, created: 2 }, JSON.stringify(second))
    assert.deepEqual(countsOf(await apply(api, rest)), NOTHING)

    const changed = await apply(api, {
      reserved_domains: {},
      edges_tls: {},
      certificate_authorities: { broken: { ca_pem: 'x' } },
    })
    assert.match(changed.changes[0].error.msg, /ca_pem cannot be changed after the creation/)
  })

  test(`${engine}: documents that cannot be understood are rejected whole, with the place of the mistake`, async () => {
    const api = await fresh()
    for (const [document, field, sentence] of [
      [{ ip_policy: {} }, 'ip_policy', /There is no field/],
      [{ ip_policies: { office: { descripton: '' } } }, 'ip_policies.office.descripton', /There is no field/],
      [{ ip_policies: { 'a b': {} } }, 'ip_policies', /./],
      [
        { ip_policies: { ok: {} }, ip_restrictions: { api: { type: 'api', ip_policy_ids: ['none'] } } },
        'ip_restrictions.api.ip_policy_ids[0]',
        /neither the document nor the account has "none" in ip_policies/,
      ],
      [
        { backends_failover: { a: { backends: ['b'] }, b: { backends: ['a'] } } },
        'backends_failover.a',
        /backends_failover\.a → backends_failover\.b → backends_failover\.a/,
      ],
      [
        {
          backends_static: { app: { address: 'a.example.com:80' } },
          backends_http_response: { app: {} },
          backends_failover: { a: { backends: ['app'] } },
        },
        'backends_failover.a.backends[0]',
        /ambiguous; write backends_http_response\/app or backends_static\/app/,
      ],
      [
        { ip_policies: { [`ipp_${'0'.repeat(27)}`]: {} } },
        `ip_policies.ipp_${'0'.repeat(27)}`,
        /cannot be a name/,
      ],
    ] as const) {
      const { status, body } = await api.call('POST', '/apply', { body: document })
      assert.equal(status, 400, JSON.stringify(document))
      assert.equal(body.details.field, field)
      assert.match(body.msg, sentence)
    }
    assert.deepEqual((await api.call('GET', '/ip_policies')).body.ip_policies, [])
  })

  test(`${engine}: each change needs the role of its operation and leaves its own audit record`, async () => {
    const api = await fresh()
    const bot = await api.call.create('/bot_users', { name: 'reader' })
    const user = await api.call.create('/users', {
      email: `dev${nextNumber()}@example.com`,
      role: 'developer',
    })
    const { token } = await api.call.create('/api_keys', { owner_id: user.id })
    const developer = { call: api.client(token) }
    const document = { ip_policies: { office: {} }, users: { boss: { email: 'boss@example.com' } } }

    const report = await apply(developer, document)
    assert.deepEqual([report.created, report.failed], [1, 1])
    assert.equal(report.changes.at(-1).error.error_code, 'ERR_ADIT_4111')
    assert.equal('users' in (await exportOf(developer)), false)
    assert.equal((await exportOf(api)).bot_users!.reader !== undefined, true, bot.id)

    const { body } = await api.call('GET', '/audit_events?limit=1')
    const [latest] = body.audit_events
    assert.deepEqual(
      [latest.action, latest.kind ?? latest.object_type],
      ['create', latest.kind ?? latest.object_type],
    )
    const credentials = await apply(api, { credentials: { laptop: { acl: ['bind:a.example.com'] } } })
    assert.match(credentials.changes[0].shown_once.token, /\w{20}/)
  })

  test(`${engine}: a document cannot refer to a resource of another account`, async () => {
    const api = await fresh()
    const foreign = await api.callAsOther('POST', '/ip_policies', { body: {} })
    const rule = { ip_policy_id: foreign.body.id, cidr: '10.0.0.0/8', action: 'allow' }
    const report = await apply(api, { ip_policy_rules: { home: rule } })
    assert.deepEqual([report.failed, report.changes[0].error.error_code], [1, 'ERR_ADIT_223'])
  })

  test(`${engine}: two runs at the same time create nothing twice, and neither fails`, async () => {
    const api = await fresh()
    const names = Array.from({ length: 20 }, (_, index) => `p${index}`)
    const document = {
      ip_policies: Object.fromEntries(names.map((name) => [name, { description: name }])),
      ip_policy_rules: Object.fromEntries(
        names.map((name) => [name, { ip_policy_id: name, cidr: '10.0.0.0/8', action: 'allow' }]),
      ),
    }
    const reports = await Promise.all([apply(api, document), apply(api, document)])
    assert.equal(reports[0].created + reports[1].created, 40, JSON.stringify(reports))
    assert.deepEqual([reports[0].failed, reports[1].failed], [0, 0])

    assert.equal((await apply(api, document)).unchanged, 40)
    assert.equal((await api.call('GET', '/ip_policies')).body.ip_policies.length, 20)
    assert.equal((await api.call('GET', '/ip_policy_rules')).body.ip_policy_rules.length, 20)
  })

  test(`${engine}: a TCP edge names the reserved address that the server assigns`, async () => {
    const api = await fresh()
    const document = { reserved_addrs: { database: {} }, edges_tcp: { entry: { hostports: ['database'] } } }
    assert.equal((await apply(api, document, { dry_run: true })).created, 2)
    assert.equal((await apply(api, document)).created, 2)
    assert.match((await api.call('GET', '/edges/tcp')).body.tcp_edges[0].hostports[0], /^localhost:20\d+$/)
    assert.deepEqual((await exportOf(api)).edges_tcp, document.edges_tcp)
  })

  test(`${engine}: an entry under another name is the resource with its unique name, and nothing is created or deleted`, async () => {
    const api = await fresh()
    const domain = `renamed${nextNumber()}.adit.localhost`
    const url = `https://renamed${nextNumber()}.internal`
    const documentWith = (suffix: string): Document => ({
      reserved_domains: { [`site-${suffix}`]: { domain } },
      vaults: { [`vault-${suffix}`]: { name: 'shared' } },
      vault_secrets: { [`token-${suffix}`]: { name: 'token', value: 'x', vault_id: `vault-${suffix}` } },
      ip_policies: { office: {} },
      ip_policy_rules: {
        [`rule-${suffix}`]: { ip_policy_id: 'office', cidr: '10.0.0.0/8', action: 'allow' },
      },
      edges_https: { [`edge-${suffix}`]: { hostports: [`${domain}:443`] } },
      edges_https_routes: {
        [`root-${suffix}`]: { edge_id: `edge-${suffix}`, match_type: 'path_prefix', match: '/' },
      },
      endpoints: {
        [`app-${suffix}`]: { url, traffic_policy: 'on_http_request: [{actions: [{type: deny}]}]' },
      },
      bot_users: { [`bot-${suffix}`]: { name: 'deploy' } },
    })
    assert.equal((await apply(api, documentWith('old'))).created, 9)
    const [before] = (await api.call('GET', '/reserved_domains')).body.reserved_domains

    const renamed = documentWith('new')
    renamed.reserved_domains!['site-new']!.description = 'changed as well'
    const plan = await apply(api, renamed, { prune: true, dry_run: true })
    assert.deepEqual(countsOf(plan), { ...NOTHING, updated: 1 }, JSON.stringify(plan.changes))
    const report = await apply(api, renamed, { prune: true })
    assert.deepEqual(countsOf(report), { ...NOTHING, updated: 1 }, JSON.stringify(report.changes))

    const exported = await exportOf(api)
    for (const [kind, entries] of Object.entries(renamed))
      assert.deepEqual(Object.keys(exported[kind]!).sort(), Object.keys(entries).sort(), kind)
    assert.equal(
      (await api.call('GET', `/reserved_domains/${before.id}`)).body.description,
      'changed as well',
    )
    // An action cannot change, so this is another rule; the old one still has its range.
    const other = {
      ...renamed,
      ip_policy_rules: { other: { ip_policy_id: 'office', cidr: '10.0.0.0/8', action: 'deny' } },
    }
    const { changes } = await apply(api, other)
    assert.deepEqual(
      changes.map(({ name, status }: Record<string, string>) => [name, status]),
      [['other', 'failed']],
    )
  })

  test(`${engine}: every kind of resource with a unique name can be renamed in one run`, async () => {
    const api = await fresh()
    const namedByServer: string[] = []
    const [old, renamed]: [Document, Document] = [{}, {}]
    for (const resource of documentResources) {
      const { kind } = resource
      const { parents, create } = samples[kind as StoredKind]
      const entry = { ...(await parents?.(api.call)), ...(await create(api.call)) }
      // Endpoints of a pool share their URL.
      if ('pooling_enabled' in entry) entry.pooling_enabled = false
      const names = resource.unique(resource.parseCreate(entry) as never).map(({ name }) => name)
      if (names.some((name) => !name)) namedByServer.push(kind)
      else if (names.length > 0) {
        old[kind] = { old: entry }
        renamed[kind] = { renamed: entry }
      }
    }
    const created = await apply(api, old)
    assert.equal(created.created, Object.keys(old).length, JSON.stringify(created.changes))

    const report = await apply(api, renamed, { prune: true })

    assert.deepEqual(countsOf(report), NOTHING, JSON.stringify(report.changes))
    const exported = await exportOf(api)
    for (const kind of Object.keys(renamed)) assert.ok(exported[kind]?.renamed, kind)
    // The server chooses the tokens and the addresses of these, so that no document can tell which is meant.
    assert.deepEqual(namedByServer.sort(), ['api_keys', 'credentials', 'reserved_addrs'])
  })

  test(`${engine}: a document with required fields alone changes nothing when it is applied again`, async () => {
    const api = await fresh()
    const document: Document = {}
    for (const { kind, parents, createSchema } of documentResources) {
      const { parents: parentsOf, create, alternatives = [] } = samples[kind as StoredKind]
      const { required = [] } = createSchema as { required?: string[] }
      const fields = { ...(await parentsOf?.(api.call)), ...(await create(api.call)) }
      const names = [...required, ...parents, ...alternatives]
      document[kind] = {
        entry: Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name))),
      }
    }
    const created = await apply(api, document)
    assert.equal(created.created, documentResources.length, JSON.stringify(created.changes))

    const again = await apply(api, document, { prune: true })

    assert.deepEqual(countsOf(again), NOTHING, JSON.stringify(again.changes))
  })

  test(`${engine}: a thousand resources make the same account`, async () => {
    const source = await fresh()
    const target = await fresh()
    const number = (index: number) => String(index).padStart(3, '0')
    const document: Document = {
      ip_policies: {},
      ip_policy_rules: {},
      backends_failover: {},
      backends_static: {},
    }
    for (let index = 0; index < 250; index++) {
      const name = number(index)
      document.ip_policies![`p${name}`] = { description: `policy ${name}` }
      document.ip_policy_rules![`r${name}`] = {
        ip_policy_id: `p${number(249 - index)}`,
        cidr: `10.${index}.0.0/16`,
        action: 'allow',
      }
      document.backends_static![`s${name}`] = { address: `h${name}.example.com:80` }
      document.backends_failover![`f${name}`] = { backends: [`backends_static/s${name}`] }
    }
    assert.equal((await apply(source, document)).created, 1000)
    const exported = pick(await exportOf(source), document)
    assert.deepEqual(exported, document)

    assert.equal((await apply(target, exported)).created, 1000)
    assert.equal(JSON.stringify(pick(await exportOf(target), document)), JSON.stringify(exported))
  })
}
