import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import type { ApiClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { certificates } from '../support/samples.ts'
import { generateSshPublicKey } from '../support/ssh-keys.ts'
import { discardAndGoTo, goTo, goToLoaded, startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertAccessibleInBothThemes, readText } from './inspected.ts'

// A dynamic import: this file is type-checked without the DOM types that the module's imports need.
const resourcesUrl = new URL('../../src/web/dashboard/resources.ts', import.meta.url)
const { resourcePages } = (await import(resourcesUrl.href)) as {
  resourcePages: readonly ResourcePages[]
}
interface ResourcePages {
  readonly route: string
  readonly title: string
  readonly singular: string
  readonly path: string
  readonly operations?: readonly string[]
}
/** Those that users create. */
const creatable = resourcePages.filter(({ operations }) => operations?.includes('create') !== false)

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** How to fill in the form of a resource, and what to expect. */
interface FormCase {
  /** Fills in the required fields. */
  fill(page: Page, call: ApiClient): Promise<void>
  /** What the detail page shows. */
  shows: RegExp
  /** The field to edit afterwards. */
  edits?: string
}

const field = (page: Page, label: string) => page.getByLabel(label, { exact: true })

/** One case for each resource with generated pages; a resource without a case fails the test. */
const FORM_CASES: Readonly<Record<string, FormCase>> = {
  '/addresses': { fill: async () => {}, shows: /\S+:\d+/ },
  '/agent-ingresses': {
    fill: (page) => field(page, 'Domain').fill('connect.example.org'),
    shows: /connect\.example\.org/,
  },
  '/api-keys': { fill: async () => {}, shows: /Owner/ },
  '/tunnel-credentials': {
    fill: (page) => field(page, 'Bind rules').fill('bind:a.example.com\n\nbind:b.example.com\n'),
    shows: /bind:a\.example\.com\s+bind:b\.example\.com/,
  },
  '/ssh-credentials': {
    fill: async (page) => field(page, 'Public key').fill(await generateSshPublicKey()),
    shows: /Public key\s+ssh-/,
  },
  '/ip-policies': { fill: async () => {}, shows: /No rules yet/ },
  '/ip-restrictions': {
    async fill(page, call) {
      await call.create('/ip_policies', { description: 'for the restriction' })
      await page.reload()
      await field(page, 'Type').selectOption('agent')
      await field(page, 'IP policies').selectOption({ label: await optionWith(page, 'for the restriction') })
    },
    shows: /Type\s+Agents/,
  },
  '/users': {
    fill: (page) => field(page, 'Email').fill('erin@example.com'),
    shows: /Developer/,
    edits: 'Name',
  },
  '/bot-users': { fill: (page) => field(page, 'Name').fill('builder'), shows: /Active\s+Yes/, edits: 'Name' },
  '/vaults': { fill: (page) => field(page, 'Name').fill('webhooks'), shows: /webhooks/ },
  '/secrets': {
    async fill(page, call) {
      const { id } = await call.create('/vaults', { name: 'passwords' })
      await page.reload()
      await field(page, 'Name').fill('admin')
      await field(page, 'Value').fill('a secret value')
      await field(page, 'Vault').selectOption(id as string)
    },
    shows: /passwords/,
  },
  '/kubernetes-operators': {
    async fill(page) {
      await field(page, 'Enabled features').fill('ingress')
      await page.getByLabel('Set deployment').check()
      await field(page, 'Cluster name').fill('blue')
    },
    shows: /ingress[\s\S]*blue/,
  },
  '/abuse-reports': {
    fill: (page) => field(page, 'URLs').fill('https://app.example.com/login'),
    shows: /Status\s+Pending[\s\S]*app\.example\.com/,
  },
  '/tls-certificates': {
    async fill(page) {
      const { leaf } = await certificates()
      await field(page, 'Certificate chain (PEM)').fill(leaf.cert)
      await field(page, 'Private key (PEM)').fill(leaf.key)
    },
    shows: /app\.example\.com/,
  },
  '/certificate-authorities': {
    fill: async (page) => field(page, 'Certificate (PEM)').fill((await certificates()).ca.caPem),
    shows: /BEGIN CERTIFICATE/,
  },
  '/ssh-certificate-authorities': {
    fill: async (page) => {
      await field(page, 'Private key type').selectOption('ecdsa')
    },
    shows: /ecdsa-sha2/,
  },
  '/ssh-user-certificates': { fill: fillSshCertificate, shows: /ssh-.+cert/ },
  '/ssh-host-certificates': { fill: fillSshCertificate, shows: /ssh-.+cert/ },
  '/error-pages': {
    async fill(page) {
      await field(page, 'Status').fill('502')
      await field(page, 'HTML').fill('<h1>{{title}}</h1>')
    },
    shows: /502/,
  },
  '/event-destinations': {
    async fill(page) {
      await field(page, 'Kind').selectOption('webhook')
      await field(page, 'URL').fill('https://example.com/hook')
      await field(page, 'Secret').fill('a secret of the hook')
    },
    shows: /https:\/\/example\.com\/hook/,
  },
  '/event-subscriptions': {
    async fill(page) {
      await field(page, 'API key created').check()
      await field(page, 'HTTP request complete').check()
      await field(page, 'Fields').fill('conn.client_ip')
    },
    shows: /API key created[\s\S]*conn\.client_ip/,
  },
}

async function fillSshCertificate(page: Page, call: ApiClient): Promise<void> {
  const { id } = await call.create('/ssh_certificate_authorities', { description: 'signs' })
  await page.reload()
  await field(page, 'Signed by').selectOption(id as string)
  await field(page, 'Public key').fill(await generateSshPublicKey())
}

async function optionWith(page: Page, text: string): Promise<string> {
  const option = page.locator('option', { hasText: text }).first()
  await option.waitFor({ state: 'attached' })
  return (await option.textContent())!
}

const main = (page: Page): Locator => page.locator('main')

/** So many pages work side by side: most of the time a page waits for its server or for the next frame. */
const CONCURRENT_PAGES = 4

test('every resource is listed, created, edited and deleted in the browser', {
  concurrency: CONCURRENT_PAGES,
}, async (t) => {
  assert.deepEqual(
    creatable.map(({ route }) => route).filter((route) => !(route in FORM_CASES)),
    [],
  )
  const queue = creatable.values()
  const workThrough = async () => {
    const opened = await dashboard.open(t, '/account')
    for (const resource of queue) await t.test(resource.title, () => createEditAndDelete(opened, resource))
  }

  await Promise.all(Array.from({ length: CONCURRENT_PAGES }, workThrough))
})

async function createEditAndDelete(
  { page, pageErrors, requestedOrigins }: Awaited<ReturnType<TestDashboard['open']>>,
  { route, title, singular, path, operations }: ResourcePages,
): Promise<void> {
  await goToLoaded(page, route)
  const changeable = operations === undefined
  const { fill, shows, edits = changeable ? 'Description' : undefined } = FORM_CASES[route]!
  await page.getByRole('link', { name: `New ${singular}` }).click()
  await page.getByRole('heading', { name: `New ${singular}` }).waitFor()
  if (edits === 'Description') await field(page, 'Description').waitFor()

  await fill(page, dashboard.platform.call)
  if (edits === 'Description') await field(page, 'Description').fill('made in a browser')
  await page.getByRole('button', { name: `Create ${singular}` }).click()
  const done = page.getByRole('link', { name: 'Done' })
  await page.getByRole('button', { name: 'Copy ID' }).or(done).waitFor()
  if (await done.isVisible()) await done.click()

  if (edits !== undefined) {
    await page.getByRole('link', { name: 'Edit' }).click()
    await field(page, edits).fill('changed in a browser')
    await page.getByRole('button', { name: 'Save' }).click()
    await main(page).getByText('changed in a browser').first().waitFor()
  }
  // Some sections of the page load after its fields.
  await eventually(async () => shows.test(await readText(main(page))), `${route} shows ${shows}`)
  const id = new URL(page.url()).hash.split('/').at(-1)!
  assert.equal((await dashboard.platform.call('GET', `${path}/${id}`)).status, 200)

  await goToLoaded(page, route)
  await main(page)
    .getByRole('link', { name: listNameOf(route) })
    .first()
    .waitFor()
  await goToLoaded(page, `${route}/${id}`)
  await page.getByRole('button', { name: 'Copy ID' }).waitFor()
  if (changeable) {
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
  } else assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0)

  assert.equal((await dashboard.platform.call('GET', `${path}/${id}`)).status, changeable ? 404 : 200)
  assert.deepEqual(pageErrors, [])
  assert.deepEqual([...requestedOrigins], [new URL(dashboard.url).origin])
}

