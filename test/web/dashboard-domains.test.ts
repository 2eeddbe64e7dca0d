import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventuallyEqual } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readText } from './inspected.ts'
import { startAgent } from './served.ts'

const hello = (_request: unknown, response: { end(text: string): void }) => response.end('hello')

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('a subdomain of the platform is reserved and needs no further action', async (t) => {
  const { platform } = dashboard
  const { page, pageErrors } = await dashboard.open(t, '/domains')

  await page.getByRole('link', { name: 'New domain' }).click()
  await page.getByRole('textbox', { name: /^Name/ }).fill('Till')
  await page.getByText('Do the same from a shell').click()
  await assertText(
    page.locator('.equivalent'),
    /adit api reserved-domains create --domain till\.adit\.localhost/,
  )
  await page.getByRole('button', { name: 'Reserve domain' }).click()
  await page.getByRole('heading', { name: 'till.adit.localhost', exact: true }).waitFor()
  const line = await readText(page.locator('.command-line code'))

  await assertText(page.locator('main'), /No action is needed/)
  assert.equal(await page.getByRole('heading', { name: 'DNS records to create' }).count(), 0)
  // The displayed command works.
  const agent = await startAgent(t, platform)
  const url = /--url (\S+)/.exec(line)?.[1] ?? ''
  const visited = await page.getByText('Visitors open').getByRole('link').getAttribute('href')
  const port = await startHttp(t, (_request, response) => response.end('till'))
  await agent.forward({ addr: port, url })
  assert.equal(await (await platform.fetch(visited ?? '')).text(), 'till')
  await page.getByText(`http://localhost:${port}`).waitFor()
  assert.equal(await page.getByText('Serve this domain from an agent').count(), 0)
  assert.deepEqual(pageErrors, [])
})

test('a taken name shows an error at the field', async (t) => {
  await dashboard.platform.call.create('/reserved_domains', { domain: 'taken.adit.localhost' })
  const { page } = await dashboard.open(t, '/domains/new')

  await page.getByText('taken.adit.localhost').or(page.getByText('shop.adit.localhost')).waitFor()
  await page.getByRole('textbox', { name: /^Name/ }).fill('taken')
  await page.keyboard.press('Enter')

  const field = page.locator('.field.wrong', { hasText: 'Name' })
  await assertText(field.locator('.field-error'), /already reserved/)
})

test('a custom domain lists the DNS records to create, each with a copy button', async (t) => {
  const { page, pageErrors } = await dashboard.open(t, '/domains/new')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])

  await page.getByRole('radio', { name: /^Custom domain/ }).check()
  await page.getByRole('textbox', { name: /^Domain/ }).fill('*.apps.example.net')
  await page.getByRole('button', { name: 'Reserve domain' }).click()
  const table = page.getByRole('table', { name: 'DNS records to create' })
  await table.waitFor()
  const rows = await table.locator('tbody tr').allTextContents()
  const proof = table.locator('tbody tr').filter({ hasText: '_acme-challenge.apps.example.net' })
  await proof.locator('td').filter({ hasText: 'acme-challenge.adit' }).getByRole('button').click()

  assert.equal(rows.length, 2)
  await proof.getByText('Copied').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(copied, /\.acme-challenge\.adit\.localhost$/)
  await assertText(page.locator('main'), /operator has to start it with --acme-directory/)
  assert.deepEqual(pageErrors, [])
})

test('an apex domain shows the alternatives to a CNAME', async (t) => {
  const { id } = await dashboard.platform.call.create('/reserved_domains', { domain: 'example.org' })

  const { page } = await dashboard.open(t, `/domains/${id}`)

  await page.getByText('usually cannot have a CNAME').waitFor()
})

