import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readEquivalents, readText } from './inspected.ts'
import { startAgent } from './served.ts'

let dashboard: TestDashboard
let edgeCount = 0
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** Creates an edge with one route and one backend through the API. */
async function createEdge(routeFields: Record<string, unknown> = {}) {
  const { call, credentials } = dashboard.platform
  const domain = `e${++edgeCount}.adit.localhost`
  await call.create('/reserved_domains', { domain })
  const edge = await call.create('/edges/https', {
    hostports: [`${domain}:443`],
    description: `Edge ${edgeCount}`,
  })
  const backend = await call.create('/backends/http_response', {
    body: 'first',
    description: `First ${edgeCount}`,
  })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
    ...routeFields,
  })
  const url = `https://${domain}:${new URL(credentials.https_url).port}`
  const read = async () =>
    (await call('GET', `/edges/https/${edge.id}`)).body as { routes: Record<string, never>[] }
  return { id: String(edge.id), routeId: String(route.id), backendId: String(backend.id), domain, url, read }
}

async function openEdge(t: TestContext, id: string, options = {}) {
  const opened = await dashboard.open(t, `/edges/${id}`, options)
  const { page } = opened
  await page.getByRole('heading', { name: 'Request path' }).waitFor()
  const button = (name: string | RegExp) => page.getByRole('button', { name })
  const dialog = page.getByRole('dialog').first()
  /** Presses a button, and confirms it in the dialog that follows. */
  const confirm = async (name: string) => {
    await dialog.getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').last().getByRole('button', { name, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  return { ...opened, button, dialog, confirm }
}

const node = (page: Page, title: string) => page.locator('.flow-node', { hasText: title })

/** Waits until the URL returns the expected response. */
async function waitForResponse(
  url: string,
  expected: (response: Response, text: string) => boolean,
): Promise<void> {
  await eventually(async () => {
    const response = (await dashboard.platform.fetch(url)) as unknown as Response
    return expected(response, await response.text())
  }, `${url} returns the expected response`)
}

test('modules are added, edited, switched off and on, and removed, with effect on traffic', async (t) => {
  const { id, routeId, url, read } = await createEdge()
  const { page, button, dialog, confirm, pageErrors } = await openEdge(t, id)
  const route = async () => (await read()).routes[0]!

  await button('Add a module to the route /').click()
  await dialog.getByRole('button', { name: /^Response headers/ }).click()
  await dialog.getByRole('button', { name: 'Add: Headers to add' }).click()
  await dialog.getByLabel('Headers to add: name 1').fill('x-shop')
  await dialog.getByLabel('Headers to add: value 1').fill('open')
  await dialog.getByText('Do the same from a shell').click()
  const lines = await readEquivalents(dialog)
  await dialog.getByRole('button', { name: 'Add response headers' }).click()
  await node(page, 'Response headers').waitFor()
  await waitForResponse(url, ({ headers }) => headers.get('x-shop') === 'open')

  const path = `/edges/https/${id}/routes/${routeId}/response_headers`
  assert.match(lines, new RegExp(`curl -X PUT \\S+${path}`))
  assert.match(lines, /adit api edges-https-routes response-headers replace/)
  await node(page, 'Response headers').click()
  await dialog.getByLabel('Headers to add: value 1').fill('closed')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await waitForResponse(url, ({ headers }) => headers.get('x-shop') === 'closed')

  await node(page, 'Response headers').click()
  await confirm('Switch off')
  await page.locator('.flow-node.off', { hasText: 'Response headers' }).waitFor()
  await waitForResponse(url, ({ headers }) => headers.get('x-shop') === null)
  assert.deepEqual((await route()).response_headers, {
    enabled: false,
    add: { 'x-shop': 'closed' },
    remove: [],
  })

  await node(page, 'Response headers').click()
  await confirm('Switch on')
  await page.locator('.flow-node.on', { hasText: 'Response headers' }).waitFor()
  await node(page, 'Response headers').click()
  await confirm('Remove')
  await node(page, 'Response headers').waitFor({ state: 'detached' })
  assert.equal((await route()).response_headers, null)
  assert.deepEqual(pageErrors, [])
})

test('every route module can be added through its form, and modules are shown in the order they run', async (t) => {
  const { call } = dashboard.platform
  const policy = await call.create('/ip_policies', { description: 'Everybody' })
  const { id, read } = await createEdge()
  const { page, button, dialog, pageErrors } = await openEdge(t, id)
  const add = async (module: string, fill: () => Promise<unknown> = async () => {}) => {
    await button('Add a module to the route /').click()
    await dialog.getByRole('button', { name: new RegExp(`^${module}`) }).click()
    await fill()
    await dialog
      .getByRole('button', { name: /^Add (?!: |a )/ })
      .last()
      .click()
    await dialog.waitFor({ state: 'detached' })
  }

  await add('WebSocket to TCP')
  await add('Circuit breaker', () => dialog.getByLabel('Error ratio').fill('0.25'))
  await add('Request headers', () => dialog.getByLabel('Headers to remove').fill('x-forwarded-for'))
  await add('Compression')
  await add('Sign-in with SAML', () =>
    dialog.getByLabel('Provider metadata URL').fill('https://idp.example.com/metadata'),
  )
  await add('Webhook verification', async () => {
    await dialog.getByLabel('Provider').fill('github')
    await dialog.getByLabel('Secret').fill('hush')
  })
  await add('User-Agent filter', () => dialog.getByLabel('Deny').fill('(?i)bot'))
  await add('IP restriction', () => dialog.locator('select').first().selectOption(String(policy.id)))
  await button('Add a module to the route /').click()
  const excluded = dialog.getByRole('button', { name: /^Sign-in with OpenID/ })
  assert.ok(await excluded.isDisabled())
  await page.keyboard.press('Escape')

  const titles = await page.locator('.flow-branch').first().locator('.flow-node b').allTextContents()
  assert.deepEqual(titles.slice(0, -1), [
    '/',
    'IP restriction',
    'User-Agent filter',
    'Webhook verification',
    'Sign-in with SAML',
    'Compression',
    'Request headers',
    'Circuit breaker',
    'WebSocket to TCP',
  ])
  const [route] = (await read()).routes
  assert.deepEqual(route!.ip_restriction, {
    enabled: true,
    ip_policies: [{ id: policy.id, uri: policy.uri }],
  })
  await node(page, 'Sign-in with SAML').click()
  await assertText(dialog.locator('.facts'), /https:\/\/idp\.adit\.localhost/)
  assert.deepEqual(pageErrors, [])
})

test('API errors are shown at the field', async (t) => {
  const { id } = await createEdge()
  const { button, dialog } = await openEdge(t, id)

  await button('Add a module to the route /').click()
  await dialog.getByRole('button', { name: /^Webhook verification/ }).click()
  await dialog.getByLabel('Provider').fill('nobody-knows')
  await dialog.getByLabel('Secret').fill('x')
  await dialog.getByRole('button', { name: 'Add webhook verification' }).click()

  const field = dialog.locator('.field.wrong', { hasText: 'Provider' })
  await assertText(field.locator('.field-error'), /is not a provider of webhooks/)
})

test('routes are added, edited and deleted, and match by longest prefix', async (t) => {
  const { id, url } = await createEdge()
  const { page, button, dialog, confirm } = await openEdge(t, id)

  await button('Add a route').click()
  await dialog.getByLabel('Path', { exact: true }).fill('no path')
  await dialog.getByRole('button', { name: 'Add route' }).click()
  await dialog
    .getByText(/is not a path/)
    .first()
    .waitFor()
  await dialog.getByLabel('Path', { exact: true }).fill('/api/')
  await dialog.getByRole('button', { name: 'Add route' }).click()
  await page.getByRole('list', { name: 'Route /api/' }).waitFor()
  await page.getByRole('button', { name: /^Choose backend/ }).click()
  await dialog.getByRole('button', { name: /^New backend/ }).click()
  await dialog.getByRole('button', { name: /^Fixed response/ }).click()
  await dialog.getByLabel('Body').fill('the api')
  await dialog.getByRole('button', { name: 'Create fixed response' }).click()
  await waitForResponse(`${url}/api/x`, (_, text) => text === 'the api')
  const order = await page.locator('.flow-branch .flow-node b.mono').allTextContents()
  await node(page, '/api/').click()
  await dialog.getByLabel('Path', { exact: true }).fill('/v2/')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await waitForResponse(`${url}/v2/x`, (_, text) => text === 'the api')
  await node(page, '/v2/').click()
  await confirm('Delete route')
  await node(page, '/v2/').waitFor({ state: 'detached' })
  await waitForResponse(`${url}/v2/x`, (_, text) => text === 'first')

  assert.deepEqual(order, ['/api/', '/'])
})

test('the backend is selected, edited in the diagram, switched off and removed', async (t) => {
  const { call } = dashboard.platform
  const { id, url, backendId, read } = await createEdge()
  const second = await call.create('/backends/http_response', { body: 'second', description: 'Second' })
  const { page, button, dialog, confirm } = await openEdge(t, id)

  await button('Change backend').click()
  await dialog.getByRole('button', { name: /^Second/ }).click()
  await waitForResponse(url, (_, text) => text === 'second')
  await node(page, 'Second').click()
  await dialog.getByLabel('Body').fill('third')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await waitForResponse(url, (_, text) => text === 'third')
  await button('Change backend').click()
  await confirm('Switch off')
  await page.locator('.flow-node.off', { hasText: 'Second' }).waitFor()
  await waitForResponse(url, ({ status }) => status === 503)
  await button('Change backend').click()
  await confirm('Remove backend')
  await button(/^Choose backend/).waitFor()

  assert.equal((await read()).routes[0]!.backend, null)
  assert.equal((await call('GET', `/backends/http_response/${second.id}`)).status, 200)
  assert.equal((await call('GET', `/backends/http_response/${backendId}`)).status, 200)
})

test('a TCP edge is created with a new reserved address, and forwards bytes to an agent', async (t) => {
  const { platform } = dashboard
  const { page, pageErrors } = await dashboard.open(t, '/edges/new')
  const dialog = page.getByRole('dialog')
  const port = await startHttp(t, (_request, response) => response.end('over tcp'))

  await page.getByRole('radio', { name: /^TCP/ }).check()
  await page.getByRole('button', { name: 'Reserve a new address' }).click()
  const address = await readText(page.locator('.hostport-options b', { hasText: /^localhost:\d+$/ }))
  assert.ok(await page.getByRole('checkbox', { name: new RegExp(address) }).isChecked())
  await page.getByRole('button', { name: 'Create edge' }).click()
  await page.getByRole('button', { name: /^Choose backend/ }).click()
  await dialog.getByRole('button', { name: /^New backend/ }).click()
  assert.equal(await dialog.getByRole('button', { name: /^Fixed response/ }).count(), 0)
  await dialog.getByRole('button', { name: /^Tunnel group/ }).click()
  await dialog.getByRole('button', { name: 'Add: Labels' }).click()
  await dialog.getByLabel('Labels: name 1').fill('role')
  await dialog.getByLabel('Labels: value 1').fill('db')
  await dialog.getByRole('button', { name: 'Create tunnel group' }).click()
  await page.getByText('no tunnel online').waitFor()
  const agent = await startAgent(t, platform)
  await agent.forward({ addr: port, labels: ['role=db'] })
  await page.locator('.flow-tunnel').waitFor()

  const response = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  })
  assert.match(response, /over tcp/)
  await page.getByText('1 connection since server start').waitFor()
  assert.deepEqual(pageErrors, [])
})

