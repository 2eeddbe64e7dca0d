import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi, type TestApi, type TestResponse } from '../../../test/support/api.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { nextNumber } from '../../../test/support/samples.ts'

const { fresh } = await shareApi()

type Row = Record<string, string | null>

/** Reads audit records newer than the current ones; rejections are recorded after their response. */
async function follow(api: TestApi): Promise<(count: number) => Promise<Row[]>> {
  const read = async () => (await api.call('GET', '/audit_events')).body.audit_events as Row[]
  const seen = new Set((await read()).map(({ id }) => id))
  return async (count) => {
    let newer: Row[] = []
    await eventually(async () => {
      newer = (await read()).filter(({ id }) => !seen.has(id!)).reverse()
      return newer.length >= count
    }, `${count} audit records`)
    return newer
  }
}

const operation = ({ headers }: TestResponse) => headers.get('adit-operation-id')

test('each change leaves one record with principal, action, object, source and outcome (P44)', async () => {
  const api = await fresh()
  const since = await follow(api)
  const key = (await api.call('GET', '/api_keys')).body.keys[0]
  const domain = `audit${nextNumber()}.example.com`
  const calls: [
    answer: TestResponse,
    kind: string,
    action: string,
    object: string | null,
    outcome: string,
  ][] = []
  const add = (answer: TestResponse, kind: string, action: string, object: string | null, outcome = 'done') =>
    calls.push([answer, kind, action, object, outcome])

  // Timestamps have whole seconds.
  const startedAt = Math.floor(Date.now() / 1000) * 1000
  const policy = await api.call('POST', '/ip_policies', { body: {} })
  const { id } = policy.body
  add(policy, 'ip_policies', 'create', id)
  add(await api.call('PATCH', `/ip_policies/${id}`, { body: {} }), 'ip_policies', 'update', id)
  add(await api.call('POST', '/ip_policies', { raw: '{' }), 'ip_policies', 'create', null, 'refused')
  add(await api.call('PATCH', '/ip_policies/x', { body: {} }), 'ip_policies', 'update', 'x', 'refused')
  const edge = await api.call('POST', '/edges/tls', { body: {} })
  add(edge, 'edges_tls', 'create', edge.body.id)
  const module = `/edges/tls/${edge.body.id}/ip_restriction`
  const put = await api.call('PUT', module, { body: { ip_policy_ids: [id] } })
  add(put, 'edges_tls', 'ip_restriction.replace', edge.body.id)
  const held = await api.call('DELETE', `/ip_policies/${id}`)
  add(held, 'ip_policies', 'delete', id, 'refused')
  add(await api.call('DELETE', module), 'edges_tls', 'ip_restriction.delete', edge.body.id)
  add(await api.call('DELETE', `/ip_policies/${id}`), 'ip_policies', 'delete', id)
  const reserved = await api.call('POST', '/reserved_domains', { body: { domain } })
  add(reserved, 'reserved_domains', 'create', reserved.body.id)
  const policyPath = `/reserved_domains/${reserved.body.id}/certificate_management_policy`
  const detached = await api.call('DELETE', policyPath)
  add(detached, 'reserved_domains', 'certificate_management_policy.delete', reserved.body.id)
  const subscription = await api.call('POST', '/event_subscriptions', { body: {} })
  add(subscription, 'event_subscriptions', 'create', subscription.body.id)
  const source = await api.call('POST', `/event_subscriptions/${subscription.body.id}/sources`, {
    body: { type: 'ip_policy_created.v0' },
  })
  add(source, 'event_subscriptions', 'sources.create', subscription.body.id)
  // Reads leave none.
  for (const path of ['/ip_policies', '/edges/tls', '/openapi.json', '/healthz']) await api.call('GET', path)

  const records = await since(calls.length)

  assert.equal(records.length, calls.length)
  for (const [answer, kind, action, object, outcome] of calls) {
    const matching = records.filter(({ operation_id }) => operation_id === operation(answer))
    assert.equal(matching.length, 1, `${action} of ${kind}`)
    const { at: time, hash, id: _id, detail, changes: _changes, ...fields } = matching[0]!
    assert.deepEqual(fields, {
      principal: api.account.userId,
      credential: key.id,
      source: '127.0.0.1',
      operation_id: operation(answer),
      action,
      kind,
      object,
      outcome,
    })
    assert.equal(detail, outcome === 'refused' ? `status ${answer.status}` : null)
    assert.ok(Date.parse(time!) >= startedAt && Date.parse(time!) <= Date.now())
    assert.ok(hash)
  }
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined)
})

