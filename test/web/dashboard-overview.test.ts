import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../src/base/values/clock.ts'
import { addRelease } from '../../src/server/downloads/downloads.ts'
import { importIpData } from '../../src/server/ip-data.ts'
import { openIpDataFiles } from '../../src/store/index.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { writeMmdb } from '../support/mmdb-writer.ts'
import { openStoreOf } from '../support/open-store.ts'
import { createTestRelease } from '../support/release.ts'
import { goTo, goToLoaded, startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readText } from './inspected.ts'
import { startAgent } from './served.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
  // Imported first: the server looks for new data every 15 seconds.
  await importCountry('127.0.0.0/8', 'NL')
})
after(() => dashboard.stop())

/** What `adit server ipdata import` does beside a running server. */
async function importCountry(range: string, code: string): Promise<void> {
  const { dataDir, databaseUrl } = dashboard.platform
  const store = await openStoreOf({ dataDir, databaseUrl })
  const bytes = writeMmdb([[range, { country: { iso_code: code } }]])
  const file = { path: 'countries.mmdb', bytes, category: undefined }
  await importIpData(openIpDataFiles(store), file, systemClock)
  await store.close()
}

test('an empty account shows getting-started instructions with commands to copy', async (t) => {
  await addRelease(dashboard.platform.dataDir, (await createTestRelease()).release, undefined)
  const { page, pageErrors, requestedOrigins } = await dashboard.open(t, '/overview')
  const { agent_addr } = dashboard.platform.credentials

  await page.getByRole('heading', { name: 'Get started' }).waitFor()
  const readLines = () => readText(page.locator('.command-line code'))
  assert.match(await readLines(), /^adit http 3000$/m)
  await page.getByRole('radio', { name: 'On another machine' }).check()
  await page.getByText('Other ways').click()

  const lines = await readLines()
  assert.match(lines, /^adit http 3000 --root-cas adit-ca\.pem$/m)
  const download = await page
    .getByRole('link', { name: 'download the CA certificate of the server' })
    .getAttribute('href')
  assert.match(decodeURIComponent(download ?? ''), /BEGIN CERTIFICATE/)
  const { origin } = new URL(dashboard.url)
  const configure = `adit config add-connect-url ${agent_addr} && adit config add-authtoken YOUR_AUTHTOKEN`
  for (const line of [
    `curl -fsS ${origin}/install.sh | ADIT_AUTHTOKEN=YOUR_AUTHTOKEN sh`,
    `npm install --global ${origin}/download/adit-agent.tgz && ${configure}`,
    `curl -fsSO ${origin}/download/adit_amd64.deb && sudo apt install ./adit_amd64.deb && ${configure}`,
  ])
    assert.ok(lines.includes(line), line)
  await page.getByRole('button', { name: 'Fill in a new authtoken' }).click()
  await page.getByText('is not shown again').waitFor()
  const [, authtoken = ''] = /ADIT_AUTHTOKEN=(\S+) sh/.exec(await readLines()) ?? []
  const { credentials } = (await dashboard.platform.call('GET', '/credentials')).body
  const { id } = credentials.find(
    ({ description }: { description: string }) => description === 'Created with the first steps',
  )
  assert.ok(authtoken.startsWith(id.slice(id.indexOf('_') + 1)), authtoken)
  assert.deepEqual(pageErrors, [])
  assert.deepEqual([...requestedOrigins], [new URL(dashboard.url).origin])
})

test('traffic, agents, endpoints and changes appear live', async (t) => {
  const { platform } = dashboard
  const { page, pageErrors } = await dashboard.open(t, '/overview')
  await page.getByText('Live', { exact: true }).waitFor()
  const tile = (name: string) => page.locator('.tile', { hasText: name }).locator('.tile-value')
  const port = await startHttp(t, (request, response) => {
    response.statusCode = Number(request.url?.slice(1))
    response.end('hello')
  })

  const agent = await startAgent(t, platform)
  const { url } = await agent.forward(port)
  await page.locator('.tile', { hasText: 'Agents online' }).getByText('1', { exact: true }).waitFor()
  for (const status of [200, 200, 404, 500]) await (await platform.fetch(`${url}/${status}`)).text()
  await platform.call.create('/ip_policies', { description: 'from elsewhere' })

  await page.getByText('4 since the server started').waitFor()
  await page.getByRole('img', { name: /Requests per second .* now: / }).waitFor()
  await page.locator('.plain-list').getByText(url).waitFor()
  await page.getByText('Created IP policy').waitFor()
  assert.equal(await readText(tile('Endpoints')), '1')
  assert.equal(await page.getByRole('heading', { name: 'Get started' }).count(), 0)
  const areaPath = await page.locator('.traffic-plot .red .area').first().getAttribute('d')
  assert.match(areaPath ?? '', /^M/)
  const { height = 0 } = (await page.locator('.traffic-plot svg').first().boundingBox()) ?? {}
  assert.ok(height > 100 && height < 300, `a plot is ${height} px high`)
  assert.deepEqual(pageErrors, [])
})

