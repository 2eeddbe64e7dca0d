import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startHttp } from '../support/local-server.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readEquivalents, readText } from './inspected.ts'
import { startAgent, startAgentProgram } from './served.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

const hello = (_request: unknown, response: { end(text: string): void }) => response.end('hello')

test('the list of agents updates live, with their tunnels', async (t) => {
  const { page, pageErrors } = await dashboard.open(t, '/agents')
  await page.getByText('No agent is online').waitFor()

  const agent = await startAgent(t, dashboard.platform, 'till 3')
  const { url } = await agent.forward(await startHttp(t, hello))
  const row = page.getByRole('row', { name: /till 3/ })
  await row.getByText(url).waitFor()
  await page.getByText('1 online').waitFor()
  await row.getByRole('link', { name: 'till 3' }).click()

  await page.getByRole('heading', { name: 'till 3' }).waitFor()
  const tunnels = page.getByRole('table', { name: 'Tunnels of this agent' })
  await assertText(tunnels, new RegExp(`${url}[\\s\\S]*http://localhost`))
  await agent.close()
  await page.getByText('This session has ended').waitFor()
  await page.getByRole('link', { name: 'Online agents' }).click()
  await page.getByText('No agent is online').waitFor()
  assert.deepEqual(
    pageErrors.filter((text) => !/404/.test(text)),
    [],
  )
})

test('an agent restarts as a new session and is then stopped', async (t) => {
  const program = await startAgentProgram(t, dashboard.platform, await startHttp(t, hello))
  const { page } = await dashboard.open(t, '/agents')
  const first = (await page.locator('tbody th a').first().getAttribute('href')) ?? ''

  await page.getByRole('button', { name: /^Restart/ }).click()
  await page.getByText('reconnects as a new session').waitFor()
  await page.getByText('Do the same from a shell').click()
  const lines = await readEquivalents(page)
  await page.getByRole('button', { name: 'Restart', exact: true }).click()
  await page.locator('.notice.good', { hasText: 'restarts' }).waitFor()
  await page.locator(`tbody th a:not([href="${first}"])`).waitFor()

  const id = first.split('/').at(-1)
  assert.match(lines, new RegExp(`^adit api tunnel-sessions restart ${id}$`, 'm'))
  assert.match(lines, new RegExp(`curl -X POST \\S+/tunnel_sessions/${id}/restart`))
  await page.getByRole('button', { name: /^Stop/ }).first().click()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('No agent is online').waitFor()
  assert.notEqual(await program.waitForExit(), 'unknown')
})

test('a command the agent does not support shows the reason and has no effect', async (t) => {
  const agent = await startAgent(t, dashboard.platform, 'embedded')
  await agent.forward(await startHttp(t, hello))
  const { page } = await dashboard.open(t, '/agents')

  await page.getByRole('button', { name: 'Update embedded' }).click()
  await page.getByRole('button', { name: 'Update', exact: true }).click()

  const error = await readText(page.getByRole('alert'))
  assert.match(error, /is embedded in a program that does not allow it/)
  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: /embedded/ }).waitFor()
  assert.equal(agent.status, 'online')
})

test('endpoints of agents and edges are listed together and can be filtered', async (t) => {
  const { platform } = dashboard
  const agent = await startAgent(t, platform)
  const { url } = await agent.forward(await startHttp(t, hello))
  await platform.call.create('/reserved_domains', { domain: 'both.adit.localhost' })
  await platform.call.create('/edges/https', { hostports: ['both.adit.localhost:443'], description: 'Both' })
  const { page, pageErrors } = await dashboard.open(t, '/endpoints')
  const rows = page.getByRole('table', { name: 'Endpoints' }).locator('tbody tr')

  const [agentRow, edgeRow] = [url, 'both.adit.localhost'].map((text) => rows.filter({ hasText: text }))
  await agentRow!.waitFor()
  await edgeRow!.waitFor()
  await page.getByRole('button', { name: 'Edges' }).click()
  await agentRow!.waitFor({ state: 'detached' })
  await edgeRow!.waitFor()
  await page.getByRole('button', { name: 'Agents' }).click()
  await edgeRow!.waitFor({ state: 'detached' })
  await agentRow!.waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('nothing like it')
  await page.getByText('No matches').waitFor()
  await page.getByRole('searchbox').fill('')
  await page.getByRole('button', { name: 'All' }).click()
  await rows.getByRole('link', { name: 'Both', exact: true }).click()

  await page.getByRole('heading', { name: 'Request path' }).waitFor()
  assert.deepEqual(pageErrors, [])
})

test('a read-only user sees no commands', async (t) => {
  const agent = await startAgent(t, dashboard.platform, 'viewed')
  await agent.forward(await startHttp(t, hello))
  const { email, password } = await dashboard.createUser('read_only')
  const context = await dashboard.browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`${dashboard.url}#/agents`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()

  await page.getByRole('row', { name: /viewed/ }).waitFor()

  assert.equal(await page.getByRole('button', { name: /^(Restart|Stop|Update)/ }).count(), 0)
  assert.equal(await page.getByRole('columnheader', { name: 'Commands' }).count(), 0)
})

test('agents and endpoints are accessible in both themes and on a phone', async (t) => {
  const agent = await startAgent(t, dashboard.platform, 'seen')
  await agent.forward(await startHttp(t, hello))
  for (const path of ['agents', 'endpoints']) {
    const { page } = await dashboard.open(t, `/${path}`, { bypassCSP: true })
    await page.getByRole('table').waitFor()

    await assertAccessibleEverywhere(page, `dashboard-${path}`)
  }
})
