import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('a cloud endpoint is written with completion, checked while typing, tried, created and changed', async (t) => {
  const { call, credentials } = dashboard.platform
  await call.create('/reserved_domains', { domain: 'shop.adit.localhost' })
  const { page, pageErrors } = await dashboard.open(t, '/endpoints')
  await page.getByRole('link', { name: 'New cloud endpoint' }).click()
  await page.getByLabel('URL', { exact: true }).fill('https://shop.adit.localhost')
  const editor = page.getByRole('textbox', { name: 'Traffic policy' })

  await editor.pressSequentially('on_http_req')
  await page.getByRole('option', { name: /on_http_request/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await editor.pressSequentially('  - act')
  await page.getByRole('option', { name: /actions/ }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await editor.pressSequentially('      - type: den')
  await page.getByRole('option', { name: /deny/ }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('there is no action "den"').waitFor()
  await page.getByRole('button', { name: 'Line 3' }).waitFor()
  await assertAccessibleEverywhere(page, 'policy-editor-mistake')
  await page.getByRole('button', { name: 'Maintenance page' }).click()
  await page.getByText('The policy is valid.').waitFor()

  const path = page.getByRole('region', { name: 'Request path' })
  await assertText(path, /Visitor.*maintenance.*custom-response ends here/s)
  await page.getByText('Try a request').click()
  assert.equal(await page.getByLabel('URL of the request').inputValue(), 'https://shop.adit.localhost/')
  assert.equal(await page.getByLabel('Type', { exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Try request' }).click()
  await page.getByText('The visitor gets 503.').waitFor()
  await assertAccessibleEverywhere(page, 'policy-editor')
  await page.getByRole('button', { name: 'Create cloud endpoint' }).click()
  await page.getByRole('heading', { name: 'https://shop.adit.localhost' }).waitFor()
  const port = new URL(credentials.https_url).port
  const answer = await dashboard.platform.fetch(`https://shop.adit.localhost:${port}/`)
  assert.equal(answer.status, 503)

  await page.getByRole('link', { name: 'Edit' }).click()
  await editor.fill('on_http_request: [{actions: [{type: deny}]}]')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'https://shop.adit.localhost' }).waitFor()
  const { body } = await call('GET', '/endpoints')
  assert.deepEqual(
    body.endpoints.map(({ traffic_policy }: { traffic_policy: string }) => traffic_policy),
    ['on_http_request: [{actions: [{type: deny}]}]'],
  )
  assert.deepEqual(pageErrors, [])
})

test('the policy of a TCP edge has the same editor', async (t) => {
  const { call } = dashboard.platform
  const edge = await call.create('/edges/tcp', { description: 'Database' })
  const { page } = await dashboard.open(t, `/edges/${edge.id}`)
  await page
    .getByRole('button', { name: /Add a module/ })
    .first()
    .click()
  await page.getByRole('button', { name: /Traffic policy/ }).click()

  await page.getByRole('button', { name: 'Selected addresses only' }).click()
  await page.getByText('The policy is valid.').waitFor()

  await assertText(page.getByRole('region', { name: 'Request path' }), /office only.*restrict-ips/s)
  assert.equal(await page.getByText('Try a request').count(), 0)
})
