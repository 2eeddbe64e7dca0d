import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CallOptions, startApi, type TestApi, type TestResponse } from '../../test/support/api.ts'
import { assertRejected } from '../../test/support/assert-rejected.ts'
import { createUser, openBrowser } from '../../test/support/dashboard.ts'
import { createOnline } from '../../test/support/online.ts'
import { createBody, PathParameters } from '../../test/support/sample-objects.ts'
import type { Body } from '../../test/support/samples.ts'
import { recordVisitor } from '../../test/support/visitors.ts'
import { GUARDS, hasRole, type Role } from '../resources/index.ts'
import { routes } from './all-routes.ts'
import { rolesPage } from './reference/roles-page.ts'
import type { ApiRoute } from './routes.ts'

/** A user or bot with one kind of credential. */
interface Actor {
  readonly name: string
  readonly id: string
  readonly role: Role
  readonly isBrowser: boolean
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>
}

/** A user of each role and a bot, each with an API key and with a dashboard session. */
async function startWithActors(
  t: TestContext,
): Promise<{ api: TestApi; actors: Actor[]; samplePaths: PathParameters }> {
  const online = createOnline()
  const api = await startApi(t, { online, dashboard: true })
  const owners: { name: string; id: string; role: Role; proof?: Body }[] = []
  for (const role of ['read_only', 'developer', 'admin'] as const) {
    const { id, email, password } = await createUser(api, { role })
    owners.push({ name: role, id, role, proof: { email, password } })
  }
  const bot = await api.call.create('/bot_users', { name: 'robot' })
  owners.push({ name: 'bot', id: bot.id, role: 'developer' })
  const actors: Actor[] = []
  for (const { name, id, role, proof } of owners) {
    const { token } = await api.call.create('/api_keys', { owner_id: id })
    const browser = openBrowser(api.url)
    assert.equal((await browser.signIn(proof ?? { api_key: token })).status, 200)
    actors.push({ name: `${name} with a key`, id, role, call: api.client(token), isBrowser: false })
    // Lists leave out secrets in a session of the dashboard (decision 320).
    actors.push({ name: `${name} in the dashboard`, id, role, call: browser.call, isBrowser: true })
  }
  return {
    api,
    actors,
    samplePaths: new PathParameters(api.call, online.putOnline(api.account.accountId, api.url), () =>
      recordVisitor(api),
    ),
  }
}

/** A variant of the object an operation runs on: the fields it is created with, and whether the guard applies. */
interface Case {
  readonly name: string
  readonly guarded: boolean
  more(actor: Actor): Body
}

/** The variants for each operation; its guard decides which ones differ. */
async function casesOf(api: TestApi): Promise<(route: ApiRoute) => readonly Case[]> {
  const [free, used] = [await api.call.create('/ip_policies', {}), await api.call.create('/ip_policies', {})]
  await api.call.create('/ip_restrictions', { type: 'dashboard', ip_policy_ids: [used.id] })
  const plain: Case[] = [{ name: 'anything', guarded: false, more: () => ({}) }]
  const byGuard: Record<keyof typeof GUARDS, Case[]> = {
    owner: [
      { name: 'its own', guarded: false, more: ({ id }) => ({ owner_id: id }) },
      { name: "an administrator's", guarded: true, more: () => ({ owner_id: api.account.userId }) },
    ],
    restriction: [
      { name: 'a policy that no restriction uses', guarded: false, more: () => ({ ip_policy_id: free.id }) },
      { name: 'a policy of a restriction', guarded: true, more: () => ({ ip_policy_id: used.id }) },
    ],
  }
  return ({ requires: { guard } }) => (guard === undefined ? plain : byGuard[guard])
}

function mayCall({ role }: Actor, { requires }: ApiRoute, { guarded }: Case): boolean {
  const needed = guarded && requires.guard !== undefined ? GUARDS[requires.guard].role : requires.role
  return hasRole(role, needed)
}

/** An account has at most one restriction of each type. */
async function deleteAgentRestriction(api: TestApi, { tag }: ApiRoute): Promise<void> {
  if (tag !== 'ip_restrictions') return
  for (const { id, type } of (await api.call('GET', '/ip_restrictions')).body.ip_restrictions)
    if (type === 'agent') await api.call('DELETE', `/ip_restrictions/${id}`)
}