test('automatic certificates are switched off and on, and the domain is edited and deleted', async (t) => {
  const { call } = dashboard.platform
  const { id } = await call.create('/reserved_domains', { domain: 'own.example.com' })
  const configuration = await call.create('/endpoint_configurations', {
    type: 'https',
    description: 'Old one',
    compression: {},
    request_headers: { enabled: false },
  })
  const { page, pageErrors } = await dashboard.open(t, `/domains/${id}`)
  const dialog = page.getByRole('dialog')
  const read = async () => (await call('GET', `/reserved_domains/${id}`)).body

  await page.getByRole('button', { name: 'Stop automatic renewal' }).click()
  await dialog.getByRole('button', { name: 'Stop', exact: true }).click()
  const obtain = page.getByRole('button', { name: 'Obtain automatically' })
  await obtain.waitFor()
  await page.getByText('private authority of this platform').waitFor()
  const removed = (await read()).certificate_management_policy
  await obtain.click()
  await dialog.getByRole('button', { name: 'Obtain', exact: true }).click()
  await page.getByRole('button', { name: 'Stop automatic renewal' }).waitFor()
  const restored = (await read()).certificate_management_policy
  await page.getByRole('button', { name: 'Edit' }).click()
  await dialog.getByLabel('Description').fill('Our own')
  await dialog.getByLabel('HTTPS endpoint configuration').selectOption(String(configuration.id))
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Our own', { exact: true }).waitFor()

  assert.equal(removed, null)
  assert.equal(restored.authority, 'letsencrypt')
  assert.equal((await read()).https_endpoint_configuration.id, configuration.id)
  await page.getByText('Old one: Compression', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Domains' }).waitFor()
  assert.equal((await call('GET', `/reserved_domains/${id}`)).status, 404)
  assert.deepEqual(pageErrors, [])
})

test('the list shows the certificate status and what really serves a domain', async (t) => {
  const { call } = dashboard.platform
  for (const name of ['listed', 'agent', 'cloud', 'idle'])
    await call.create('/reserved_domains', {
      domain: `${name}.adit.localhost`,
      description: name === 'listed' ? 'In the list' : '',
    })
  const agent = await startAgent(t, dashboard.platform)
  await agent.forward({ addr: await startHttp(t, hello), url: 'https://agent.adit.localhost' })
  const action = { type: 'custom-response', config: { status_code: 200, body: 'cloud' } }
  await call.create('/endpoints', {
    url: 'https://cloud.adit.localhost',
    description: 'Answer',
    traffic_policy: JSON.stringify({ on_http_request: [{ actions: [action] }] }),
  })
  await call.create('/edges/https', { hostports: ['listed.adit.localhost:443'], description: 'Listed edge' })

  const { page } = await dashboard.open(t, '/domains')
  const rowOf = (name: string) => page.getByRole('row', { name: `${name}.adit.localhost` })
  const row = rowOf('listed')

  await assertText(row, /In the list[\s\S]*Platform[\s\S]*Listed edge/)
  await assertText(rowOf('agent'), /Platform[\s\S]*an agent/)
  await assertText(rowOf('cloud'), /Platform[\s\S]*Answer/)
  await assertText(rowOf('idle'), /Platform[\s\S]*nothing online/)
  await page.keyboard.press('/')
  await page.keyboard.type('in the list')
  await eventuallyEqual(() => page.locator('tbody tr').count(), 1)
  await row.getByRole('link', { name: 'listed.adit.localhost' }).click()
  await page.getByText('Edge Listed edge').waitFor()
})

test('domains are accessible in both themes and on a phone', async (t) => {
  const { id } = await dashboard.platform.call.create('/reserved_domains', {
    domain: `*.a-rather-long-name.example.com`,
  })
  for (const path of ['/domains', '/domains/new', `/domains/${id}`]) {
    const { page } = await dashboard.open(t, path, { bypassCSP: true })
    await page.locator('main table, main form').first().waitFor()

    await assertAccessibleEverywhere(
      page,
      `dashboard-domain${path.replaceAll('/', '-').replace(String(id), 'one')}`,
    )
  }
})
