import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readText } from './inspected.ts'
import { startAgent } from './served.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('backends of every kind are created', async (t) => {
  const { call } = dashboard.platform
  const { page, pageErrors } = await dashboard.open(t, '/backends')
  const begin = async (kind: string) => {
    await page.goto(`${dashboard.url}#/backends/new`)
    await page.getByRole('button', { name: new RegExp(`^${kind}`) }).click()
    await page.getByLabel('Description').fill(`A ${kind.toLowerCase()}`)
  }
  const finish = async (kind: string) => {
    await page.getByRole('button', { name: `Create ${kind.toLowerCase()}` }).click()
    await page.getByRole('heading', { name: `A ${kind.toLowerCase()}` }).waitFor()
  }
  const newest = async (kind: string) => (await call('GET', `/backends/${kind}`)).body.backends[0]

  await page.getByRole('link', { name: 'New backend' }).waitFor()
  await begin('Fixed response')
  await page.getByLabel('Body').fill('sorry')
  await page.getByLabel('Status code').fill('503')
  await finish('Fixed response')
  await begin('Fixed address')
  await page.getByLabel('Address').fill('nonsense')
  await page.getByRole('button', { name: 'Create fixed address' }).click()
  await page.locator('.field.wrong', { hasText: 'Address' }).waitFor()
  await page.getByLabel('Address').fill('shop.example.com:443')
  await finish('Fixed address')
  await begin('Failover')
  const choose = page.locator('.child-add select')
  await choose.selectOption({ label: 'A fixed address (shop.example.com:443)' })
  await choose.selectOption({ label: 'A fixed response (returns 503 with 5 bytes)' })
  await page.getByRole('button', { name: /^Move A fixed response .* up/ }).click()
  await finish('Failover')

  const [fixed, address, failover] = [
    await newest('http_response'),
    await newest('static'),
    await newest('failover'),
  ]
  assert.deepEqual([fixed.status_code, fixed.body], [503, 'sorry'])
  assert.equal(address.address, 'shop.example.com:443')
  assert.deepEqual(failover.backends, [fixed.id, address.id])
  await assertText(
    page.locator('.flow-children'),
    /1st[\s\S]*A fixed response[\s\S]*2nd[\s\S]*A fixed address/,
  )
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 400/.test(text)),
    [],
  )
})

test('the tunnels of a group update live, and the join command is shown', async (t) => {
  const { platform } = dashboard
  const { id } = await platform.call.create('/backends/tunnel_group', { labels: { app: 'till', floor: '2' } })
  const { page, pageErrors } = await dashboard.open(t, `/backends/${id}`)
  await page.getByText('No agent has joined yet').waitFor()
  const line = await readText(page.locator('.command-line code'))

  const agent = await startAgent(t, platform)
  const port = await startHttp(t, (_request, response) => response.end('till'))
  await agent.forward({ addr: port, labels: ['app=till', 'floor=2', 'extra=1'] })
  const table = page.getByRole('table', { name: 'Tunnels online' })
  await table.getByText(`:${port}`).waitFor()
  await page.getByText('1 online').waitFor()
  await agent.close()
  await page.getByText('0 online').waitFor()

  assert.equal(line, 'adit tunnel --label app=till --label floor=2 3000')
  assert.deepEqual(pageErrors, [])
})

test('a backend in use lists its referrers and cannot be deleted', async (t) => {
  const { call } = dashboard.platform
  const fixed = await call.create('/backends/http_response', { body: 'x', description: 'Used' })
  const weighted = await call.create('/backends/weighted', {
    description: 'User',
    backends: { [fixed.id]: 1 },
  })
  const edge = await call.create('/edges/https', { description: 'Edge of it' })
  await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'exact_path',
    match: '/used',
    backend: { backend_id: fixed.id },
  })
  const { page } = await dashboard.open(t, `/backends/${fixed.id}`)
  const dialog = page.getByRole('dialog')

  await page.getByRole('link', { name: 'the backend User' }).waitFor()
  await page.getByRole('link', { name: 'the route /used of Edge of it' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  const error = await readText(dialog.getByRole('alert'))
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'the backend User' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  await dialog.getByLabel('Weight of Used (returns 200 with one byte)').fill('7')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Backends' }).waitFor()

  assert.match(error, /used by|still/i)
  assert.equal((await call('GET', `/backends/weighted/${weighted.id}`)).status, 404)
  assert.equal((await call('GET', `/backends/http_response/${fixed.id}`)).status, 200)
})

test('among many backends, the list and the forms show the newest and find the others', async (t) => {
  const { call } = dashboard.platform
  const old = await call.create('/backends/static', { address: 'old.example.com:80', description: 'Oldest' })
  const group = await call.create('/backends/failover', { backends: [old.id], description: 'Many' })
  for (let index = 1; index <= 55; index++)
    await call.create('/backends/static', {
      address: `n${index}.example.com:80`,
      description: `New ${index}`,
    })
  const { page, pageErrors } = await dashboard.open(t, '/backends')
  const table = page.getByRole('table', { name: 'Backends' })

  await table.getByRole('link', { name: 'New 55', exact: true }).waitFor()
  const firstPage = await table.getByRole('link').count()
  await page.getByRole('button', { name: 'Next' }).click()
  await table.getByRole('link', { name: 'Oldest' }).waitFor()
  await page.getByRole('searchbox', { name: 'Search backends' }).fill('many')
  await table.getByRole('link', { name: 'Oldest' }).waitFor({ state: 'detached' })
  await assertText(table, /^Backend[\s\S]*Many\s+Failover\s+first reachable\s+ready/)
  const found = await table.getByRole('link').count()
  await table.getByRole('link', { name: 'Many' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Oldest (old.example.com:80)').waitFor()
  await dialog.getByRole('searchbox', { name: 'Search backends' }).fill('n3.example')
  const choose = dialog.locator('.child-add select')
  await choose.selectOption({ label: 'New 3 (n3.example.com:80)' })
  await dialog.getByRole('searchbox', { name: 'Search backends' }).fill('nothing like this')
  await dialog.getByText('No matches').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })

  const { body } = await call('GET', `/backends/failover/${group.id}`)
  assert.deepEqual([firstPage, found, body.backends.length], [50, 1, 2])
  assert.deepEqual(pageErrors, [])
})

test('backends are accessible in both themes and on a phone', async (t) => {
  const { call } = dashboard.platform
  const group = await call.create('/backends/tunnel_group', { labels: { app: `shop` } })
  const inner = await call.create('/backends/weighted', { backends: { [group.id]: 1 } })
  const deep = await call.create('/backends/failover', { backends: [inner.id, group.id] })
  for (const path of ['/backends', '/backends/new', `/backends/${deep.id}`]) {
    const { page } = await dashboard.open(t, path, { bypassCSP: true })
    await page.locator('main table, .kinds, .flow').first().waitFor()

    await assertAccessibleEverywhere(
      page,
      `dashboard${path.replaceAll('/', '-').replace(String(deep.id), 'one')}`,
    )
  }
})