test('every operation is open to exactly the roles that its declaration names, by key and by session', async (t) => {
  const { api, actors, samplePaths } = await startWithActors(t)
  const cases = await casesOf(api)
  const counts = { allowed: 0, rejected: 0 }

  for (const route of routes)
    for (const actor of actors)
      for (const object of cases(route)) {
        const what = `${route.id} on ${object.name} by ${actor.name}`
        const allowed = mayCall(actor, route, object)
        const more = object.more(actor)
        if (allowed || object.guarded) await deleteAgentRestriction(api, route)
        const path = await samplePaths.resolvePath(route, allowed || object.guarded ? more : undefined)
        const body = await createBody(route, api.call)
        const options = body && { body: route.id === `${route.tag}.create` ? { ...body, ...more } : body }
        if (!allowed) {
          counts.rejected++
          const answer = await assertRejected(api, () => actor.call(route.method, path, options), {
            status: 403,
            what,
          })
          assert.match(answer.body.error_code, /^ERR_ADIT_(635|4111|630|638)$/, what)
        } else {
          counts.allowed++
          const { status, body: answer } = await actor.call(route.method, path, options)
          // 404 and 409 do not come from roles: an unset module, a managed certificate, a server without events.
          assert.ok(
            (status >= 200 && status < 300) || status === 404 || status === 409,
            `${what}: ${status} ${JSON.stringify(answer)}`,
          )
        }
      }
  assert.ok(counts.allowed > routes.length && counts.rejected > routes.length, JSON.stringify(counts))
})

test("an account's guards and other owners' credentials require an administrator", () => {
  const requiring = (role: Role) =>
    routes.filter(({ requires }) => requires.role === role).map(({ method, path }) => `${method} ${path}`)
  const guardedBy = (guard: string) =>
    routes.filter(({ requires }) => requires.guard === guard).map(({ tag }) => tag)

  for (const expected of [
    'POST /ip_restrictions',
    'PATCH /ip_restrictions/{id}',
    'DELETE /ip_restrictions/{id}',
    'GET /users',
    'PATCH /users/{id}',
    'DELETE /bot_users/{id}',
    'GET /audit_events',
    'POST /event_destinations',
    'PATCH /event_subscriptions/{id}',
    'DELETE /event_subscriptions/{subscription_id}/sources/{type}',
    'POST /event_destinations/{id}/send_test_event',
  ])
    assert.ok(requiring('admin').includes(expected), expected)
  assert.deepEqual(
    [...new Set(guardedBy('owner'))].toSorted(),
    ['api_keys', 'credentials', 'ssh_credentials'].toSorted(),
  )
  assert.deepEqual([...new Set(guardedBy('restriction'))], ['ip_policy_rules'])
  assert.equal(guardedBy('owner').length, 9, 'create, update and delete of each')
  for (const { method, requires, id } of routes)
    assert.ok(method === 'GET' || requires.role !== 'read_only', `${id} changes something`)
})

test('the committed page of roles matches the declarations; run `npm run roles` after a change', () => {
  const file = join(import.meta.dirname, '..', '..', 'docs', 'roles.md')

  assert.equal(readFileSync(file, 'utf8'), rolesPage())
})

const SECRETS = {
  oidc: 'canary-of-oidc',
  oauth: 'canary-of-oauth',
  webhook: 'canary-of-webhook',
  target: 'canary-of-target',
}

/** Creates an edge with every secret that the API returns, and a destination with one it does not. */
async function createSecrets({ call }: TestApi) {
  const edge = await call.create('/edges/https', {})
  const routes = `/edges/https/${edge.id}/routes`
  const modules = {
    oidc: { issuer: 'https://id.example.com', client_id: 'me', client_secret: SECRETS.oidc },
    oauth: {
      enabled: false,
      provider: { github: { client_id: 'me', client_secret: SECRETS.oauth, scopes: ['user'] } },
    },
    webhook_verification: { provider: 'github', secret: SECRETS.webhook },
  }
  const route = await call.create(routes, { match_type: 'path_prefix', match: '/', ...modules })
  const target = { webhook: { url: 'https://example.com/hook', secret: SECRETS.target } }
  await call.create('/event_destinations', { target })
  return { edge: `/edges/https/${edge.id}`, route: `${routes}/${route.id}` }
}

test('a reader sees no secret on any route or view, by key or by session, and reading leaves no record', async (t) => {
  const { api, actors, samplePaths } = await startWithActors(t)
  const { edge, route } = await createSecrets(api)
  const modulePaths = ['', '/oidc', '/oauth', '/webhook_verification'].map((part) => `${route}${part}`)
  const revealing = [...modulePaths, edge, '/edges/https']

  for (const reader of actors.filter(({ role }) => role === 'read_only')) {
    const paths = [...revealing, '/dashboard/api/session']
    for (const operation of routes.filter(({ method }) => method === 'GET'))
      paths.push(await samplePaths.resolvePath(operation))
    for (const path of paths) {
      const text = JSON.stringify((await reader.call('GET', path)).body)
      for (const secret of Object.values(SECRETS))
        assert.ok(!text.includes(secret), `${path} shows ${secret} to ${reader.name}`)
    }
    assert.equal((await reader.call('GET', modulePaths[1]!)).body.client_secret, null)
    assert.equal((await reader.call('GET', modulePaths[2]!)).body.provider.github.client_secret, null)
    assert.equal((await reader.call('GET', modulePaths[3]!)).body.secret, null)
    const reads = (await api.call('GET', '/audit_events')).body.audit_events.filter(
      ({ principal }: Body) => principal === reader.id,
    )
    assert.deepEqual(
      reads.filter(({ action }: Body) => action !== 'sign_in'),
      [],
      'nothing was shown, so nothing is recorded',
    )
  }
  for (const developer of actors.filter(({ role }) => role === 'developer'))
    for (const path of revealing) {
      const text = JSON.stringify((await developer.call('GET', path)).body)
      const isShown = path !== '/edges/https' || !developer.isBrowser
      assert.equal(/canary-of-(oidc|oauth|webhook)/.test(text), isShown, `${path} by ${developer.name}`)
      assert.ok(!text.includes(SECRETS.target), path)
    }
})

