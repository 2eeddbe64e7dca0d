import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { startProvider } from '../login/openid-provider.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { TIMEOUT_MS } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { openPage, startBrowser } from './browser.ts'
import { assertFitsViewport, assertText, readText } from './inspected.ts'

const BIN = join(import.meta.dirname, '..', '..', 'bin')

let browser: Browser
before(async () => {
  browser = await startBrowser('dashboard')
})
after(() => browser.close())

/** Runs a command as the pages and the server print it, on a machine with its own home directory. */
async function runShell(command: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env })
  return stdout
}

/** Starts a platform that has no data yet, and opens the link that its output leads to. */
async function openFirstLink(t: TestContext) {
  const server = await startServerProcess(t, createTempDir(), ['--outbound-allow', '127.0.0.1'])
  const command = /^ {2}(adit server admin-link .*)$/m.exec(server.output())?.[1] ?? ''
  const { PATH } = process.env
  const printed = await runShell(command, cleanEnv(createTempDir(), { PATH: `${BIN}:${PATH}` }))
  return openPage(t, browser, /^http.*$/m.exec(printed)?.[0] ?? '', { acceptDownloads: true })
}

/** Follows the instructions for another machine on the overview; returns the environment of that machine. */
async function configureMachine(page: Page): Promise<{ env: Record<string, string>; certificates: string }> {
  const home = createTempDir()
  const env = cleanEnv(home, { PATH: `${BIN}:${process.env.PATH}`, ADIT_LEGS: '1' })
  const commandOf = async (prefix: string) =>
    (await readText(page.locator('.command-line code')))
      .split('\n')
      .find((line) => line.startsWith(prefix)) ?? ''
  await page.getByRole('radio', { name: 'On another machine' }).check()
  assert.equal(await commandOf('curl '), '', 'a server without a release hands out no agents')
  await runShell(await commandOf('adit config add-connect-url'), env)
  const downloaded = page.waitForEvent('download')
  await page.getByRole('link', { name: 'download the CA certificate of the server' }).click()
  const download = await downloaded
  const certificates = join(home, download.suggestedFilename())
  await download.saveAs(certificates)
  await page.getByRole('button', { name: 'Fill in a new authtoken' }).click()
  await page.getByText('is not shown again').waitFor()
  await runShell(await commandOf('adit config add-authtoken'), env)
  return { env, certificates }
}

test('a new user starts a platform, installs an agent and serves one team behind sign-in, without documentation', async (t) => {
  // The platform and its administrator.
  const { page, pageErrors } = await openFirstLink(t)
  const button = (name: string | RegExp, exact = true) => page.getByRole('button', { name, exact })
  const dialog = page.getByRole('dialog')
  await page.getByRole('heading', { name: 'Set your password' }).waitFor()
  await page.getByLabel('Password', { exact: true }).fill('a password of my own')
  await page.getByLabel('Confirm password').fill('a password of my own')
  await button('Set password').click()
  await page.getByRole('heading', { name: 'Get started' }).waitFor()
  await assertFitsViewport(page, 'dashboard-walk-first-steps')

  // A machine for the service.
  const { env, certificates } = await configureMachine(page)
  await page.getByRole('link', { name: 'Overview' }).click()

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
  const callback = await readText(dialog.locator('.copy-line code').first())
  const { issuer } = await startProvider(t, callback)
  await dialog.getByLabel('Issuer').fill(issuer)
  await dialog.getByLabel('Client secret').fill('app-secret-app-secret-app-secret')
  await dialog.getByLabel('Email domains').fill('example.com')
  await dialog.getByRole('button', { name: /^Add sign-in/ }).click()
  await dialog
    .getByText(/client_id/)
    .first()
    .waitFor()
  await dialog.getByLabel('Client ID').fill('app')
  await dialog.getByRole('button', { name: /^Add sign-in/ }).click()
  await button(/^Sign-in with OpenID/, false).waitFor()

  // The agent joins with the command that the page of the backend shows, and the diagram shows it.
  const port = await startHttp(t, (request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<h1>Hello ${request.headers['adit-auth-user-id']}</h1>`)
  })
  const edgeUrl = page.url()
  await page.getByRole('link', { name: 'Backends', exact: true }).click()
  await page.locator('main').getByRole('link', { name: 'Agents' }).click()
  await page.getByText('No agent has joined yet.').waitFor()
  const joinCommand = await readText(page.locator('.command-line code'))
  const args = joinCommand.replace(/ 3000$/, ` ${port} --root-cas ${certificates}`).split(' ')
  startProgram(t, args.slice(1), { env })
  await page.getByText('1 online').waitFor()
  await page.goto(edgeUrl)
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

  // A visitor outside the team signs in and is told why there is no access, and what to do.
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
  await page.getByText(/\d+ requests? since server start/).waitFor()
  await page.getByText('Text description').click()
  const description = await readText(page.locator('.flow-description > ol'))
  assert.match(description, /A visitor connects over HTTPS to shop\.adit\.localhost:443\./)
  assert.match(description, /Sign-in with OpenID .* requires visitors to sign in with your OpenID provider/)
  assert.match(description, /75 %: Agents \(app=shop\); 1 online/)
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 40[01]/.test(text)),
    [],
  )
})