test('reading a secret that the API returns leaves a record too (P44)', async () => {
  const api = await fresh()
  const edge = await api.call.create('/edges/https', {})
  const route = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    oidc: { issuer: 'https://id.example.com', client_id: 'a', client_secret: 'b' },
    saml: { enabled: false, idp_metadata: '<EntityDescriptor/>' },
  })
  const bare = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/a',
  })
  const since = await follow(api)
  const edgePath = `/edges/https/${edge.id}`

  const reads: [TestResponse, string, string, string | null][] = [
    [
      await api.call('GET', `${edgePath}/routes/${route.id}/oidc`),
      'edges_https_routes',
      'oidc.get',
      route.id,
    ],
    [await api.call('GET', `${edgePath}/routes/${route.id}`), 'edges_https_routes', 'get', route.id],
    [await api.call('GET', edgePath), 'edges_https', 'get', edge.id],
    [await api.call('GET', '/edges/https'), 'edges_https', 'list', null],
  ]
  for (const path of [`${edgePath}/routes/${route.id}/saml`, `${edgePath}/routes/${bare.id}`, '/edges/tls'])
    assert.equal((await api.call('GET', path)).status, 200)

  const records = await since(reads.length)
  assert.deepEqual(
    records.map(({ operation_id, kind, action, object, outcome }) => [
      operation_id,
      kind,
      action,
      object,
      outcome,
    ]),
    reads.map(([answer, ...fields]) => [operation(answer), ...fields, 'done']),
  )
})

test('a caller that keeps failing does not fill the audit log', async () => {
  const api = await fresh()
  const count = async () => (await api.store.auditLog(api.account.accountId, { limit: 1000 })).length
  const before = await count()

  for (let call = 0; call < 150; call++) await api.call('PATCH', '/ip_policies/x', { body: {} })

  await eventually(async () => (await count()) - before >= 120, '120 records')
  const recorded = (await count()) - before
  assert.ok(recorded >= 120 && recorded < 140, `${recorded} records of 150 rejections`)
})

test('the audit log is paged like every list', async () => {
  const api = await fresh()
  for (let count = 0; count < 5; count++) await api.call.create('/ip_policies', {})

  const ids: string[] = []
  for (let uri: string | null = '/audit_events?limit=2'; uri !== null; ) {
    const { body }: TestResponse = await api.call('GET', uri)
    ids.push(...body.audit_events.map(({ id }: Row) => id))
    uri = body.next_page_uri
  }

  assert.equal(ids.length, 6, 'the account itself, and five policies')
  assert.equal(new Set(ids).size, 6)
  assert.deepEqual(ids, ids.toSorted().reverse())
})

test('an update records the old and new value of each changed field, a deletion the last ones, and no secret', async () => {
  const api = await fresh()
  const changesOf = async (answer: TestResponse) => {
    const { body } = await api.call('GET', '/audit_events?limit=20')
    const record = body.audit_events.find(
      ({ operation_id }: { operation_id: string }) => operation_id === operation(answer),
    )
    return record.changes
  }
  const edge = await api.call.create('/edges/https', { description: 'Shop' })
  const update = await api.call('PATCH', `/edges/https/${edge.id}`, { body: { description: 'Shops' } })
  const routes = `/edges/https/${edge.id}/routes`
  const route = await api.call.create(routes, { match_type: 'path_prefix', match: '/' })
  const oidc = { issuer: 'https://id.example.com', client_id: 'a', client_secret: 'hush 1' }
  const added = await api.call('PUT', `${routes}/${route.id}/oidc`, { body: oidc })
  const rotated = await api.call('PUT', `${routes}/${route.id}/oidc`, {
    body: { ...oidc, client_id: 'b', client_secret: 'hush 2' },
  })
  const headers = await api.call('PUT', `${routes}/${route.id}/request_headers`, {
    body: { add: { authorization: 'Bearer hush 3' } },
  })
  const unchanged = await api.call('PATCH', `/edges/https/${edge.id}`, { body: { description: 'Shops' } })
  const removed = await api.call('DELETE', `${routes}/${route.id}`)
  const created = await api.call('POST', '/event_destinations', {
    body: { target: { webhook: { url: 'https://hooks.example.com/x?token=hush', secret: 'hush 4' } } },
  })
  const moved = await api.call('PATCH', `/event_destinations/${created.body.id}`, {
    body: { target: { webhook: { url: 'https://hooks.example.com/y?token=hush', secret: 'hush 5' } } },
  })

  assert.deepEqual(await changesOf(update), [{ field: 'description', old: 'Shop', new: 'Shops' }])
  const addedFields = (await changesOf(added)) as { field: string; secret?: true; new?: unknown }[]
  assert.deepEqual(
    addedFields.find(({ field }) => field === 'oidc.issuer'),
    { field: 'oidc.issuer', old: null, new: 'https://id.example.com' },
  )
  assert.deepEqual(await changesOf(rotated), [
    { field: 'oidc.client_id', old: 'a', new: 'b' },
    { field: 'oidc.client_secret', secret: true },
  ])
  assert.ok((await changesOf(headers)).some(({ secret }: { secret?: true }) => secret))
  assert.deepEqual(await changesOf(unchanged), [])
  assert.deepEqual(
    (await changesOf(removed)).find(({ field }: { field: string }) => field === 'match'),
    { field: 'match', old: '/', new: null },
  )
  assert.equal(await changesOf(created), null)
  assert.deepEqual(
    (await changesOf(moved)).map(({ field, old }: { field: string; old?: string }) => [field, old]),
    [
      ['target.webhook.url', 'https://hooks.example.com/x?[hidden]'],
      ['target.webhook.secret', undefined],
    ],
  )
  const { body } = await api.call('GET', '/audit_events')
  assert.doesNotMatch(JSON.stringify(body), /hush/)
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined)
})
