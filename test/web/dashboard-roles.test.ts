import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { routes } from '../../src/api/all-routes.ts'
import { GUARDS, hasRole, type Role } from '../../src/resources/index.ts'
import { eventually } from '../support/eventually.ts'
import type { TestPlatform } from '../support/platform.ts'
import { PathParameters } from '../support/sample-objects.ts'
import { openPage } from './browser.ts'
import { goTo, goToLoaded, signInWithKey, startDashboard, type TestDashboard } from './dashboard.ts'

// A dynamic import: this file is type-checked without the DOM types that the module's imports need.
const resourcesUrl = new URL('../../src/web/dashboard/resources.ts', import.meta.url)
const { resourcePages } = (await import(resourcesUrl.href)) as {
  resourcePages: readonly {
    route: string
    singular: string
    path: string
    prefix: string
    operations?: readonly ('create' | 'update' | 'delete')[]
  }[]
}

/** The operation that a control calls, and whether the object has an owner or a use that requires another role. */
type Controls = Readonly<Record<string, { operation: string; guarded?: boolean }>>

/** The part of a DOM element that names it; a kind of backend has a description after its name. */
interface Control {
  readonly ariaLabel: string | null
  readonly textContent: string | null
  querySelector(selector: 'b'): Control | null
}

const ROLES: readonly Role[] = ['read_only', 'developer', 'admin']
/** Controls that change nothing. */
const NEUTRAL = /^(Add: |Remove |(All|Agents|Export (CSV|JSON)|Cancel|Cloud|Edges|Test)$|Copy|Go to )/

/** The controls of sections that only some resources have. */
const EXTRAS: Readonly<Record<string, Controls>> = {
  '/ip_policies': { 'Add a rule': { operation: 'POST /ip_policy_rules' } },
  '/vaults': { 'Add a secret': { operation: 'POST /vault_secrets' } },
  '/users': {
    'Create invitation link': { operation: 'PATCH /users/{id}' },
    'Generate password': { operation: 'PATCH /users/{id}' },
  },
  '/event_destinations': {
    'Send test event': { operation: 'POST /event_destinations/{id}/send_test_event' },
  },
}

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** The role matrix of the API, which docs/roles.md prints. */
function isAllowed(role: Role, { operation, guarded = false }: Controls[string]): boolean {
  const route = routes.find(({ method, path }) => `${method} ${path}` === operation)
  assert.ok(route, `there is no operation ${operation}`)
  const { role: baseRole, guard } = route.requires
  return hasRole(role, guarded && guard !== undefined ? GUARDS[guard].role : baseRole)
}

/** Signs a user in and returns a function that opens a page and lists its controls. */
async function openAs(t: TestContext, role: Role) {
  const { call } = dashboard.platform
  const { id } = await call.create('/users', { email: `${role}@example.com`, role })
  const { token } = await call.create('/api_keys', { owner_id: id })
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await signInWithKey(page, token)
  return { page, listControls: watchControls(page) }
}

function watchControls(page: Page): (path: string) => Promise<string[]> {
  const pending = new Set<unknown>()
  page.on('request', (request) => {
    if (!request.url().includes('/dashboard/api/live')) pending.add(request)
  })
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => pending.delete(request))
  return async (path) => {
    await goToLoaded(page, path)
    await eventually(async () => {
      // A response may render something that sends the next request.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
      return pending.size === 0 && (await page.locator('main .loading').count()) === 0
    }, `${path} is loaded`)
    const names: string[] = await page
      .locator('main button:not(.flow-node, .sort), main a.button')
      .evaluateAll((elements: Control[]) =>
        elements.map(
          (element) => element.ariaLabel ?? (element.querySelector('b') ?? element).textContent ?? '',
        ),
      )
    return names.filter((name) => !NEUTRAL.test(name)).sort()
  }
}

/** An edge with a node of each kind in its diagram: a module, a route and a backend. */
async function createFullEdge(call: TestPlatform['call'], backend: string): Promise<string> {
  const { id } = await call.create('/edges/https', {})
  const modules = { compression: { enabled: true }, backend: { enabled: true, backend_id: backend } }
  await call.create(`/edges/https/${id}/routes`, { match: '/', match_type: 'path_prefix', ...modules })
  return id
}