test('certificates that need action are listed and link to their domain', async (t) => {
  const { call } = dashboard.platform
  await call.create('/reserved_domains', { domain: 'shop.example.com' })
  await call.create('/agent_ingresses', {
    domain: 'agents.example.com',
    certificate_management_policy: { authority: 'letsencrypt' },
  })

  const { page } = await dashboard.open(t, '/overview')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.getByRole('link', { name: 'agents.example.com' }).waitFor()
  await page.getByRole('link', { name: 'shop.example.com' }).click()

  await page.getByRole('heading', { name: 'DNS records to create' }).waitFor()
})

test('lists read no secrets, and recent changes are changes alone', async (t) => {
  const { call } = dashboard.platform
  const traffic_policy = 'on_http_request: [{actions: [{type: deny}]}]'
  const { id } = await call.create('/endpoints', {
    ...{ type: 'cloud', url: 'https://unread.internal', bindings: ['internal'] },
    ...{ description: 'Unread', traffic_policy },
  })
  await call('GET', `/endpoints/${id}`)
  const readReads = async () =>
    (await call('GET', '/audit_events')).body.audit_events
      .filter(({ action }: { action: string }) => action === 'get' || action === 'list')
      .map(({ object }: { object: string | null }) => object)
  assert.deepEqual(await readReads(), [id])

  const { page } = await dashboard.open(t, '/overview')
  const changes = page.locator('.card', { has: page.getByRole('heading', { name: 'Recent changes' }) })
  await changes.getByText('Created endpoint').waitFor()
  assert.equal(await changes.getByText('Viewed').count(), 0)
  await goToLoaded(page, '/endpoints')
  await page.getByRole('link', { name: 'Unread', exact: true }).waitFor()

  assert.deepEqual(await readReads(), [id])
  await page.getByRole('link', { name: 'Unread', exact: true }).click()
  await page.getByText('type: deny').waitFor()
})

test('a user without access to the audit log gets the rest of the overview', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const context = await dashboard.browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`${dashboard.url}#/overview`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()

  await page.getByRole('heading', { name: 'Requests per second' }).waitFor()

  assert.equal(await page.getByRole('heading', { name: 'Recent changes' }).count(), 0)
})

test('the overview shows a lost stream and reconnects', async (t) => {
  const { page } = await dashboard.open(t, '/agents')
  await page.route('**/dashboard/api/live', (route) => route.abort())

  await goTo(page, '/overview')
  await page.getByText('Disconnected, retrying').waitFor()
  await page.unroute('**/dashboard/api/live')

  await page.getByText('Live', { exact: true }).waitFor()
})

test('the plots begin with the last hour, which the server keeps, and show the live minutes on request', async (t) => {
  const { page } = await dashboard.open(t, '/account')
  const none = new Array<number>(360).fill(0)
  const requests = none.map((_, index) => (index % 7) * 10)
  await page.route('**/dashboard/api/traffic', (route) =>
    route.fulfill({
      json: {
        interval_seconds: 10,
        requests,
        connections: none,
        bytes_in: none,
        bytes_out: requests.map((count) => count * 1000),
        statuses: [none, requests, none, none, none],
      },
    }),
  )

  await goTo(page, '/overview')
  const plot = page.getByRole('img', { name: /^Requests per second in the last 60 min/ })
  await plot.waitFor()
  assert.equal(await page.getByRole('radio', { name: 'Last hour' }).isChecked(), true)
  const points = (await page.locator('.traffic-plot .green .area').first().getAttribute('d'))!.split('L')
  await page.getByRole('radio', { name: 'Last 2 minutes' }).check()
  await page.getByRole('img', { name: /^Requests per second in the last 30 s/ }).waitFor()

  assert.equal(points.length, 720, 'an hour of intervals, along the top and back along the bottom')
})

test('Ctrl+K finds pages and everything of the account, and Enter opens it', async (t) => {
  const { call } = dashboard.platform
  const policy = await call.create('/ip_policies', { description: 'Branch offices' })
  const { page, pageErrors } = await dashboard.open(t, '/account', { bypassCSP: true })
  const field = page.getByRole('combobox', { name: 'Search everything' })
  const option = (name: RegExp) => page.getByRole('option', { name })

  await page.keyboard.press('Control+k')
  await field.fill('api key')
  await option(/^API keys/).waitFor()
  await field.fill('branch')
  await option(/Branch offices.*IP policy/).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-search')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Branch offices' }).waitFor()
  await page.getByRole('button', { name: /^Search/ }).click()
  await field.fill('no such thing')
  await page.getByText('No matches.').waitFor()
  await page.keyboard.press('Escape')

  await field.waitFor({ state: 'detached' })
  assert.ok(page.url().endsWith(`/ip-policies/${policy.id}`))
  assert.deepEqual(pageErrors, [])
})

