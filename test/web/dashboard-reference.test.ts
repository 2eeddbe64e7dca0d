import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPage } from './browser.ts'
import { goTo, startDashboard, submitPassword, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, readEquivalents, readText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('the console sends real requests, and shows them as shell commands', async (t) => {
  const { call, credentials } = dashboard.platform
  const { page, pageErrors } = await dashboard.open(t, '/reference')
  const send = page.getByRole('button', { name: 'Send request' })
  const response = page.getByRole('region', { name: 'Response', exact: true })

  await page.getByLabel('Search operations').fill('create ip policy rule')
  await page.getByRole('link', { name: 'Create an IP policy rule' }).click()
  const fields = await readText(page.getByRole('table', { name: 'Request body' }))
  await page.getByText('Do the same from a shell').click()
  const policy = await call.create('/ip_policies', {})
  const body = { cidr: '198.51.100.0/24', action: 'deny', ip_policy_id: policy.id }
  await page.getByLabel('Body (JSON)').fill('{"cidr": ')
  await send.click()
  const invalid = await readText(page.locator('.field-error'))
  await page.getByLabel('Body (JSON)').fill(JSON.stringify(body))
  const commands = await readEquivalents(page)
  await send.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send request' }).click()
  const created = await readText(response)
  await goTo(page, '/reference/ip_policy_rules.list')
  await page.getByLabel('limit').fill('1')
  await page.getByText('Do the same from a shell').click()
  const listCommands = await readEquivalents(page)
  await send.click()
  const listed = await readText(response)
  await goTo(page, '/reference/ip_policy_rules.get')
  await send.click()
  const missing = await readText(page.locator('.field-error'))
  await page.getByLabel('id', { exact: true }).fill('ipr_none/../x')
  await send.click()
  const rejected = await readText(response)

  assert.match(fields, /cidr\s+required\s+string[\s\S]*An IP address or a range in CIDR notation/)
  assert.match(invalid, /The body is not valid JSON/)
  assert.match(commands, new RegExp(`adit api ip-policy-rules create[\\s\\S]*--ip-policy-id ${policy.id}`))
  assert.match(commands, /curl -X POST [\s\S]*Bearer \$ADIT_API_KEY/)
  assert.ok(!commands.includes(credentials.api_key))
  assert.match(created, /201[\s\S]*"198\.51\.100\.0\/24"/)
  assert.match(listCommands, /adit api ip-policy-rules list --limit 1/)
  assert.match(listed, /200[\s\S]*"198\.51\.100\.0\/24"/)
  assert.match(missing, /This parameter is required/)
  assert.match(rejected, /404[\s\S]*error_code/)
  assert.equal((await call('GET', '/ip_policy_rules')).body.ip_policy_rules.length, 1)
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 404/.test(text)),
    [],
  )
})

test('read-only users see what they may call, and no secrets', async (t) => {
  const { call } = dashboard.platform
  const { email, password } = await dashboard.createUser('read_only')
  const edge = await call.create('/edges/https', {})
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match: '/',
    match_type: 'path_prefix',
    webhook_verification: { provider: 'github', secret: 'a secret of the administrator' },
  })
  const { page } = await openPage(t, dashboard.browser, `${dashboard.url}#/reference`)
  await submitPassword(page, email, password)
  const links = page.locator('.operations a')

  await page.getByLabel('Search operations').fill('user')
  await page.getByText('Requires administrator').first().waitFor()
  const all = await links.count()
  await page.getByLabel('Only operations that your role allows').check()
  await page.getByText('Requires administrator').first().waitFor({ state: 'detached' })
  const allowed = await links.allInnerTexts()
  await goTo(page, '/reference/ip_policies.create')
  const notice = await readText(page.getByRole('status').filter({ hasText: 'Your role' }))
  const canSend = await page.getByRole('button', { name: 'Send request' }).isEnabled()
  await goTo(page, '/reference/edges_https_routes.get')
  await page.getByLabel('edge_id').fill(String(edge.id))
  await page.getByLabel('id', { exact: true }).fill(String(route.id))
  await page.getByRole('button', { name: 'Send request' }).click()
  const response = await readText(page.getByRole('region', { name: 'Response', exact: true }))

  assert.ok(allowed.length > 0 && allowed.length < all)
  assert.ok(allowed.every((summary) => /^(List|Get) /.test(summary)))
  assert.match(notice, /Your role is read only\. This operation requires developer\./)
  assert.equal(canSend, false)
  assert.match(response, /"provider": "github"/)
  assert.doesNotMatch(response, /a secret of the administrator/)
})

test('the reference is accessible in both themes and on a phone', async (t) => {
  const { page } = await dashboard.open(t, '/reference', { bypassCSP: true })
  await page.locator('summary', { hasText: 'IP policy rules' }).click()
  await page.getByRole('link', { name: 'Create an IP policy rule' }).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-reference')
  await goTo(page, '/reference/ip_policy_rules.create')
  await page.getByRole('table', { name: 'Request body' }).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-operation')
})