test('no filter and no order of a list tells a reader whether a guess of a secret is right', async (t) => {
  const { api, actors } = await startWithActors(t)
  await createSecrets(api)
  await createSecrets(api)
  const guesses: readonly [list: string, secret: string, filter: (guess: string) => string][] = [
    ['edges/https', SECRETS.oidc, (guess) => `obj.routes.exists(r, r.oidc.client_secret${guess})`],
    [
      'edges/https',
      SECRETS.oauth,
      (guess) => `obj.routes.exists(r, r.oauth.provider.github.client_secret${guess})`,
    ],
    [
      'edges/https',
      SECRETS.webhook,
      (guess) => `obj.routes.exists(r, r.webhook_verification.secret${guess})`,
    ],
    ['event_destinations', SECRETS.target, (guess) => `obj.target.webhook.secret${guess}`],
  ]
  // Items beside the uri, which repeats the question.
  const listed = async ({ call }: Actor, path: string) => {
    const { status, body } = await call('GET', path)
    return {
      status,
      items: Object.values(body)
        .find(Array.isArray)
        ?.map(({ id }: Body) => id),
    }
  }

  for (const actor of actors) {
    for (const [list, secret, filter] of guesses) {
      const matches = async (guess: string) =>
        listed(actor, `/${list}?filter=${encodeURIComponent(filter(guess))}`)
      const wrong = await matches(`.startsWith('x')`)
      const right = await matches(`.startsWith('${secret.slice(0, 3)}')`)
      const larger = await matches(` > ''`)

      const shown = actor.role !== 'read_only' && !actor.isBrowser && list === 'edges/https'
      assert.deepEqual(wrong, { status: 200, items: [] })
      assert.equal(right.items?.length, shown ? 2 : 0, `${list} as ${actor.name}`)
      assert.equal(larger.items?.length, shown ? 2 : 0, `${list} as ${actor.name}`)
    }
    for (const list of ['edges/https', 'event_destinations', 'ip_policies'])
      for (const name of ['sort', 'order', 'order_by', 'sort_by', 'orderBy', 'direction'])
        for (const value of ['routes.oidc.client_secret', 'target.webhook.secret', '-id', "id';--"]) {
          const { status } = await listed(actor, `/${list}?${name}=${encodeURIComponent(value)}`)
          assert.equal(status, 400, `${list} by ${name}=${value}`)
        }
  }
})

test('sending back what a reader was shown erases no secret', async (t) => {
  const { api, actors } = await startWithActors(t)
  const { route } = await createSecrets(api)
  const reader = actors.find(({ role }) => role === 'read_only')!
  const developer = actors.find(({ role }) => role === 'developer')!
  const { body: before } = await developer.call('GET', route)
  const { body: shown } = await reader.call('GET', route)

  for (const module of ['oidc', 'oauth', 'webhook_verification']) {
    const replaced = await developer.call('PUT', `${route}/${module}`, { body: shown[module] })
    assert.equal(replaced.status, 200, JSON.stringify(replaced.body))
    const updated = await developer.call('PATCH', route, { body: { [module]: shown[module] } })
    assert.equal(updated.status, 200, JSON.stringify(updated.body))
  }

  assert.deepEqual((await developer.call('GET', route)).body, before)
})

test('a secret that is not stored yet is required', async (t) => {
  const { api } = await startWithActors(t)
  const edge = await api.call.create('/edges/https', {})
  const routes = `/edges/https/${edge.id}/routes`
  const { id } = await api.call.create(routes, { match_type: 'path_prefix', match: '/' })
  const oidc = { issuer: 'https://id.example.com', client_id: 'me', client_secret: null }
  const expected = { status: 400, field: 'client_secret', what: 'null without a stored secret' }

  await assertRejected(api, () => api.call('PUT', `${routes}/${id}/oidc`, { body: oidc }), expected)
  await assertRejected(api, () => api.call('PATCH', `${routes}/${id}`, { body: { oidc } }), {
    ...expected,
    field: 'oidc.client_secret',
  })
  await assertRejected(
    api,
    () =>
      api.call('PUT', `${routes}/${id}/webhook_verification`, { body: { provider: 'github', secret: null } }),
    { ...expected, field: 'secret' },
  )
})
