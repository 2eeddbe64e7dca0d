import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readEquivalents, readText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard(['--outbound-allow', '127.0.0.1'])
})
after(() => dashboard.stop())

test('an IP policy reports whether it allows an address, and which rule decides', async (t) => {
  const { call } = dashboard.platform
  const policy = await call.create('/ip_policies', { description: 'Office' })
  const rule = (action: string, cidr: string) =>
    call.create('/ip_policy_rules', { ip_policy_id: policy.id, action, cidr })
  await rule('allow', '198.51.100.0/24')
  await rule('deny', '198.51.100.7/32')
  await call.create('/ip_restrictions', { type: 'api', enforced: false, ip_policy_ids: [policy.id] })
  const { page, pageErrors } = await dashboard.open(t, `/ip-policies/${policy.id}`)
  const field = page.getByLabel('IP address')
  const verdict = page.locator('.ip-verdict')
  const check = async (address: string) => {
    await field.fill(address)
    await page.keyboard.press('Enter')
  }

  await check('198.51.100.9')
  await verdict.getByText('allowed', { exact: true }).waitFor()
  const allowed = await readText(verdict)
  await check('198.51.100.7')
  await verdict.getByText('denied', { exact: true }).waitFor()
  const denied = await readText(verdict)
  await check('2001:db8::1')
  await verdict.getByText('2001:db8::1').waitFor()
  const unmatched = await readText(verdict)
  await check('somewhere')
  const fieldError = await readText(page.locator('.ip-tester .field-error'))

  assert.match(allowed, /The rule for 198\.51\.100\.0\/24 allows it/)
  assert.match(allowed, /It can call the API/)
  assert.match(denied, /The rule for 198\.51\.100\.7\/32 denies it, and a deny always wins/)
  assert.match(denied, /Once this restriction is enforced, it cannot call the API/)
  assert.match(unmatched, /No rule allows it/)
  assert.match(fieldError, /"somewhere" is not an IPv4 or IPv6 address/)
  assert.deepEqual(
    pageErrors.filter((text) => !/status of 400/.test(text)),
    [],
  )
})

test('a destination accepts a test event, and its delivery status updates live', async (t) => {
  const { call } = dashboard.platform
  const received: string[] = []
  let broken = false
  const port = await startHttp(t, (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push(body)
      response.statusCode = broken ? 500 : 200
      response.end()
    })
  })
  const destination = await call.create('/event_destinations', {
    description: 'Our hook',
    target: { webhook: { url: `http://127.0.0.1:${port}/hook`, secret: 'hush' } },
  })
  const { page } = await dashboard.open(t, `/event-destinations/${destination.id}`)
  await page.getByText('Nothing has been sent yet').waitFor()

  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByText(/The destination accepted the test event/).waitFor()
  await page.getByText('The last delivery succeeded').waitFor()
  await page.getByText('Do the same from a shell').click()
  const lines = await readEquivalents(page)
  broken = true
  await page.getByRole('button', { name: 'Send test event' }).click()
  const error = await readText(page.getByRole('alert'))
  await page.locator('.facts', { hasText: 'Error message' }).waitFor()

  assert.ok(received.length >= 2)
  assert.match(lines, new RegExp(`adit api event-destinations send-test-event ${destination.id}`))
  assert.match(error, /500/)
  await assertText(page.locator('.facts').last(), /Error message[\s\S]*500/)
})

test('the queue length of a destination updates live', async (t) => {
  const { call } = dashboard.platform
  const destination = await call.create('/event_destinations', {
    description: 'Away',
    target: { webhook: { url: 'http://127.0.0.1:1/hook', secret: 'hush' } },
  })
  await call.create('/event_subscriptions', {
    destination_ids: [destination.id],
    sources: [{ type: 'ip_policy_created.v0' }],
  })
  const { page } = await dashboard.open(t, `/event-destinations/${destination.id}`)
  await page.getByText('Nothing has been sent yet').waitFor()

  await call.create('/ip_policies', { description: 'undelivered' })

  await page.getByText(/One event is queued/).waitFor()
  await assertText(page.locator('.badge.warn'), /failing/)
})

test('the tester and the deliveries are accessible in both themes and on a phone', async (t) => {
  const { call } = dashboard.platform
  const policy = await call.create('/ip_policies', { description: 'Seen' })
  const destination = await call.create('/event_destinations', {
    target: { webhook: { url: 'https://hooks.example.com/a/rather/long/path/of/it', secret: 'x' } },
  })
  const { page } = await dashboard.open(t, `/ip-policies/${policy.id}`, { bypassCSP: true })
  await page.getByLabel('IP address').fill('192.0.2.1')
  await page.keyboard.press('Enter')
  await page.getByText('There are no rules yet').waitFor()

  await assertAccessibleEverywhere(page, 'dashboard-ip-tester')
  const other = await dashboard.open(t, `/event-destinations/${destination.id}`, { bypassCSP: true })
  await other.page.getByText('Nothing has been sent yet').waitFor()
  await assertAccessibleEverywhere(other.page, 'dashboard-delivery')
})

test('all events of a kind are chosen at once', async (t) => {
  const { page, pageErrors } = await dashboard.open(t, '/event-subscriptions/new')
  const box = (name: string) => page.getByRole('checkbox', { name, exact: true })
  const isMixed = (name: string) =>
    box(name).evaluate((input) => (input as unknown as { indeterminate: boolean }).indeterminate)
  await box('API key created').check()
  assert.ok(await isMixed('All resources created'))

  await box('All resources created').check()
  await box('All events of agents and tunnels').check()
  await box('IP policy created').uncheck()

  assert.ok(await box('User created').isChecked())
  assert.ok(!(await box('User deleted').isChecked()))
  assert.ok(await isMixed('All resources created'))
  assert.ok(await box('All events of agents and tunnels').isChecked())
  assert.deepEqual(pageErrors, [])
})