test('a TLS edge is created for a new name, and its module sets where TLS terminates', async (t) => {
  const { page, pageErrors } = await dashboard.open(t, '/edges/new')
  const dialog = page.getByRole('dialog')

  await page.getByRole('radio', { name: /^TLS/ }).check()
  await page.getByLabel('New name').fill('raw')
  await page.locator('.reserve button:enabled').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('checkbox', { name: /raw\.adit\.localhost/, checked: true }).waitFor()
  await page.getByRole('button', { name: 'Create edge' }).click()
  await page.getByRole('button', { name: 'Add a module to the edge' }).click()
  await dialog.getByRole('button', { name: /^TLS settings/ }).click()
  await dialog.getByLabel('Terminate TLS at').selectOption('edge')
  await dialog.getByRole('button', { name: 'Add TLS settings' }).click()

  await node(page, 'TLS settings').getByText('terminates at the edge').waitFor()
  assert.deepEqual(pageErrors, [])
})

test('a short name can be reserved only once the domain of the platform has loaded', async (t) => {
  const { page } = await dashboard.open(t, '/edges')
  const loading = Promise.withResolvers<void>()
  await page.route('**/dashboard/api/platform', async (route) => {
    await loading.promise
    await route.continue()
  })
  await page.goto(`${dashboard.url}#/edges/new`)
  await page.reload()
  const reserve = page.getByRole('button', { name: 'Reserve', exact: true })

  await page.getByLabel('New name').fill('late')
  await page.keyboard.press('Enter')
  const isDisabled = await reserve.isDisabled()
  loading.resolve()
  await reserve.click()

  assert.equal(isDisabled, true)
  await page.getByRole('checkbox', { name: /late\.adit\.localhost/, checked: true }).waitFor()
})