/** Every page that can change something, with its controls. */
async function listPages({ call }: TestPlatform): Promise<Record<string, Controls>> {
  const parameters = new PathParameters(call, { session: '', tunnel: '', endpoint: '' })
  const createObject = async (path: string) => {
    const get = routes.find((route) => route.method === 'GET' && route.path === `${path}/{id}`)!
    return (await parameters.resolvePath(get)).split('/').at(-1)!
  }
  const change = (path: string) => ({
    Edit: { operation: `PATCH ${path}/{id}`, guarded: true },
    Delete: { operation: `DELETE ${path}/{id}`, guarded: true },
  })
  const pages: Record<string, Controls> = {}
  for (const { route, singular, path, operations } of resourcePages) {
    if (operations?.includes('create') === false) {
      pages[route] = {}
      continue
    }
    const id = await createObject(path)
    const create = { operation: `POST ${path}` }
    pages[route] = { [`New ${singular}`]: create }
    pages[`${route}/new`] = { [`Create ${singular}`]: create }
    pages[`${route}/${id}`] = { ...(operations === undefined && change(path)), ...EXTRAS[path] }
    if (path === '/api_keys') pages[`${route}/${id}/edit`] = { Save: change(path).Edit }
  }
  const {
    ip_restrictions: [restriction],
  } = (await call('GET', '/ip_restrictions')).body
  const edge = await createObject('/edges/https')
  const backend = await createObject('/backends/tunnel_group')
  const domain = await createObject('/reserved_domains')
  const fullEdge = await createFullEdge(call, backend)
  return {
    ...pages,
    [`/ip-policies/${restriction.ip_policies[0].id}`]: {
      ...change('/ip_policies'),
      'Add a rule': { operation: 'POST /ip_policy_rules', guarded: true },
    },
    '/overview': {},
    '/agents': {},
    '/endpoints': {
      'New edge': { operation: 'POST /edges/https' },
      'New cloud endpoint': { operation: 'POST /endpoints' },
    },
    '/edges': { 'New edge': { operation: 'POST /edges/https' } },
    '/edges/new': {
      'Create edge': { operation: 'POST /edges/https' },
      Reserve: { operation: 'POST /reserved_domains' },
    },
    [`/edges/${edge}`]: {
      ...change('/edges/https'),
      'Add a module to the edge': { operation: 'PATCH /edges/https/{id}' },
      'Add a route': { operation: 'POST /edges/https/{edge_id}/routes' },
    },
    [`/edges/${fullEdge}`]: {
      ...change('/edges/https'),
      'Add a module to the edge': { operation: 'PATCH /edges/https/{id}' },
      'Add a module to the route /': { operation: 'PATCH /edges/https/{edge_id}/routes/{id}' },
      'Add a route': { operation: 'POST /edges/https/{edge_id}/routes' },
      'Change backend': { operation: 'PUT /edges/https/{edge_id}/routes/{id}/backend' },
    },
    '/backends': { 'New backend': { operation: 'POST /backends/tunnel_group' } },
    '/backends/new': {
      'Tunnel group': { operation: 'POST /backends/tunnel_group' },
      Weighted: { operation: 'POST /backends/weighted' },
      Failover: { operation: 'POST /backends/failover' },
      'Fixed address': { operation: 'POST /backends/static' },
      'Fixed response': { operation: 'POST /backends/http_response' },
    },
    [`/backends/${backend}`]: change('/backends/tunnel_group'),
    '/domains': { 'New domain': { operation: 'POST /reserved_domains' } },
    '/domains/new': { 'Reserve domain': { operation: 'POST /reserved_domains' } },
    [`/domains/${domain}`]: {
      ...change('/reserved_domains'),
      'Create edge': { operation: 'POST /edges/https' },
      'Stop automatic renewal': {
        operation: 'DELETE /reserved_domains/{id}/certificate_management_policy',
      },
    },
    '/audit-log': {},
  }
}

test('pages show exactly the controls that the API allows', { concurrency: ROLES.length }, async (t) => {
  const pages = await listPages(dashboard.platform)

  await Promise.all(
    ROLES.map((role) =>
      t.test(`to a user with the role ${role}`, async (t) => {
        const { page, listControls } = await openAs(t, role)
        const found: Record<string, string[]> = {}
        const expected: Record<string, string[]> = {}

        for (const [path, controls] of Object.entries(pages)) {
          found[path] = await listControls(path)
          expected[path] = Object.keys(controls)
            .filter((name) => isAllowed(role, controls[name]!))
            .sort()
          // Nor do they print the command for what the role may not do.
          if (expected[path].length === 0)
            assert.equal(await page.locator('main .equivalent').count(), 0, path)
        }

        assert.deepEqual(found, expected)
      }),
    ),
  )
})

test('whoever may only read sees what is behind every node of an edge, and changes nothing', async (t) => {
  const { call } = dashboard.platform
  const { id: backend } = await call.create('/backends/tunnel_group', { labels: { app: 'nodes' } })
  const edge = await createFullEdge(call, backend)
  const user = await call.create('/users', { email: 'reader@example.com', role: 'read_only' })
  const { token } = await call.create('/api_keys', { owner_id: user.id })
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await signInWithKey(page, token)
  await goToLoaded(page, `/edges/${edge}`)
  const nodes = page.locator('main button.flow-node')
  await nodes.first().waitFor()

  for (const node of await nodes.all()) {
    const name = (await node.textContent()) ?? ''
    await node.click()
    const dialog = page.locator('dialog[open]')
    await dialog.getByText('your role does not let you change it').waitFor()

    const buttons = await dialog.getByRole('button').allInnerTexts()
    assert.deepEqual(
      buttons.filter((text) => !/^(Close|Copy|)$/.test(text)),
      [],
      name,
    )
    assert.equal(await dialog.locator('input, select, textarea').count(), 0, name)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }
  assert.ok((await nodes.count()) >= 4)
})

test('a session of a bot user has its role, and neither pages nor links for administrators', async (t) => {
  const { call } = dashboard.platform
  const bot = await call.create('/bot_users', { name: 'deploy' })
  const { token } = await call.create('/api_keys', { owner_id: bot.id })
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await signInWithKey(page, token)
  const listControls = watchControls(page)

  assert.deepEqual(await listControls('/event-destinations'), [])
  assert.deepEqual(await listControls('/edges'), ['New edge'])
  assert.equal(await page.getByRole('link', { name: 'Users' }).count(), 0)
  await goTo(page, '/users')
  await page.getByText('Only administrators can open this page.').waitFor()
})
