import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('a vault lists its secrets; new ones there ask for no vault, those elsewhere ask once', async (t) => {
  const { call } = dashboard.platform
  const vault = await call.create('/vaults', { name: 'webhooks' })
  const other = await call.create('/vaults', { name: 'other' })
  await call.create('/vault_secrets', { vault_id: other.id, name: 'elsewhere', value: 'x' })
  const { page, pageErrors } = await dashboard.open(t, `/vaults/${vault.id}`, { bypassCSP: true })
  await page.getByRole('button', { name: 'Add a secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('github')
  await dialog.getByLabel('Value').fill('swordfish')
  assert.equal(await dialog.getByLabel(/Vault/).count(), 0)
  await assertAccessibleEverywhere(page, 'vault-new-secret')
  await dialog.getByRole('button', { name: 'Add secret' }).click()
  const secrets = page.getByRole('table', { name: 'Secrets' })
  await secrets.getByRole('link', { name: 'github' }).waitFor()
  assert.equal(await secrets.getByText('elsewhere').count(), 0)
  await assertAccessibleEverywhere(page, 'vault')

  await page.getByRole('button', { name: 'Edit github' }).click()
  await dialog.getByLabel('Description').fill('signs webhooks')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await secrets.getByText('signs webhooks').waitFor()
  await page.getByRole('button', { name: 'Delete github' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No secrets yet').waitFor()

  await page.goto(`${dashboard.url}#/secrets/new`)
  await page.getByLabel('Vault', { exact: true }).waitFor()
  assert.equal(await page.getByLabel(/Vault/).count(), 1)
  await page.getByLabel('Name').fill('github')
  await page.getByLabel('Value').fill('swordfish')
  await page.getByLabel('Vault', { exact: true }).selectOption(String(other.id))
  await page.getByRole('button', { name: 'Create secret' }).click()
  await page.getByRole('heading', { name: 'github' }).waitFor()
  assert.deepEqual(pageErrors, [])
})
