import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRejected } from '../../../test/support/assert-rejected.ts'
import { engines } from '../../../test/support/engines.ts'
import { createOnline } from '../../../test/support/online.ts'

for (const [engine, start] of Object.entries(engines))
  test(`a list shows the items that match its filter, page by page, on ${engine}`, async (t) => {
    const api = await start(t, {})
    const ids: string[] = []
    for (let n = 0; n < 7; n++) {
      const { id } = await api.call.create('/ip_policies', {
        description: `policy ${n}`,
        metadata: n % 2 ? 'odd' : '',
      })
      ids.unshift(id)
    }
    const list = async (filter: string, limit = 100) => {
      const found: string[] = []
      let page: string | null = `/ip_policies?limit=${limit}&filter=${encodeURIComponent(filter)}`
      while (page !== null) {
        const { status, body } = await api.call('GET', page)
        assert.equal(status, 200, JSON.stringify(body))
        assert.ok(body.ip_policies.length <= limit)
        found.push(...body.ip_policies.map(({ id }: { id: string }) => id))
        page = body.next_page_uri
      }
      return found
    }

    assert.deepEqual(await list("obj.metadata == 'odd'"), [ids[1], ids[3], ids[5]])
    assert.deepEqual(await list("obj.metadata == 'odd'", 1), [ids[1], ids[3], ids[5]])
    assert.deepEqual(await list('obj.metadata != ""', 2), [ids[1], ids[3], ids[5]])
    assert.deepEqual(await list("obj.description.endsWith('4') || obj.description in ['policy 0']"), [
      ids[2],
      ids[6],
    ])
    assert.deepEqual(await list(`obj.id == '${ids[3]}' && size(obj.description) == 8`), [ids[3]])
    assert.deepEqual(await list('obj.created_at > timestamp(time.now).subtract("1d")'), ids)
    assert.deepEqual(await list('obj.created_at > timestamp(time.now).add("24h")'), [])
    assert.deepEqual(await list('obj.created_at < timestamp("2020-01-01T00:00:00Z")'), [])
    assert.deepEqual(await list('obj.uri != null && !(obj.metadata == "odd")'), [
      ids[0],
      ids[2],
      ids[4],
      ids[6],
    ])
    assert.deepEqual(await list(''), ids)
  })

test('a filter searches all fields for words, and ids from their beginning', async (t) => {
  const api = await engines.SQLite!(t, {})
  const make = (description: string, metadata = '') =>
    api.call.create('/ip_policies', { description, metadata })
  const { id: office } = await make('Office in Bern', '{"team": "Billing"}')
  const { id: home } = await make('Home office')
  const { id: long } = await make('Archive', 'x'.repeat(300))
  const search = async (text: string) => {
    const filter = encodeURIComponent(`search(obj, ${JSON.stringify(text)})`)
    const { status, body } = await api.call('GET', `/ip_policies?filter=${filter}`)
    assert.equal(status, 200, JSON.stringify(body))
    return body.ip_policies.map(({ id }: { id: string }) => id)
  }

  assert.deepEqual(await search('OFFICE'), [home, office])
  assert.deepEqual(await search(' billing  bern '), [office])
  assert.deepEqual(await search('office nowhere'), [])
  assert.deepEqual(await search(String(home).slice(0, -2)), [home])
  assert.deepEqual(await search(String(home).slice(-8)), [])
  assert.deepEqual(await search('xxx'), [], 'long texts are not searched')
  assert.deepEqual(await search(''), [long, home, office])
})

test('online objects, references and the audit log can be filtered too', async (t) => {
  const online = createOnline()
  const api = await engines.SQLite!(t, { online })
  const { endpoint } = online.putOnline(api.account.accountId, api.url)
  const { id } = await api.call.create('/ip_policies', {})
  const rule = await api.call.create('/ip_policy_rules', {
    cidr: '10.0.0.0/8',
    action: 'deny',
    ip_policy_id: id,
  })
  await api.call.create('/ip_policy_rules', { cidr: '10.1.0.0/16', action: 'allow', ip_policy_id: id })
  const list = async (path: string, filter: string) =>
    (await api.call('GET', `${path}?filter=${encodeURIComponent(filter)}`)).body

  const rules = await list('/ip_policy_rules', `obj.ip_policy.id == '${id}' && obj.action == 'deny'`)
  const endpoints = await list('/endpoints', `obj.id == '${endpoint}' && obj.edge == null`)
  const records = await list('/audit_events', "obj.action == 'create' && obj.kind == 'ip_policy_rules'")

  assert.deepEqual(
    rules.ip_policy_rules.map((item: { id: string }) => item.id),
    [rule.id],
  )
  assert.equal(endpoints.endpoints.length, 1)
  assert.equal((await list('/endpoints', "obj.id == 'ep_none'")).endpoints.length, 0)
  assert.equal((await list('/endpoints', 'obj.edge != null')).endpoints.length, 0)
  assert.equal(records.audit_events.length, 2)
})