test('host names of another edge cannot be selected, and an edge is renamed and deleted', async (t) => {
  const { platform } = dashboard
  const { id, domain } = await createEdge()
  const other = await createEdge()
  await platform.call.create('/reserved_domains', { domain: 'free.adit.localhost' })
  const { page, button, dialog } = await openEdge(t, id)

  await button('Edit').click()
  const taken = dialog.getByRole('checkbox', { name: new RegExp(`^${other.domain}`) })
  await dialog.getByText('already used by').first().waitFor()
  assert.ok(await taken.isDisabled())
  await dialog.getByRole('checkbox', { name: /^free\.adit\.localhost/ }).check()
  await dialog.getByRole('checkbox', { name: new RegExp(`^${domain}`) }).uncheck()
  await dialog.getByLabel('Description').fill('Renamed')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Renamed' }).waitFor()
  const { body } = await platform.call('GET', `/edges/https/${id}`)
  await button('Delete').click()
  await dialog.getByText('Do the same from a shell').click()
  await assertText(dialog.locator('.equivalent pre'), new RegExp(`adit api edges-https delete ${id}`))
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Edges' }).waitFor()

  assert.deepEqual(body.hostports, ['free.adit.localhost:443'])
  assert.equal((await platform.call('GET', `/edges/https/${id}`)).status, 404)
  assert.equal(await page.getByRole('link', { name: 'Renamed' }).count(), 0)
})

