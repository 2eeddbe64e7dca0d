import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { Secret, TOTP } from 'otpauth'
import { ADIT } from '../support/adit-program.ts'
import { openPage } from './browser.ts'
import { goTo, signInWithKey, startDashboard, submitPassword, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** Console messages of the browser for expected error responses. */
const isExpected = (text: string) => /status of 4\d\d/.test(text)

test('a user signs in with email and password, and signs out', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const { page, pageErrors, requestedOrigins } = await openPage(t, dashboard.browser, dashboard.url)
  const shown = Promise.withResolvers<void>()
  await page.route('**/dashboard/api/session', async (route) => {
    if (route.request().method() === 'POST') await shown.promise
    await route.continue()
  })

  await submitPassword(page, email, password)
  await page.getByRole('button', { name: 'Signing in…', disabled: true }).waitFor()
  shown.resolve()

  await page.getByText(email).waitFor()
  const [cookie] = await page.context().cookies()
  assert.equal(cookie?.httpOnly, true)
  assert.equal(cookie?.sameSite, 'Strict')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.deepEqual(
    pageErrors.filter((text) => !isExpected(text)),
    [],
  )
  assert.deepEqual([...requestedOrigins], [new URL(dashboard.url).origin])
})

test('a wrong password and a wrong key show the reason, and the page stays usable', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const { page } = await openPage(t, dashboard.browser, dashboard.url)

  await submitPassword(page, email, 'not my password')
  const first = await readText(page.getByRole('alert'))
  await submitPassword(page, 'nobody@example.com', 'not my password')
  await page.getByRole('button', { name: 'Sign in', exact: true, disabled: false }).waitFor()
  const second = await readText(page.getByRole('alert'))
  await page.getByRole('button', { name: 'Use an API key instead' }).click()
  await page.getByLabel('API key').fill('nonsense')
  await page.keyboard.press('Enter')

  assert.match(first, /password/)
  assert.equal(second, first)
  await assertText(page.getByRole('alert'), /key/)
  await page.getByRole('button', { name: 'Use email and password' }).click()
  await submitPassword(page, email, password)
  await page.getByText(email).waitFor()
})

test('the account page changes the password and switches a second factor on and off', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const { page } = await openPage(t, dashboard.browser, `${dashboard.url}#/account`)
  await submitPassword(page, email, password)

  await page.getByLabel('Current password').fill('wrong one')
  await page.getByLabel('New password', { exact: true }).fill('three hollow lanterns swim')
  await page.getByLabel('Confirm new password').fill('three hollow lanterns')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The new passwords do not match.').waitFor()
  await page.getByLabel('Confirm new password').fill('three hollow lanterns swim')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('This is not your current password.').waitFor()
  await page.getByLabel('Current password').fill(password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Password changed.').waitFor()

  await page.getByRole('button', { name: 'Set up' }).click()
  const secret = await readText(page.locator('.facts code', { hasText: /^[A-Z2-7]{20,}$/ }))
  await assertText(page.locator('.facts code', { hasText: 'otpauth://' }), /secret=/)
  await page.getByRole('img', { name: /QR code/ }).waitFor()
  await page.getByLabel('Code', { exact: true }).fill('000000')
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('This is not the current code').waitFor()
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  await page.getByLabel('Code', { exact: true }).fill(totp.generate())
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('The second factor is on.').waitFor()
  const [recoveryCode = ''] = (await readText(page.locator('.recovery-codes code'))).split('\n')
  await page.getByRole('button', { name: 'I have stored them' }).click()
  await page.getByText('10 recovery codes are left.').waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await submitPassword(page, email, 'three hollow lanterns swim')
  await page.getByLabel('Code', { exact: true }).fill('123456')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Code', { exact: true }).fill(recoveryCode)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()

  await page.getByText('9 recovery codes are left.').waitFor()
  await page.getByLabel('Password', { exact: true }).fill('three hollow lanterns swim')
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('The second factor is off.').waitFor()
})

