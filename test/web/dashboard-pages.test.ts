import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { eventuallyEqual } from '../support/eventually.ts'
import { discardAndGoTo, goTo, goToLoaded, startDashboard, type TestDashboard } from './dashboard.ts'
import { assertText, readText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

const field = (page: Page, label: string): Locator => page.getByLabel(label, { exact: true })
const main = (page: Page): Locator => page.locator('main')

test('a token is shown once, can be copied, and works', async (t) => {
  const { page } = await dashboard.open(t, '/api-keys/new', {
    permissions: ['clipboard-read', 'clipboard-write'],
  })

  await field(page, 'Description').fill('shown once')
  await page.keyboard.press('Enter')
  await page.getByText('This is the new API key.').waitFor()
  const token = await readText(page.locator('.one-time-secret code'))
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()

  assert.equal(await page.evaluate('navigator.clipboard.readText()'), token)
  const { status } = await fetch(`${dashboard.platform.credentials.api_url}/api_keys`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(status, 200)
  await page.getByRole('link', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'shown once' }).waitFor()
  assert.ok(!(await readText(main(page))).includes(token))
  await page.reload()
  await page.getByRole('heading', { name: 'shown once' }).waitFor()
  assert.ok(!(await page.content()).includes(token))
})

test('an API error is shown at the field, which gets the focus', async (t) => {
  const { page } = await dashboard.open(t, '/event-destinations/new')
  await field(page, 'Kind').selectOption('webhook')
  await field(page, 'URL').fill('not an address')
  await field(page, 'Secret').fill('a secret of the hook')

  await page.getByRole('button', { name: 'Create event destination' }).click()

  await page
    .locator('.field', { has: page.getByLabel('URL', { exact: true }) })
    .locator('.field-error')
    .waitFor()
  await field(page, 'URL').and(page.locator('[aria-invalid="true"]:focus')).waitFor()
  await discardAndGoTo(page, '/users/new')
  await page.getByRole('button', { name: 'Create user' }).click()
  await assertText(page.locator('.field-error'), /email is required/)
})

test('a hidden secret is kept unless its group changes', async (t) => {
  const target = { webhook: { url: 'https://example.com/one', secret: 'the first secret' } }
  const { id } = await dashboard.platform.call.create('/event_destinations', { target })
  const { page } = await dashboard.open(t, `/event-destinations/${id}/edit`)
  const saved = () => page.waitForRequest((request) => request.method() === 'PATCH')
  await page.getByText('Enter it again if you change anything').waitFor()

  await field(page, 'Description').fill('only this')
  const [request] = await Promise.all([saved(), page.getByRole('button', { name: 'Save' }).click()])
  await page.getByRole('link', { name: 'Edit' }).click()
  await field(page, 'URL').fill('https://example.com/two')
  await page.getByRole('button', { name: 'Save' }).click()

  assert.deepEqual(request.postDataJSON(), { description: 'only this' })
  await assertText(page.locator('.field-error'), /target\.webhook\.secret is required/)
})

test('user content is displayed verbatim and never runs', async (t) => {
  const hostile = '<img src=x onerror="document.title=1"> {{7*7}} javascript:alert(1) \u202egnp.exe'
  const { id } = await dashboard.platform.call.create('/ip_policies', {
    description: hostile,
    metadata: hostile,
  })
  const { page, pageErrors } = await dashboard.open(t, '/ip-policies')

  await main(page).getByText(hostile).first().waitFor()
  await goTo(page, `/ip-policies/${id}`)
  await page.getByRole('heading', { name: hostile }).waitFor()

  assert.equal(await page.locator('img').count(), 0)
  assert.match(await page.title(), /^<img/)
  assert.deepEqual(pageErrors, [])
})

test('rules are added, edited and deleted on the page of their policy', async (t) => {
  const { id } = await dashboard.platform.call.create('/ip_policies', { description: 'Office' })
  const { page } = await dashboard.open(t, `/ip-policies/${id}`)
  await page.getByRole('button', { name: 'Add a rule' }).click()
  const dialog = page.getByRole('dialog')

  await dialog.getByLabel('Address range').fill('203.0.113.0/99')
  await dialog.getByLabel('Action').selectOption('allow')
  await dialog.getByRole('button', { name: 'Add rule' }).click()
  await assertText(dialog.locator('.field-error'), /cidr/)
  await dialog.getByLabel('Address range').fill('203.0.113.0/24')
  await dialog.getByRole('button', { name: 'Add rule' }).click()
  const rules = page.getByRole('table', { name: 'Rules' })
  await assertText(rules, /203\.0\.113\.0\/24\s+allow/)
  await page.getByRole('button', { name: 'Edit 203.0.113.0/24' }).click()
  await dialog.getByLabel('Description').fill('the office')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await rules.getByText('the office').waitFor()
  await page.getByRole('button', { name: 'Delete 203.0.113.0/24' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()

  await page.getByText('No rules yet').waitFor()
})

test('lists say how many rules a policy has, and when a user signed in', async (t) => {
  const { call } = dashboard.platform
  const { id } = await call.create('/ip_policies', { description: 'Two offices' })
  for (const cidr of ['203.0.113.0/24', '2001:db8::/32'])
    await call.create('/ip_policy_rules', { cidr, action: 'allow', ip_policy_id: id })
  await call.create('/users', { email: 'never@example.com' })
  const { page } = await dashboard.open(t, '/ip-policies')
  await assertText(page.getByRole('row', { name: 'Two offices' }), /Two offices\s+2\s/)

  await goTo(page, '/users')

  await assertText(
    page.getByRole('row', { name: 'admin@' }),
    /Administrator\s+active\s+(just now|\d+ minutes? ago)/,
  )
  await assertText(page.getByRole('row', { name: 'never@' }), /Developer\s+active\s*$/)
})

test('a rejected deletion shows the reason and changes nothing', async (t) => {
  const { call } = dashboard.platform
  const { id } = await call.create('/ip_policies', { description: 'in use' })
  await call.create('/ip_restrictions', { type: 'agent', ip_policy_ids: [id], enforced: false })
  const { page } = await dashboard.open(t, `/ip-policies/${id}`)

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()

  await assertText(page.getByRole('alert'), /is still used by/)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'in use' }).waitFor()
})

test('a reference can be cleared', async (t) => {
  const { call } = dashboard.platform
  const configuration = await call.create('/endpoint_configurations', {
    type: 'tcp',
    description: 'for the address',
  })
  const { id } = await call.create('/reserved_addrs', { endpoint_configuration_id: configuration.id })
  const { page } = await dashboard.open(t, `/addresses/${id}`)
  await page.getByText('for the address: no modules', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Edit' }).click()

  await field(page, 'Endpoint configuration').selectOption('')
  await page.getByText('Do the same from a shell').click()
  const line = await readText(page.getByRole('region', { name: 'The same with adit api' }))
  await page.getByRole('button', { name: 'Save' }).click()

  await page.getByRole('link', { name: 'Edit' }).waitFor()
  assert.match(line, new RegExp(`adit api reserved-addrs endpoint-configuration delete ${String(id)}`))
  const { body } = await call('GET', `/reserved_addrs/${id}`)
  assert.equal(body.endpoint_configuration, null)
})

test('lists are paged, and the search covers all items', async (t) => {
  const { call } = dashboard.platform
  for (let index = 0; index < 120; index++)
    await call.create('/ip_policies', { description: `policy number ${index}` })
  const { page } = await dashboard.open(t, '/ip-policies')
  const rows = main(page).getByRole('row')
  await main(page).getByText('policy number 119').waitFor()
  assert.equal(await rows.count(), 51)

  await page.getByRole('button', { name: 'Show older' }).click()
  await main(page).getByText('policy number 25').waitFor()
  assert.equal(await rows.count(), 101)
  await page.keyboard.press('/')
  await page.keyboard.type('number 11')

  await main(page).getByText('policy number 11', { exact: true }).waitFor()
  await assertText(page.locator('.counts'), /^11 matches$/)
  await page.keyboard.type('zzz')
  await page.getByText('No matches').waitFor()
})

test('copying works without the clipboard API', async (t) => {
  const { page } = await dashboard.open(t, '/account')
  // The situation over plain HTTP from another machine.
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
  const { id } = await dashboard.platform.call.create('/bot_users', { name: 'copied' })
  await goTo(page, `/bot-users/${id}`)

  await page.getByRole('button', { name: 'Copy ID' }).click()

  await page.getByRole('button', { name: 'Copied' }).waitFor()
  await goTo(page, '/bot-users')
  await page.getByRole('searchbox').focus()
  await page.keyboard.press('ControlOrMeta+v')
  await eventuallyEqual(() => page.getByRole('searchbox').inputValue(), id)
})

test('an administrator generates a password for a user, and the audit log records it', async (t) => {
  const { id } = await dashboard.platform.call.create('/users', { email: 'frank@example.com' })
  const { page } = await dashboard.open(t, `/users/${id}`)

  await page.getByRole('button', { name: 'Generate password' }).click()

  await page.getByText('This is the new password for frank@example.com.').waitFor()
  await goTo(page, '/audit-log')
  await page.getByRole('searchbox').fill(`make_password ${id}`)
  await main(page).getByText('1 match').waitFor()
  await assertText(main(page).getByRole('row').nth(1), /Generated a password/)
})

test('the audit log tells who changed what, can be filtered, and is exported', async (t) => {
  const { call } = dashboard.platform
  const { id } = await call.create('/ip_policies', { description: 'Before' })
  await call('PATCH', `/ip_policies/${id}`, { body: { description: 'After' } })
  const { page, pageErrors } = await dashboard.open(t, '/audit-log')
  const row = main(page)
    .getByRole('row', { name: /Changed IP policy/ })
    .first()

  await page.getByLabel('Action').selectOption('Changed')
  await page.getByLabel('Person').selectOption('admin@adit.localhost')
  await page.getByLabel('Period').selectOption('Last hour')
  await row.getByText('Changed description').click()
  const text = await readText(row)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const csv = await readFile(await (await download).path(), 'utf8')
  await page.getByLabel('Outcome').selectOption('Rejected')
  await page.getByLabel('Action').selectOption('Signed in')
  await page.getByText('No record matches this filter.').waitFor()

  assert.match(text, /admin@adit\.localhost[\s\S]*description[\s\S]*Before[\s\S]*After/)
  assert.match(csv, /update,ip_policies,.*Before.*After/)
  assert.doesNotMatch(csv, /,create,/)
  assert.deepEqual(pageErrors, [])
})

test('what was typed is not lost without a question', async (t) => {
  const { id } = await dashboard.platform.call.create('/ip_policies', { description: 'Typed' })
  const { page, pageErrors } = await dashboard.open(t, '/overview')
  const question = page.getByRole('dialog', { name: 'Discard what you typed?' })
  const answer = (name: string) => question.getByRole('button', { name }).click()
  const name = page.getByRole('textbox', { name: /^Name/ })
  await goTo(page, '/domains/new')
  await name.fill('shop')

  await page.getByRole('link', { name: 'Edges' }).click()
  await answer('Keep editing')
  await page.goBack()
  await answer('Keep editing')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await answer('Keep editing')
  assert.equal(await name.inputValue(), 'shop')
  assert.equal(new URL(page.url()).hash, '#/domains/new')
  await page.getByRole('link', { name: 'Edges' }).click()
  await answer('Discard')
  await page.getByRole('heading', { name: 'Edges', exact: true }).waitFor()

  await goTo(page, `/ip-policies/${id}`)
  await page.getByRole('button', { name: 'Add a rule' }).click()
  const dialog = page.getByRole('dialog', { name: /rule/ })
  const range = dialog.getByLabel('Address range')
  await range.fill('203.0.113.0/24')
  await range.press('Escape')
  await answer('Keep editing')
  assert.equal(await range.inputValue(), '203.0.113.0/24')
  await range.press('Escape')
  await answer('Discard')
  await dialog.waitFor({ state: 'detached' })
  assert.deepEqual(pageErrors, [])
})

test('times are those of the place of the reader, with UTC in a tooltip', async (t) => {
  await dashboard.platform.call.create('/ip_policies', { description: 'Timed' })
  const { page } = await dashboard.open(t, '/audit-log', { timezoneId: 'Asia/Kolkata' })
  const time = main(page).locator('tbody time').first()
  await time.waitFor()

  const shown = (await time.textContent()) ?? ''
  const title = (await time.getAttribute('title')) ?? ''

  assert.equal(shown.replace(' ', 'T'), inKolkata(title))
})

/** `2027-01-31 12:00:00.250 UTC` there, without a part of a second. */
function inKolkata(utc: string): string {
  const time = Date.parse(utc.replace(' UTC', 'Z').replace(' ', 'T'))
  return new Date(time + 330 * 60_000).toISOString().slice(0, 19)
}

test('the dashboard works with the keyboard alone', async (t) => {
  await dashboard.platform.call.create('/bot_users', { name: 'older' })
  await dashboard.platform.call.create('/bot_users', { name: 'newer' })
  const { page } = await dashboard.open(t, '/account')
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('Go to page').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('u')
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await goTo(page, '/bot-users')
  await main(page).getByText('older').waitFor()

  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'older' }).waitFor()
  await page.getByRole('link', { name: 'Edit' }).waitFor()
  await page.keyboard.press('e')
  await field(page, 'Name').waitFor()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type('renamed')
  await page.keyboard.press('Enter')

  await page.getByRole('heading', { name: 'renamed' }).waitFor()
})