test('a page that is opened while the server restarts continues by itself', async (t) => {
  const { page } = await dashboard.open(t, '/account')
  await page.route('**/dashboard/api/session', (route) => route.abort('connectionrefused'))

  await page.goto(`${dashboard.url}#/overview`)
  await page.reload()
  await page.getByText('This page continues once the server responds').waitFor()
  await page.unroute('**/dashboard/api/session')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  // A list, and the script of a page.
  await page.route('**/users?limit=*', (route) => route.fulfill({ status: 503, json: {} }))
  await goTo(page, '/users')
  await page.getByText('This page continues once the server responds').waitFor()
  await page.unroute('**/users?limit=*')
  await page.getByRole('table', { name: 'Users' }).waitFor()
  await page.route('**/*.js', (route) => route.abort('connectionrefused'))
  await page.route('**/dashboard/api/session', (route) => route.abort('connectionrefused'))
  await goTo(page, '/backends')
  await page.getByText('Waiting for the server').waitFor()
  await page.unrouteAll({ behavior: 'ignoreErrors' })

  await page.getByRole('heading', { name: 'Backends', exact: true }).waitFor()
})

test('a page whose script does not arrive says so', async (t) => {
  const { page } = await dashboard.open(t, '/account')
  await page.route('**/*.js', (route) => route.abort('connectionrefused'))

  await page.goto(dashboard.url)
  await page.reload()

  await page.getByText('The page has not loaded completely').waitFor()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.getByRole('link', { name: 'Reload it' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
})

test('the navigation fits a window of 900 px', async (t) => {
  const { page } = await dashboard.open(t, '/account', { viewport: { width: 1400, height: 900 } })

  const hidden = await page
    .locator('.nav')
    .evaluate((nav: { scrollHeight: number; clientHeight: number }) => nav.scrollHeight - nav.clientHeight)

  assert.equal(hidden, 0)
})

test('the overview is accessible in both themes and on a phone', async (t) => {
  const { page } = await dashboard.open(t, '/overview', { bypassCSP: true })
  await page.getByText('Live', { exact: true }).waitFor()

  await assertAccessibleEverywhere(page, 'dashboard-overview')
})

test('the navigation leads to the documentation that this server has', async (t) => {
  const { page } = await dashboard.open(t, '/overview')

  const link = page.getByRole('navigation').getByRole('link', { name: 'Documentation' })

  assert.equal(await link.getAttribute('href'), '/docs/')
})

test('visitors are counted by country once facts about addresses are imported', async (t) => {
  const { platform } = dashboard
  const port = await startHttp(t, (_request, response) => response.end('hello'))
  const { url } = await (await startAgent(t, platform)).forward(port)
  const { hostname, port: httpsPort } = new URL(url)
  const isKnown = async () => {
    // A connection of its own: one is counted once, perhaps before the data was there.
    const visit = get({
      host: '127.0.0.1',
      port: httpsPort,
      servername: hostname,
      headers: { host: hostname },
      ca: platform.caPem,
      agent: false,
    })
    const [response] = (await once(visit, 'response')) as [IncomingMessage]
    await text(response)
    const { countries } = (await platform.call('GET', '/dashboard/api/countries')).body
    return countries.some(({ country }: { country: string | null }) => country === 'NL')
  }
  await eventually(isKnown, 'the country of a visitor is known')

  const { page, pageErrors } = await dashboard.open(t, '/overview', { bypassCSP: true })
  const table = page.getByRole('table', { name: 'Visitors by country' })
  await table.getByText('Netherlands').waitFor()
  await assertText(table, /Netherlands\s+\d+\s+(< 1|\d+) %/)
  const visited = page.getByRole('img', { name: 'World map of visitors' }).locator('path.visited title')
  assert.match((await visited.textContent()) ?? '', /^Netherlands: \d+$/)
  await table.scrollIntoViewIfNeeded()
  await assertAccessibleEverywhere(page, 'overview-countries')
  assert.deepEqual(pageErrors, [])
})

for (const [width, height] of [
  [1400, 900],
  [390, 844],
] as const)
  test(`at ${width} px nothing moves while the overview loads, and it does without the OpenAPI document`, async (t) => {
    const { page } = await dashboard.open(t, '/overview')
    await page.setViewportSize({ width, height })
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.addInitScript(`
      globalThis.moved = 0
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) moved += value
      }).observe({ type: 'layout-shift', buffered: true })`)

    // What is asked for first comes last.
    const delays = [1000, 800, 600, 400, 200]
    await page.route(
      /\/(dashboard\/api\/(platform|countries|traffic)|endpoints|audit_events)(\?|$)/,
      async (route) => {
        await setTimeout(delays.shift() ?? 0)
        await route.continue()
      },
    )

    await page.reload()
    await page.locator('.plots').waitFor()
    await page.getByRole('heading', { name: 'Recent changes' }).waitFor()

    const moved = await page.evaluate<number>('moved')
    assert.ok(moved < 0.02, `the layout shift is ${moved}`)
    assert.deepEqual(
      requested.filter((path) => path === '/openapi.json'),
      [],
    )
  })
