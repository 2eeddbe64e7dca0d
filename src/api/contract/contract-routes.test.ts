import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TestApi } from '../../../test/support/api.ts'
import { assertRejected } from '../../../test/support/assert-rejected.ts'
import { engines } from '../../../test/support/engines.ts'
import { createOnline, type TestOnline } from '../../../test/support/online.ts'
import { createBody, PathParameters } from '../../../test/support/sample-objects.ts'
import {
  type Body,
  collectionPath,
  createSample,
  nextNumber,
  type StoredKind,
  samples,
} from '../../../test/support/samples.ts'
import { recordVisitor } from '../../../test/support/visitors.ts'
import { type Resource, resources } from '../../resources/index.ts'
import type { Sql, SqlValue } from '../../store/engine/sql.ts'
import { operations } from '../all-operations.ts'
import { routes } from '../all-routes.ts'

const EXTRA_ROUTES = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /openapi.json',
  'GET /reference',
  'GET /reference/{}',
  'GET /reference.css',
  'GET /reference.js',
]

async function start(t: TestContext, engine: string): Promise<{ api: TestApi; online: TestOnline }> {
  const online = createOnline()
  const api = await engines[engine]!(t, { online })
  await recordVisitor(api)
  return { api, online }
}

test('the server mounts the operations and a few pages beside them', async (t) => {
  const { api } = await start(t, 'SQLite')
  const served: string[] = []
  const ancestors: string[] = []
  for (const line of api.http.printRoutes({ commonPrefix: false }).split('\n')) {
    const match = /^((?:│? {3,4})*)[└├]── (\S*)(?: \((.+)\))?$/.exec(line)
    if (match === null) continue
    const depth = Math.round(match[1]!.length / 4)
    ancestors[depth] = match[2]!
    const path = ancestors.slice(0, depth + 1).join('')
    for (const method of (match[3] ?? '').split(', '))
      if (method !== '' && method !== 'HEAD')
        served.push(`${method} ${path.replace(/:[a-z_]+(\|:[a-z_]+)*/g, '{}')}`)
  }

  const declared = operations.map(({ method, path }) => `${method} ${path.replace(/\{[a-z_]+\}/g, '{}')}`)
  assert.deepEqual(served.toSorted(), [...declared, ...EXTRA_ROUTES].toSorted())
  assert.equal(new Set(declared).size, declared.length)
})

test('the list of routes for clients matches the operations', () => {
  const toRoute = ({ run: _run, ...route }: (typeof operations)[number]) => route

  assert.deepEqual(
    routes.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    operations.map(toRoute).toSorted((one, other) => (one.id < other.id ? -1 : 1)),
  )
})

test('every route requires a key, rejects other methods and responds in both dialects', async (t) => {
  const { api, online } = await start(t, 'SQLite')
  const samplePaths = new PathParameters(api.call, online.putOnline(api.account.accountId, api.url), () =>
    recordVisitor(api),
  )
  const methods = new Map<string, Set<string>>()
  for (const { path, method } of operations)
    methods.set(path, (methods.get(path) ?? new Set<string>()).add(method))

  for (const route of operations) {
    const path = await samplePaths.resolvePath(route)
    const what = `${route.method} ${path}`
    const body = await createBody(route, api.call)
    const options = body === undefined ? {} : { body }
    const unknown = `${'0'.repeat(27)}_${'0'.repeat(43)}`
    for (const [key, code] of [
      [undefined, 'ERR_ADIT_200'],
      [unknown, 'ERR_ADIT_203'],
      ['rubbish', 'ERR_ADIT_203'],
      [api.account.authtoken.reveal(), 'ERR_ADIT_206'],
    ] as const) {
      const answer = await assertRejected(api, () => api.call(route.method, path, { ...options, key }), {
        status: 401,
        what: `${what} with the key ${key}`,
      })
      assert.equal(answer.body.error_code, code, what)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/, what)
      assert.ok(key === undefined || !JSON.stringify(answer.body).includes(key), `${what} reveals the key`)
    }

    const allowed = methods.get(route.path)!
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'].filter(
      (name) => !allowed.has(name),
    )) {
      const answer = await assertRejected(
        api,
        () => api.call(method, path, method === 'GET' || method === 'QUERY' ? {} : { body: {} }),
        {
          status: 405,
          what: `${method} ${path}`,
        },
      )
      const listed = (answer.headers.get('allow') ?? '').split(', ').filter((name) => name !== 'HEAD')
      assert.deepEqual(listed.toSorted(), [...allowed].toSorted(), path)
    }

    await assertRejected(
      api,
      () => api.call(route.method, path, { ...options, headers: { 'service-version': '3' } }),
      { status: 400, what: `${what} in version 3` },
    )
    const original = await api.call(route.method, path, {
      ...options,
      key: undefined,
      headers: { 'ngrok-version': '2' },
    })
    assert.equal(original.status, 403, what)
    assert.equal(original.body.error_code, 'ERR_NGROK_200', what)
    if (!route.paged)
      await assertRejected(api, () => api.call(route.method, `${path}?no_such=1`, options), {
        status: 400,
        what: `${what}?no_such=1`,
      })
  }
})