/** The link text of the created resource in the list. */
function listNameOf(route: string): RegExp {
  const patterns: Record<string, RegExp> = {
    '/addresses': /:\d+/,
    '/agent-ingresses': /connect\.example\.org/,
    '/abuse-reports': /login/,
    '/error-pages': /502/,
    '/ip-restrictions': /Agents/,
    '/users': /erin@/,
    '/vaults': /webhooks/,
    '/secrets': /admin/,
    '/tls-certificates': /app\.example\.com/,
    '/certificate-authorities': /./,
  }
  return patterns[route] ?? /changed in a browser/
}

test('lists, pages and forms are accessible in both themes and on a phone', async (t) => {
  const { call } = dashboard.platform
  const { id } = await call.create('/ip_policies', { description: 'Offices' })
  await call.create('/ip_policy_rules', { ip_policy_id: id, cidr: '203.0.113.0/24', action: 'allow' })
  const { page } = await dashboard.open(t, '/api-keys', { bypassCSP: true })
  await main(page).getByRole('row').nth(1).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-list')
  await goTo(page, '/ssh-credentials')
  await page.getByText('No SSH keys yet').waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-empty')
  await goTo(page, `/ip-policies/${id}`)
  await page.getByRole('table', { name: 'Rules' }).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-policy')
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await page.getByRole('dialog').getByLabel('Action').waitFor()
  await page.getByText('Do the same from a shell').click()
  await assertAccessibleEverywhere(page, 'dashboard-rule')
  await page.keyboard.press('Escape')
  await goTo(page, '/event-destinations/new')
  await field(page, 'Kind').selectOption('s3')
  await page.getByText('Do the same from a shell').click()
  await assertAccessibleEverywhere(page, 'dashboard-form')
  await discardAndGoTo(page, '/audit-log')
  await main(page).getByRole('row').nth(1).waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-audit')
  await page.setViewportSize({ width: 360, height: 740 })
  await page.getByRole('button', { name: 'Menu' }).click()
  await assertAccessibleInBothThemes(page, 'dashboard-menu-360')
  await page.goto(`${dashboard.platform.credentials.api_url}/reference`)
  await page.getByLabel('Filter').fill('api_keys')
  await assertAccessibleInBothThemes(page, 'dashboard-reference-360')
  await page.getByRole('link', { name: 'POST /api_keys' }).click()
  await page.locator('#api_keys\\.create table').first().waitFor()
  await assertAccessibleInBothThemes(page, 'dashboard-reference-tag-360')
})

test('pages have unique paths and shortcuts', async () => {
  const { pages } = (await import(new URL('pages.ts', resourcesUrl).href)) as {
    pages: readonly { path: string; key?: string }[]
  }
  const keys = pages.flatMap(({ key }) => key ?? [])
  const paths = pages.map(({ path }) => path.replaceAll(/:[a-z]+/g, ':'))

  assert.deepEqual(keys, [...new Set(keys)])
  assert.deepEqual(paths, [...new Set(paths)])
  assert.ok(keys.length > 10)
})

test('the initial bundle is small, and other pages load on demand', async (t) => {
  const context = await dashboard.browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  const bodies: Promise<Buffer>[] = []
  page.on('response', (response) => {
    if (response.url().includes('/dashboard/')) bodies.push(response.body().catch(() => Buffer.alloc(0)))
  })

  await page.goto(dashboard.url, { waitUntil: 'networkidle' })

  const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(total > 20_000, 'no response was recorded')
  assert.ok(total < 110_000, `${total} bytes`)
})