test('the diagram shows live traffic', async (t) => {
  const { id, url } = await createEdge()
  const { page } = await openEdge(t, id)
  await waitForResponse(url, (_, text) => text === 'first')

  await page.getByText(/\d+ requests? since server start/).waitFor()

  await page.locator('.flowing').first().waitFor()
})

test('changes by others appear live, and viewing an edge does not flood the audit log', async (t) => {
  const { call } = dashboard.platform
  const oidc = { issuer: 'https://login.example.com', client_id: 'a', client_secret: 'b' }
  const { id, routeId } = await createEdge({ oidc })
  const countReads = async () =>
    (await call('GET', '/audit_events')).body.audit_events.filter(
      ({ action, kind }: Record<string, string>) => action === 'get' && kind === 'edges_https',
    ).length
  const before = await countReads()
  const { page } = await openEdge(t, id)
  await page.getByText('Live').or(node(page, 'Sign-in with OpenID')).first().waitFor()

  await call('PUT', `/edges/https/${id}/routes/${routeId}/compression`, { body: {} })
  await node(page, 'Compression').waitFor()
  const other = await call.create(`/edges/https/${id}/routes`, { match_type: 'exact_path', match: '/other' })
  await node(page, '/other').waitFor()
  await call('DELETE', `/edges/https/${id}/routes/${other.id}`)
  await node(page, '/other').waitFor({ state: 'detached' })

  const reads = (await countReads()) - before
  assert.ok(reads >= 1 && reads <= 8, `${reads} reads were recorded`)
})

test('the diagram works with the keyboard alone', async (t) => {
  const { id } = await createEdge({ compression: {} })
  const { page, dialog } = await openEdge(t, id)

  await page.locator('.flow-node:is(button)').first().focus()
  for (let steps = 0; steps < 12; steps++) {
    if ((await page.locator(':focus').textContent())?.includes('Compression')) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await dialog.getByRole('heading', { name: 'Compression' }).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  assert.match((await page.locator(':focus').textContent()) ?? '', /Compression/)
})

test('markup in texts of an edge is escaped', async (t) => {
  const { call } = dashboard.platform
  const evil = '<img src=x onerror=alert(1)><b>bold</b>'
  const edge = await call.create('/edges/https', { description: evil })
  const backend = await call.create('/backends/tunnel_group', {
    description: evil,
    labels: { a: evil.slice(0, 3) },
  })
  await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    description: evil,
    backend: { backend_id: backend.id },
  })

  const { page, pageErrors } = await openEdge(t, String(edge.id))

  await page.getByRole('heading', { name: evil }).waitFor()
  assert.equal(await page.locator('main img, main b b').count(), 0)
  assert.deepEqual(pageErrors, [])
})