test('unsaved input survives the end of a session and a new sign-in', async (t) => {
  const { id, email, password } = await dashboard.createUser('developer')
  const { page } = await openPage(t, dashboard.browser, `${dashboard.url}#/ip-policies/new`)
  await submitPassword(page, email, password)
  await page.getByLabel('Description').fill('half done')

  const { body } = await dashboard.platform.call('PUT', `/dashboard/api/users/${id}/password`)
  await page.getByRole('button', { name: 'Create IP policy' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.type(body.password)
  await page.keyboard.press('Enter')

  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('Description').inputValue(), 'half done')
  await page.getByRole('button', { name: 'Create IP policy' }).click()
  await page.getByRole('heading', { name: 'half done' }).waitFor()
})

test('a revoked session asks to sign in again', async (t) => {
  const { id, email, password } = await dashboard.createUser('developer')
  const { page } = await openPage(t, dashboard.browser, `${dashboard.url}#/api-keys`)
  await submitPassword(page, email, password)
  await page.getByRole('heading', { name: 'API keys' }).waitFor()

  await dashboard.platform.call('PATCH', `/users/${id}`, { body: { active: false } })
  await goTo(page, '/ip-policies')

  await page.getByText('Your session has ended.').waitFor()
  await submitPassword(page, email, password)
  await page.getByRole('alert').waitFor()
})

test('the theme can be selected and is stored', async (t) => {
  const { page } = await dashboard.open(t, '/account', { colorScheme: 'light' })
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  const light = await background()

  await page.getByRole('radio', { name: 'Dark' }).check()
  const dark = await background()
  await page.reload()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()

  assert.notEqual(dark, light)
  assert.equal(await background(), dark)
  await page.getByRole('radio', { name: 'Auto' }).check()
  assert.equal(await background(), light)
})

test('users see the pages their role allows', async (t) => {
  const { email, password } = await dashboard.createUser('read_only')
  const { page } = await openPage(t, dashboard.browser, `${dashboard.url}#/api-keys`)

  await submitPassword(page, email, password)

  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  await page.getByRole('row').nth(1).waitFor()
  assert.equal(await page.getByRole('link', { name: 'New API key' }).count(), 0)
  assert.equal(await page.getByRole('link', { name: 'Users', exact: true }).count(), 0)
})

test('developers own what they create, and forms have no owner field', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const { page, pageErrors } = await openPage(t, dashboard.browser, `${dashboard.url}#/api-keys/new`)
  await submitPassword(page, email, password)
  await page.locator('summary', { hasText: 'Metadata' }).click()

  await page.getByLabel('Description').fill('my own')
  assert.equal(await page.getByLabel('Owner').count(), 0)
  await page.getByRole('button', { name: 'Create API key' }).click()
  await page.getByRole('link', { name: 'Done' }).click()

  await page.getByText(email).nth(1).waitFor()
  assert.equal(await page.getByRole('link', { name: email }).count(), 0)
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 401/.test(text)),
    [],
  )
})

test('the sign-in and account pages are accessible in both themes and on a phone', async (t) => {
  const { page } = await openPage(t, dashboard.browser, dashboard.url, { bypassCSP: true })
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-sign-in')

  await signInWithKey(page, dashboard.platform.credentials.api_key)
  await goTo(page, '/account')
  await page.getByRole('heading', { name: 'Change password' }).waitFor()

  await assertAccessibleEverywhere(page, 'dashboard-account')
})

test('a one-time link opens the dashboard at its own host over TLS, and is gone from the address', async (t) => {
  const { dataDir, credentials } = dashboard.platform
  const { email } = await dashboard.createUser('admin')
  const { stdout } = await promisify(execFile)(ADIT, ['server', 'admin-link', email, '--data-dir', dataDir])
  const { hash } = new URL(stdout.trim().split('\n').at(-1)!)
  const origin = `https://dashboard.adit.localhost:${new URL(credentials.https_url).port}`
  const context = { ignoreHTTPSErrors: true }
  const { page, pageErrors } = await openPage(t, dashboard.browser, `${origin}/dashboard/${hash}`, context)

  await page.getByRole('heading', { name: 'Set your password' }).waitFor()
  const address = page.url()
  assert.equal(await page.getByLabel('Email').inputValue(), email)
  await page.getByLabel('Password', { exact: true }).fill('a password of my own')
  await page.getByLabel('Confirm password').fill('another password')
  await page.getByRole('button', { name: 'Set password' }).click()
  await assertText(page.getByRole('alert'), /do not match/)
  await assertAccessibleEverywhere(page, 'set-password')
  await page.getByLabel('Confirm password').fill('a password of my own')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText(email).waitFor()

  assert.equal(address, `${origin}/dashboard/`)
  const [cookie] = await page.context().cookies()
  assert.equal(cookie?.name, '__Host-adit_session')
  await goTo(page, hash.slice(1))
  await page.getByText(/already been used/).waitFor()
  assert.deepEqual(
    pageErrors.filter((text) => !isExpected(text)),
    [],
  )
})
