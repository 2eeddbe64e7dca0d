import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type ApiClient, shareApi, startApi, type TestApi } from '../../test/support/api.ts'
import { assertRejected } from '../../test/support/assert-rejected.ts'
import { eventuallyEqual } from '../../test/support/eventually.ts'

const { fresh } = await shareApi()

/** A client of a new user with this role. */
async function userWith(api: TestApi, role: string): Promise<{ id: string; call: ApiClient }> {
  const user = await api.call.create('/users', { email: `${role}@example.com`, role })
  const { token } = await api.call.create('/api_keys', { owner_id: user.id })
  return { id: user.id, call: api.client(token) }
}

test('only administrators name another owner, manage users and read the audit log', async () => {
  const api = await fresh()
  const developer = await userWith(api, 'developer')
  const bot = await api.call.create('/bot_users', { name: 'robot' })

  for (const path of ['/api_keys', '/credentials'])
    await assertRejected(api, () => developer.call('POST', path, { body: { owner_id: bot.id } }), {
      status: 403,
      what: `POST ${path} for another owner`,
    })
  const ownKey = await developer.call.create('/api_keys', { owner_id: developer.id })
  assert.equal(ownKey.owner_id, developer.id)
  assert.equal((await developer.call.create('/api_keys', {})).owner_id, developer.id)
  assert.equal((await api.call.create('/api_keys', { owner_id: bot.id })).owner_id, bot.id)
  for (const [method, path] of [
    ['POST', '/users'],
    ['POST', '/bot_users'],
    ['PATCH', `/bot_users/${bot.id}`],
    ['DELETE', `/users/${developer.id}`],
    ['GET', '/audit_events'],
  ] as const)
    await assertRejected(api, () => developer.call(method, path, method === 'PATCH' ? { body: {} } : {}), {
      status: 403,
      what: `${method} ${path} by a developer`,
    })
})

test('only administrators read users and bots', async () => {
  const api = await fresh()
  const bot = await api.call.create('/bot_users', { name: 'robot' })
  const { token } = await api.call.create('/api_keys', { owner_id: bot.id })
  const developer = await userWith(api, 'developer')
  const reader = await userWith(api, 'read_only')

  for (const call of [api.client(token), developer.call, reader.call])
    for (const path of ['/users', `/users/${developer.id}`, '/bot_users', `/bot_users/${bot.id}`]) {
      const answer = await assertRejected(api, () => call('GET', path), { status: 403, what: path })
      assert.equal(answer.body.error_code, 'ERR_ADIT_4111')
    }
  assert.equal((await api.call('GET', '/users')).body.users.length, 3)
  assert.equal((await api.call('GET', `/bot_users/${bot.id}`)).status, 200)
})

test('a read_only owner changes nothing', async () => {
  const api = await fresh()
  const reader = await userWith(api, 'read_only')
  const policy = await api.call.create('/ip_policies', {})

  assert.equal((await reader.call('GET', `/ip_policies/${policy.id}`)).status, 200)
  for (const [method, path] of [
    ['POST', '/ip_policies'],
    ['PATCH', `/ip_policies/${policy.id}`],
    ['DELETE', `/ip_policies/${policy.id}`],
    ['PUT', '/edges/tls/x/backend'],
  ] as const)
    await assertRejected(api, () => reader.call(method, path), {
      status: 403,
      what: `${method} ${path} by a reader`,
    })
})

test('an account keeps an active administrator', async () => {
  const api = await fresh()
  const me = api.account.userId

  for (const body of [{ role: 'developer' }, { active: false }])
    await assertRejected(api, () => api.call('PATCH', `/users/${me}`, { body }), {
      status: 409,
      what: JSON.stringify(body),
    })
  const other = await api.call.create('/users', { email: 'other@example.com', role: 'admin' })
  const demotions = await Promise.all(
    [me, other.id].map((id) => api.call('PATCH', `/users/${id}`, { body: { role: 'developer' } })),
  )
  assert.equal(demotions.filter(({ status }) => status === 200).length, 1, 'both at once')
  const users = await api.store.list('users', api.account.accountId, { limit: 10 })
  assert.equal(users.filter(({ data }) => data.role === 'admin').length, 1)
})

test('an owner with credentials cannot be deleted', async () => {
  const api = await fresh()
  const bot = await api.call.create('/bot_users', { name: 'robot' })
  const key = await api.call.create('/api_keys', { owner_id: bot.id })

  const answer = await assertRejected(api, () => api.call('DELETE', `/bot_users/${bot.id}`), {
    status: 409,
    what: 'DELETE of an owner',
  })

  assert.match(answer.body.msg, new RegExp(key.id))
  await api.call('DELETE', `/api_keys/${key.id}`)
  assert.equal((await api.call('DELETE', `/bot_users/${bot.id}`)).status, 204)
})

/** The status and error code of a read from another local address. */
async function callFrom(
  localAddress: string,
  api: TestApi,
  key: string,
): Promise<[number, string | undefined]> {
  const call = request(`${api.url}/ip_policies`, {
    localAddress,
    headers: { authorization: `Bearer ${key}` },
  })
  call.end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const { error_code } = (await json(response)) as { error_code?: string }
  return [response.statusCode!, error_code]
}