test('an invalid filter is rejected with its place, and one that takes too long with the reason', async (t) => {
  const api = await engines.SQLite!(t, {})
  await api.call.create('/ip_policies', { description: 'one' })
  const invalid: [filter: string, message: RegExp][] = [
    ['obj.descripton == "x"', /no field descripton; did you mean description\? \(line 1, column 4\)/],
    ['obj.description ==', /the end was not expected/],
    ['obj.created_at > "2020"', /> cannot be applied to \(timestamp, string\)/],
    ['size(obj.description)', /true or false/],
    ['description == "x"', /description is not known/],
    ['lists.range(900).all(x, lists.range(900).all(y, y >= 0))', /takes too long/],
    [`${'('.repeat(500)}true${')'.repeat(500)}`, /nested/],
  ]

  for (const [filter, message] of invalid) {
    const call = () => api.call('GET', `/ip_policies?filter=${encodeURIComponent(filter)}`)
    await assertRejected(api, call, { status: 400, what: filter })
    const { body } = await call()
    assert.match(body.msg, message)
    assert.equal(body.error_code, 'ERR_ADIT_250')
  }
})

test('endpoints are listed by their ids and URLs, page by page', async (t) => {
  const api = await engines.SQLite!(t, {})
  const traffic_policy = 'on_http_request: [{actions: [{type: deny}]}]'
  const made: { id: string }[] = []
  for (const name of ['a', 'b', 'c'])
    made.push(await api.call.create('/endpoints', { url: `https://${name}.internal`, traffic_policy }))
  const [first, second, third] = made as [{ id: string }, { id: string }, { id: string }]
  const list = async (query: string) => {
    const { body } = await api.call('GET', `/endpoints?${query}`)
    return {
      ids: body.endpoints.map(({ id }: { id: string }) => id),
      next: body.next_page_uri as string | null,
    }
  }

  assert.deepEqual((await list(`id=${first.id}&id=${third.id}`)).ids, [third.id, first.id])
  assert.deepEqual((await list(`ids=${first.id},${second.id}&filter=obj.url.contains("b")`)).ids, [second.id])
  assert.deepEqual((await list('url=https://c.internal,https://d.internal')).ids, [third.id])
  assert.deepEqual((await list(`url=https://a.internal&id=${third.id}`)).ids, [])
  const page = await list('urls=https://a.internal,https://c.internal&limit=1')
  assert.deepEqual(page.ids, [third.id])
  assert.deepEqual((await list(page.next!.split('?')[1]!)).ids, [first.id])
  const many = Array.from({ length: 101 }, () => 'x').join(',')
  for (const query of [`id=${many}`, 'name=a'])
    await assertRejected(api, () => api.call('GET', `/endpoints?${query}`), { status: 400, what: query })
  await assertRejected(api, () => api.call('GET', '/ip_policies?id=x'), { status: 400, what: 'another list' })
})

test('filters of endpoints know their binding, and both words for the type of those of agents', async (t) => {
  const online = createOnline()
  const { call, account } = await engines.SQLite!(t, { online })
  const { endpoint: agent } = online.putOnline(account.accountId, '')
  const { id: cloud } = await call.create('/endpoints', {
    url: 'https://a.internal',
    traffic_policy: 'on_http_request: [{actions: [{type: deny}]}]',
  })
  const list = async (filter: string) => {
    const { body } = await call('GET', `/endpoints?filter=${encodeURIComponent(filter)}`)
    return body.endpoints.map(({ id }: { id: string }) => id)
  }

  assert.deepEqual(await list('obj.binding == "internal"'), [cloud])
  assert.deepEqual((await list('obj.type in ["agent", "cloud"]')).toSorted(), [agent, cloud].toSorted())
  assert.deepEqual(await list('obj.type == "agent"'), [agent])
  assert.deepEqual(await list('!(obj.type in ["agent"])'), [cloud])
  assert.deepEqual(await list('obj.type == "ephemeral"'), [agent])
})
