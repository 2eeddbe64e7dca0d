import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startProvider } from '../login/openid-provider.ts'
import { TIMEOUT_MS } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertFitsViewport, assertText, readText } from './inspected.ts'
import { startAgent } from './served.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard(['--outbound-allow', '127.0.0.1'])
})
after(() => dashboard.stop())

test('a new user creates a domain, an edge with sign-in for one team and a weighted backend, and traffic flows', async (t) => {
  const { platform, browser } = dashboard
  const { page, pageErrors } = await dashboard.open(t, '/overview')
  const button = (name: string | RegExp, exact = true) => page.getByRole('button', { name, exact })
  const dialog = page.getByRole('dialog')

  // A domain.
  await page.getByRole('link', { name: 'Reserve a domain' }).click()
  await page.getByRole('textbox', { name: /^Name/ }).fill('shop')
  await page.getByText('Visitors will open shop.adit.localhost').waitFor()
  await button('Reserve domain').click()
  await page.getByRole('heading', { name: 'shop.adit.localhost', exact: true }).waitFor()
  await page.getByText('The platform serves its own certificate').waitFor()

  // An edge for it.
  await page.getByRole('link', { name: 'Create edge' }).click()
  await page.getByLabel('Description').fill('My shop')
  assert.ok(await page.getByRole('checkbox', { name: /shop\.adit\.localhost/ }).isChecked())
  await button('Create edge').click()
  await page.getByRole('heading', { name: 'My shop' }).waitFor()

  // A weighted backend, with two child backends created in the same dialog.
  await button(/^Choose backend/, false).click()
  await dialog.getByRole('button', { name: /^Weighted/ }).click()
  await dialog.getByLabel('Description').fill('Two shops')
  await dialog.locator('.child-add select').selectOption('new')
  await dialog.getByRole('button', { name: /^Tunnel group/ }).click()
  await dialog.getByLabel('Description').fill('Agents')
  await dialog.getByRole('button', { name: 'Add: Labels' }).click()
  await dialog.getByLabel('Labels: name 1').fill('app')
  await dialog.getByLabel('Labels: value 1').fill('shop')
  await dialog.getByRole('button', { name: 'Create tunnel group' }).click()
  await dialog.getByLabel('Weight of Agents (app=shop)').fill('3')
  await dialog.locator('.child-add select').selectOption('new')
  await dialog.getByRole('button', { name: /^Fixed response/ }).click()
  await dialog.getByLabel('Description').fill('Sign')
  await dialog.getByLabel('Body').fill('gone fishing')
  // A newly created backend has its name even while the lists are loading.
  const listsReleased = Promise.withResolvers<void>()
  await page.route(
    ({ pathname }) => pathname.startsWith('/backends/'),
    async (route) => {
      if (route.request().method() === 'GET') await listsReleased.promise
      await route.continue()
    },
  )
  await dialog.getByRole('button', { name: 'Create fixed response' }).click()
  await assertText(dialog.locator('.children'), /Agents[\s\S]*75 %[\s\S]*Sign[\s\S]*25 %/)
  listsReleased.resolve()
  await page.unrouteAll({ behavior: 'wait' })
  await dialog.getByRole('button', { name: 'Create weighted' }).click()
  await button(/^Two shops/, false).waitFor()
  await page.getByText('no tunnel online').waitFor()

  // Sign-in.
  await button('Add a module to the route /').click()
  await dialog.getByRole('button', { name: /^Sign-in with OpenID/ }).click()
  const callback = await readText(dialog.locator('.copy-line code'))
  const { issuer } = await startProvider(t, callback)
  await dialog.getByLabel('Issuer').fill(issuer)
  await dialog.getByLabel('Client ID').fill('app')
  await dialog.getByLabel('Email domains').fill('example.com')
  await dialog.getByRole('button', { name: /^Add sign-in/ }).click()
  await dialog
    .getByText(/client_secret/)
    .first()
    .waitFor()
  await dialog.getByLabel('Client secret').fill('app-secret-app-secret-app-secret')
  await dialog.getByRole('button', { name: /^Add sign-in/ }).click()
  await button(/^Sign-in with OpenID/, false).waitFor()

  // An agent joins, and the diagram shows it.
  const port = await startHttp(t, (request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<h1>Hello ${request.headers['adit-auth-user-id']}</h1>`)
  })
  const agent = await startAgent(t, platform)
  await agent.forward({ addr: port, labels: ['app=shop'] })
  await page.locator('.flow-tunnel', { hasText: `:${port}` }).waitFor()
  await assertFitsViewport(page, 'dashboard-walk-edge')

  // A visitor signs in and is served by both backends, by weight.
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  t.after(() => context.close())
  const visitor = await context.newPage()
  visitor.setDefaultTimeout(TIMEOUT_MS)
  // It would count towards the weights.
  await visitor.route('**/favicon.ico', (route) => route.abort())
  const url = (await page.locator('.edge-url').getAttribute('href')) ?? ''
  await visitor.goto(url)
  await visitor.fill('input[name=login]', 'ada')
  await visitor.fill('input[name=password]', 'x')
  await visitor.click('button[type=submit]')
  await visitor.click('button[type=submit]')
  await visitor.waitForURL(`${url}/`)
  const responses: (string | null)[] = []
  for (let visit = 0; visit < 8; visit++) {
    await visitor.goto(url)
    responses.push(await visitor.locator('body').textContent())
  }

  assert.equal(responses.filter((text) => text === 'Hello ada').length, 6)
  assert.equal(responses.filter((text) => text === 'gone fishing').length, 2)

  // Somebody outside the team signs in and is told why there is no access, and what to do.
  const outsiders = await browser.newContext({ ignoreHTTPSErrors: true })
  t.after(() => outsiders.close())
  const outsider = await outsiders.newPage()
  await outsider.goto(url)
  await outsider.fill('input[name=login]', 'eve@elsewhere.test')
  await outsider.fill('input[name=password]', 'x')
  await outsider.click('button[type=submit]')
  await outsider.click('button[type=submit]')
  await outsider.getByRole('heading', { name: 'Access denied' }).waitFor()
  await outsider
    .getByText('Sign in with another account, or ask the owner of this site for access.')
    .waitFor()
  await assertFitsViewport(outsider, 'dashboard-walk-denied')
  await page.getByText(/\d+ since server start/).waitFor()
  await page.getByText('Text description').click()
  const description = await readText(page.locator('.flow-description > ol'))
  assert.match(description, /A visitor connects over HTTPS to shop\.adit\.localhost:443\./)
  assert.match(description, /Sign-in with OpenID .* requires visitors to sign in with your OpenID provider/)
  assert.match(description, /75 %: Agents \(app=shop\); 1 online/)
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 400/.test(text)),
    [],
  )
})