test('the Content-Security-Policy blocks injected code, and the pages comply with it', async (t) => {
  const { page, pageErrors } = await dashboard.open(t, '/api-keys')
  await main(page).getByRole('row').nth(1).waitFor()

  const { headers } = await fetch(dashboard.url)
  const ran = await page.evaluate(`(() => {
    const script = document.createElement('script')
    try { script.textContent = 'globalThis.ran = true'; document.body.append(script) } catch {}
    return globalThis.ran === true
  })()`)

  assert.match(headers.get('content-security-policy')!, /default-src 'none'; script-src 'self'/)
  assert.equal(ran, false)
  assert.ok(
    pageErrors.length > 0 && pageErrors.every((text) => /Content Security|TrustedScript|trusted/i.test(text)),
    pageErrors.join(),
  )
})

test('tables fit every width between a phone and a desktop', async (t) => {
  const { call } = dashboard.platform
  await call.create('/reserved_domains', { domain: 'a-rather-long-name.example.com' })
  await call.create('/edges/https', {
    description: 'An edge with a name of several words',
    hostports: ['a-rather-long-name.example.com:443'],
  })
  const policy = await call.create('/ip_policies', { description: 'Offices' })
  await call.create('/ip_policy_rules', {
    ip_policy_id: policy.id,
    action: 'deny',
    cidr: '2001:db8:1:2:3:4::/96',
    description: 'The branch in the north',
  })
  const { page } = await dashboard.open(t, '/edges')

  for (const path of ['/edges', '/domains', `/ip-policies/${policy.id}`, '/users'])
    for (const width of [641, 700, 781, 861, 900, 950, 1000]) {
      await page.setViewportSize({ width, height: 800 })
      await goToLoaded(page, path)
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      assert.ok(overflow <= 0, `${path} is ${overflow} px too wide at ${width} px`)
    }
})