/** An account with an enforced restriction of type api, whose policy allows this machine. */
async function startRestricted() {
  const api = await fresh()
  const policy = await api.call.create('/ip_policies', {})
  const rule = (action: string, cidr: string) => ({ body: { cidr, action, ip_policy_id: policy.id } })
  const restriction = { type: 'api', ip_policy_ids: [policy.id], enforced: true }
  const locked = await assertRejected(
    api,
    () => api.call('POST', '/ip_restrictions', { body: restriction }),
    {
      status: 409,
      what: 'a restriction that would lock out its author',
    },
  )
  assert.match(locked.body.msg, /127\.0\.0\.1/)
  const open = await api.call.create('/ip_policy_rules', rule('allow', '127.0.0.1/32').body)
  const created = await api.call.create('/ip_restrictions', restriction)
  return { api, rule, open: `/ip_policy_rules/${open.id}`, restriction: `/ip_restrictions/${created.id}` }
}

test('an enforced IP restriction of type api decides which addresses may call', async () => {
  const { api } = await startRestricted()
  const key = api.account.apiKey.reveal()

  await eventuallyEqual(async () => (await callFrom('127.0.0.2', api, key))[0], 403)

  assert.deepEqual(await callFrom('127.0.0.2', api, key), [403, 'ERR_ADIT_220'])
  assert.deepEqual(await callFrom('127.0.0.1', api, key), [200, undefined])
  assert.deepEqual(
    await callFrom('127.0.0.2', api, api.otherAccount.apiKey.reveal()),
    [200, undefined],
    'another account is not affected',
  )
})

test('no rule change locks its author out of the API', async () => {
  const { api, rule, open, restriction } = await startRestricted()

  for (const [method, path, options] of [
    ['DELETE', open, {}],
    ['PATCH', open, { body: { cidr: '192.0.2.0/24' } }],
    ['POST', '/ip_policy_rules', rule('deny', '127.0.0.0/8')],
  ] as const) {
    const answer = await assertRejected(api, () => api.call(method, path, options), {
      status: 409,
      what: `${method} ${path}`,
    })
    assert.match(answer.body.msg, /127\.0\.0\.1/)
  }
  assert.equal((await api.call('PATCH', open, { body: { description: 'mine' } })).status, 200)
  assert.equal((await api.call('PATCH', open, { body: { cidr: '127.0.0.0/24' } })).status, 200)
  const unrelated = await api.call('POST', '/ip_policy_rules', rule('deny', '192.0.2.0/24'))
  assert.equal((await api.call('DELETE', `/ip_policy_rules/${unrelated.body.id}`)).status, 204)
  assert.equal((await api.call('POST', '/ip_policy_rules', rule('allow', '127.0.0.0/8'))).status, 201)
  assert.equal((await api.call('DELETE', open)).status, 204, 'another rule allows the caller')
  await api.call('PATCH', restriction, { body: { enforced: false } })
  assert.equal((await api.call('POST', '/ip_policy_rules', rule('deny', '127.0.0.1/32'))).status, 201)
})

async function startLimited(t: TestContext) {
  let now = 0
  const api = await startApi(t, {
    config: { rateLimit: 60 },
    clock: { now: () => Date.now(), monotonic: () => now },
  })
  return {
    api,
    advance(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('an account over its rate limit gets 429 with Retry-After', async (t) => {
  const { api, advance } = await startLimited(t)
  for (let call = 0; call < 60; call++) assert.equal((await api.call('GET', '/ip_policies')).status, 200)

  const answer = await assertRejected(api, () => api.call('POST', '/ip_policies'), {
    status: 429,
    what: 'call 61',
  })

  assert.equal(answer.headers.get('retry-after'), '1')
  assert.equal(
    (await api.callAsOther('GET', '/ip_policies')).status,
    200,
    'another account has its own limit',
  )
  advance(1000)
  assert.equal((await api.call('GET', '/ip_policies')).status, 200)
  assert.equal((await api.call('GET', '/ip_policies')).status, 429)
})

test('guessing keys is rate limited', async (t) => {
  const { api, advance } = await startLimited(t)
  const guess = `${'0'.repeat(27)}_${'0'.repeat(43)}`
  const statuses = new Map<number, number>()
  for (let call = 0; call < 1010; call++) {
    const { status } = await api.call('GET', '/ip_policies', { key: guess })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  assert.deepEqual(
    [...statuses],
    [
      [401, 1000],
      [429, 10],
    ],
  )
  assert.equal((await api.call('GET', '/ip_policies')).status, 200, 'a valid key is not affected')
  advance(60_000)
  assert.equal((await api.call('GET', '/ip_policies', { key: guess })).status, 401)
})

test('only administrators of the first account read metrics, which cover all accounts', async (t) => {
  const { call, callAsOther } = await startApi(t)

  assert.equal((await call('GET', '/metrics')).status, 200)
  assert.equal((await callAsOther('GET', '/metrics')).status, 403)
})

test('a service user is a bot user at a second path, and its role and state take effect at once', async () => {
  const api = await fresh()
  const service = await api.call.create('/service_users', { name: 'deploy', role: 'read_only' })
  const key = await api.call.create('/api_keys', { owner_id: service.id })
  const call = api.client(key.token)

  assert.equal(service.uri, `${api.url}/service_users/${service.id}`)
  assert.equal((await api.call('GET', `/bot_users/${service.id}`)).body.name, 'deploy')
  assert.equal((await call('GET', '/ip_policies')).status, 200)
  assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 403)
  await api.call('PATCH', `/service_users/${service.id}`, { body: { role: 'admin' } })
  assert.equal((await call('GET', '/service_users')).body.service_users[0].id, service.id)
  await api.call('PATCH', `/service_users/${service.id}`, { body: { active: false } })
  assert.equal((await call('GET', '/ip_policies')).body.error_code, 'ERR_ADIT_636')
})