test('reads respond with their status in both dialects', async (t) => {
  const { api, online } = await start(t, 'SQLite')
  const samplePaths = new PathParameters(api.call, online.putOnline(api.account.accountId, api.url), () =>
    recordVisitor(api),
  )

  for (const route of operations.filter(({ method }) => method === 'GET')) {
    const path = await samplePaths.resolvePath(route)
    const unset =
      /\.(mutual_tls|tls_termination|oauth|saml)\.get$|^endpoint_configurations\.backend\.get$/.test(route.id)
    for (const headers of [{}, { 'service-version': '2' }, { 'ngrok-version': '2' }] as Record<
      string,
      string
    >[]) {
      const answer = await api.call('GET', path, { headers })
      assert.ok(answer.status === 200 || (unset && answer.status === 404), `${path} ${answer.status}`)
    }
    const head = await api.call('HEAD', path)
    assert.ok(head.status === 200 || (unset && head.status === 404), `HEAD ${path} ${head.status}`)
  }
})

/** Records statements; the function returned takes those since its last call that look for an id of a path in the other account. */
function recordStatements({
  store: { engine },
  otherAccount: { accountId },
}: TestApi): (path: string) => string[] {
  let statements: { readonly text: string; readonly values: readonly SqlValue[] }[] = []
  const record = (sql: Sql) => {
    for (const method of ['get', 'all', 'tuples', 'scan', 'run'] as const) {
      const send = sql[method].bind(sql) as (...statement: unknown[]) => never
      sql[method] = (text: string, ...values: SqlValue[]) => {
        if (values.includes(accountId)) statements.push({ text, values })
        return send(text, ...values)
      }
    }
  }
  record(engine.reader)
  const begin = engine.begin.bind(engine)
  engine.begin = async (...options) => {
    const transaction = await begin(...options)
    record(transaction)
    return transaction
  }
  return (path) => {
    const ids = path.split('/').filter((part) => /_[0-9A-Za-z]{27}$/.test(part))
    const taken = statements.filter(({ values }) => values.some((value) => ids.includes(String(value))))
    statements = []
    return taken.map(({ text }) => text)
  }
}

for (const engine of Object.keys(engines))
  test(`another account finds nothing of this one on any route, on ${engine} (P39)`, async (t) => {
    const { api, online } = await start(t, engine)
    const takeStatements = recordStatements(api)
    let lookups = 0
    const samplePaths = new PathParameters(api.call, online.putOnline(api.account.accountId, api.url), () =>
      recordVisitor(api),
    )

    for (const route of operations) {
      const path = await samplePaths.resolvePath(route)
      const what = `${route.method} ${path}`
      const body = await createBody(route, api.callAsOther)
      const options = body === undefined ? {} : { body }
      if (path !== route.path) {
        takeStatements(path)
        const answer = await assertRejected(api, () => api.callAsOther(route.method, path, options), {
          status: 404,
          what,
        })
        // The response is the same as for an id that never existed, so it does not reveal which ids exist.
        const invented = path.replace(/_[0-9A-Za-z]{27}/g, `_${'0'.repeat(27)}`)
        const statements = takeStatements(path)
        const missing = await api.callAsOther(route.method, invented, options)
        const withoutIds = (text: string) => text.replace(/_[0-9A-Za-z]{27}/g, '')
        assert.equal(missing.status, 404, what)
        assert.equal(missing.body.error_code, answer.body.error_code, what)
        assert.equal(withoutIds(missing.body.msg), withoutIds(answer.body.msg), what)
        // Nor does its time: both are looked for with the same statements.
        assert.deepEqual(takeStatements(invented), statements, what)
        lookups += statements.length
      } else if (route.id === 'account.export') {
        const { body: own } = await api.call('GET', path)
        const { body: seen } = await api.callAsOther('GET', path)
        for (const kind of ['api_keys', 'credentials', 'users', 'ip_policies']) {
          const names = Object.keys(own.document[kind])
          assert.ok(names.length > 0, kind)
          assert.ok(!names.some((name) => name in (seen.document[kind] ?? {})), `${kind} of another account`)
        }
      } else if (route.id === 'root.self') {
        const { body: own } = await api.call('GET', path)
        const { body: seen } = await api.callAsOther('GET', path)
        assert.notEqual(seen.account.id, own.account.id)
        assert.notEqual(seen.api_key.id, own.api_key.id)
      } else if (route.paged) {
        const { body: own } = await api.call('GET', path)
        const { body: seen } = await api.callAsOther('GET', path)
        const [key] = Object.keys(own) as [string]
        assert.ok(own[key].length > 0, `${path} shows nothing to its own account`)
        const ids = new Set(own[key].map(({ id }: Body) => id))
        assert.ok(!seen[key].some(({ id }: Body) => ids.has(id)), `${path} shows what is another account's`)
      }
    }
    assert.ok(lookups > 100, `only ${lookups} statements look for an id`)
  })