test('a read-only user sees the diagram, and dialogs that say so', async (t) => {
  const { id } = await createEdge({ compression: {} })
  const { email, password } = await dashboard.createUser('read_only')
  const context = await dashboard.browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`${dashboard.url}#/edges/${id}`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()

  await node(page, 'Compression').click()

  await page.getByText('your role does not let you change it').waitFor()
  assert.equal(await page.getByRole('button', { name: /Add a|Delete/ }).count(), 0)
})

test('edges, the diagram and the forms are accessible in both themes and on a phone', async (t) => {
  const { call } = dashboard.platform
  const { id, backendId } = await createEdge({ compression: {}, circuit_breaker: { enabled: false } })
  const group = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const weighted = await call.create('/backends/weighted', { backends: { [group.id]: 3, [backendId]: 1 } })
  const failover = await call.create('/backends/failover', { backends: [weighted.id, backendId] })
  await call.create(`/edges/https/${id}/routes`, {
    match_type: 'path_prefix',
    match: '/shop/',
    backend: { backend_id: failover.id },
    oidc: { issuer: 'https://login.example.com', client_id: 'a', client_secret: 'b' },
  })
  const { page, dialog } = await openEdge(t, id, { bypassCSP: true })
  await node(page, 'Sign-in with OpenID').waitFor()
  await page.getByText('Text description').click()

  await assertAccessibleEverywhere(page, 'dashboard-edge')
  await node(page, 'Sign-in with OpenID').click()
  await dialog.getByLabel('Issuer').waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-edge-module')
  await page.keyboard.press('Escape')
  await node(page, 'Weighted').click()
  await dialog.getByText('75 %').waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-edge-weighted')
  const list = await dashboard.open(t, '/edges', { bypassCSP: true })
  await list.page.getByRole('table').waitFor()
  await assertAccessibleEverywhere(list.page, 'dashboard-edges')
  const fresh = await dashboard.open(t, '/edges/new', { bypassCSP: true })
  await fresh.page.getByLabel('New name').waitFor()
  await assertAccessibleEverywhere(fresh.page, 'dashboard-edge-new')
})

test('among many host names, the form of an edge shows the newest and finds the others', async (t) => {
  const { call } = dashboard.platform
  const first = await createEdge()
  for (let index = 0; index < 51; index++)
    await call.create('/reserved_domains', { domain: `many${index}.adit.localhost` })
  const { page } = await dashboard.open(t, '/edges/new')
  const option = (name: string) => page.getByRole('checkbox', { name: new RegExp(`^${name}`) })
  await option('many50.adit.localhost').waitFor()

  assert.equal(await option('many0.adit.localhost').count(), 0)
  await page.getByRole('searchbox', { name: 'Search host names' }).fill('many0.adit')
  await option('many0.adit.localhost').check()
  await page.getByRole('searchbox', { name: 'Search host names' }).fill(first.domain)
  await option(first.domain).and(page.locator(':disabled')).waitFor()

  assert.ok(await option('many0.adit.localhost').isChecked(), 'a selected name stays')
  await page.getByRole('button', { name: 'Create edge' }).click()
  await page.getByRole('heading', { name: 'many0.adit.localhost' }).waitFor()
})

test('an edge and the list of endpoints show why visitors could not sign in, and what to change', async (t) => {
  const oidc = { issuer: 'https://10.0.0.1', client_id: 'app', client_secret: 'secret' }
  const { id, url } = await createEdge({ oidc })
  const headers = { accept: 'text/html' }
  await eventually(async () => {
    const response = await dashboard.platform.fetch(url, { headers })
    await response.text()
    return response.status === 500
  }, 'the sign-in fails')

  const { page } = await openEdge(t, id)
  const table = page.getByRole('table', { name: 'Failed sign-ins' })
  await table.waitFor()

  for (const text of ['https://10.0.0.1', '--outbound-allow', 'not on the public Internet', url])
    assert.ok((await table.textContent())?.includes(text), text)
  await assertAccessibleEverywhere(page, 'failed-sign-ins')
  const { id: healthy } = await createEdge()
  const { page: other } = await openEdge(t, healthy)
  assert.equal(await other.getByRole('table', { name: 'Failed sign-ins' }).count(), 0)
  const { page: endpoints } = await dashboard.open(t, '/endpoints')
  await endpoints.getByRole('table', { name: 'Failed sign-ins' }).waitFor()
})