test('another account cannot refer to anything of this one in a body (P39)', async (t) => {
  const { api } = await start(t, 'SQLite')

  for (const kind of Object.keys(samples) as StoredKind[]) {
    const sample = samples[kind]
    const resource: Resource = resources[kind]
    const foreign = await sample.create(api.call)
    const parents = (await sample.parents?.(api.callAsOther)) ?? {}
    const path = collectionPath(kind, parents)
    const record = resource.parseCreate({ ...foreign, ...parents })
    const pointers = resource.pointers(record).filter(({ path }) => !(path in parents))
    if (pointers.length === 0 && !kind.startsWith('edges_')) continue
    const answer = await assertRejected(api, () => api.callAsOther('POST', path, { body: foreign }), {
      status: 400,
      what: `POST ${path} ${JSON.stringify(foreign)}`,
    })
    assert.ok(answer.body.details.field !== undefined, path)

    const own = await createSample(api.callAsOther, kind)
    const change = (await sample.update?.(api.call)) ?? {}
    const parsed = resource.parseUpdate(change)
    const editable = Object.entries(change).filter(([key]) =>
      resource.pointers({ ...record, ...parsed } as never).some(({ path }) => path.split(/[.[]/)[0] === key),
    )
    for (const [key, value] of editable) {
      const url = `${own.edge_id ? `/edges/https/${own.edge_id}/routes` : path}/${own.id}`
      await assertRejected(api, () => api.callAsOther('PATCH', url, { body: { [key]: value } }), {
        status: 400,
        what: `PATCH ${url} ${key}`,
      })
    }
  }
})

for (const engine of Object.keys(engines))
  test(`no response reveals whether another account holds an SSH key, on ${engine}`, async (t) => {
    const { api } = await start(t, engine)
    const key = await samples.ssh_credentials.create(api.call)
    const unknown = await samples.ssh_credentials.create(api.call)
    const own = await api.call.create('/ssh_credentials', key)

    const held = await api.callAsOther('POST', '/ssh_credentials', { body: key })
    const free = await api.callAsOther('POST', '/ssh_credentials', { body: unknown })

    assert.equal(held.status, 201, JSON.stringify(held.body))
    assert.deepEqual(Object.keys(held.body), Object.keys(free.body))
    assert.ok(!JSON.stringify(held.body).includes(own.id))
    const again = { status: 409, what: 'a key that the account itself holds' }
    await assertRejected(api, () => api.callAsOther('POST', '/ssh_credentials', { body: key }), again)
    const answer = await assertRejected(api, () => api.call('POST', '/ssh_credentials', { body: key }), again)
    assert.match(answer.body.msg, /^This account/)
  })

test('names are unique across accounts, and the error does not reveal the owner', async (t) => {
  const { api } = await start(t, 'SQLite')
  const domain = `taken${nextNumber()}.example.com`
  const { addr } = await api.call.create('/reserved_addrs', {})
  const made = await api.call.create('/reserved_domains', { domain })
  const ingress = await api.call.create('/agent_ingresses', { domain: `in.${domain}` })

  for (const [path, body] of [
    ['/reserved_domains', { domain }],
    ['/reserved_domains', { domain: `below.${domain}` }],
    ['/reserved_domains', { domain: `*.${domain}` }],
    ['/reserved_domains', { domain: '*.example.com' }],
    ['/agent_ingresses', { domain: ingress.domain }],
  ] as const) {
    const answer = await assertRejected(api, () => api.callAsOther('POST', path, { body }), {
      status: 409,
      what: `POST ${path} ${JSON.stringify(body)}`,
    })
    for (const secret of [made.id, ingress.id, api.account.accountId])
      assert.ok(!JSON.stringify(answer.body).includes(secret))
  }
  const theirs = await api.callAsOther.create('/reserved_addrs', {})
  assert.notEqual(theirs.addr, addr)
})
