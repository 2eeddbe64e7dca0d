import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, type TestContext, test } from 'node:test'
import { openBrowser } from '../support/dashboard.ts'
import { listen } from '../support/local-server.ts'
import { openPage } from './browser.ts'
import { startDashboard, submitPassword, type TestDashboard } from './dashboard.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** Serves one page and returns the port. */
async function serve(t: TestContext, html: string): Promise<number> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(html)
  })
  return listen(t, server)
}

/** A page that tries every cross-origin request a browser allows, and reports the outcomes. */
function hostilePage(api: string, attacker: { email: string; password: string }): string {
  const proof = JSON.stringify(JSON.stringify(attacker))
  return `<!doctype html>
<iframe name="sink"></iframe><iframe src="${api}/dashboard/" id="framed"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink" action="${api}/ip_policies">
<input name='{"description":"forged","metadata":"' value='"}'></form>
<script>
const api = ${JSON.stringify(api)}
const session = { credentials: 'include' }
const body = JSON.stringify({ description: 'forged' })
const json = { 'content-type': 'application/json' }
const read = async (path, init) => {
  try {
    const response = await fetch(api + path, { ...session, ...init })
    return response.type === 'opaque' ? 'opaque' : 'read ' + await response.text()
  } catch { return 'blocked' }
}
async function attack() {
  document.getElementById('form').submit()
  const outcomes = [
    await read('/dashboard/api/session'),
    await read('/dashboard/api/session', { mode: 'no-cors' }),
    await read('/users'),
    await read('/ip_policies', { method: 'POST', body, mode: 'no-cors' }),
    await read('/ip_policies', { method: 'POST', body, headers: json }),
    await read('/ip_policies', { method: 'POST', body, headers: { ...json, 'x-csrf-token': 'guess' } }),
    await read('/dashboard/api/session', { method: 'DELETE', headers: { 'x-csrf-token': 'guess' } }),
    await read('/dashboard/api/session', { method: 'POST', body: ${proof}, mode: 'no-cors' }),
    await read('/dashboard/api/session', { method: 'POST', body: ${proof}, headers: json }),
  ]
  outcomes.push(await new Promise((resolve) => {
    const source = new EventSource(api + '/dashboard/api/live', { withCredentials: true })
    source.onerror = () => { source.close(); resolve('blocked') }
    source.onmessage = ({ data }) => resolve('read ' + data)
  }))
  return outcomes
}
</script>`
}

// A site does not include the port: the first host is same-site with the dashboard, the second is cross-site.
for (const host of ['127.0.0.1', 'localhost']) {
  test(`a page on ${host} can neither act nor read as the signed-in user`, async (t) => {
    const victim = await dashboard.createUser('admin')
    const attacker = await dashboard.createUser('developer')
    const api = dashboard.platform.credentials.api_url
    const { page } = await openPage(t, dashboard.browser, dashboard.url)
    await submitPassword(page, victim.email, victim.password)
    await page.locator('.shell').waitFor()
    const [before] = await page.context().cookies(api)
    const port = await serve(t, hostilePage(api, { email: attacker.email, password: attacker.password }))
    const hostile = await page.context().newPage()
    await hostile.goto(`http://${host}:${port}/`)

    const outcomes = (await hostile.evaluate('attack()')) as string[]

    // An opaque response was sent but could not be read; the assertions below check that it had no effect.
    const [blocked, opaque] = ['blocked', 'opaque']
    const session = [blocked, opaque, blocked]
    const writes = [opaque, blocked, blocked, blocked]
    const signIns = [opaque, blocked]
    assert.deepEqual(outcomes, [...session, ...writes, ...signIns, blocked])
    const framed = hostile.frames().find((frame) => frame.url().includes('/dashboard/'))
    assert.equal((await framed?.locator('.shell, form').count()) ?? 0, 0, 'the dashboard was framed')
    const policies = await dashboard.platform.call('GET', '/ip_policies')
    assert.deepEqual(
      policies.body.ip_policies.filter(
        ({ description }: { description: string }) => description === 'forged',
      ),
      [],
    )
    const [current] = await page.context().cookies(api)
    assert.equal(current?.value, before?.value, 'the session has changed')
    await page.reload()
    await page.getByText(victim.email).waitFor()
  })
}

test('signing in replaces a planted session cookie (session fixation)', async (t) => {
  const api = dashboard.platform.credentials.api_url
  const attacker = await dashboard.createUser('read_only')
  const victim = await dashboard.createUser('admin')
  const { page: attackerPage } = await openPage(t, dashboard.browser, dashboard.url)
  await submitPassword(attackerPage, attacker.email, attacker.password)
  await attackerPage.locator('.shell').waitFor()
  const [planted] = await attackerPage.context().cookies(api)
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await page.context().addCookies([
    // A page on another port of the host could have set this.
    { name: planted!.name, value: planted!.value.replace(/.{43}$/, 'a'.repeat(43)), url: api },
  ])
  await page.reload()

  await submitPassword(page, victim.email, victim.password)
  await page.getByText(victim.email).waitFor()

  const [cookie] = await page.context().cookies(api)
  assert.doesNotMatch(cookie!.value, /a{43}$/)
  assert.notEqual(cookie!.value, planted!.value)
  assert.equal(cookie!.httpOnly, true)
  assert.equal(await page.evaluate('document.cookie'), '')
})

test('after ten wrong passwords sign-in is throttled, also for the right one', async (t) => {
  const { email, password } = await dashboard.createUser('developer')
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  const attacker = openBrowser(dashboard.platform.credentials.api_url)
  const guesses = Array.from({ length: 10 }, (_, attempt) =>
    attacker.signIn({ email, password: `guess ${attempt} of many` }),
  )
  assert.deepEqual(
    (await Promise.all(guesses)).map(({ status }) => status),
    Array(10).fill(401),
  )

  await submitPassword(page, email, password)

  await page.getByText(/Too many requests\. Try again in \d+ seconds/).waitFor()
  assert.equal(await page.locator('.shell').count(), 0)
})

test('injected scripts do not run', async (t) => {
  const { page } = await dashboard.open(t, '/')

  const outcome = await page.evaluate(`(() => {
    const rejected = []
    const attempts = {
      inline() { const script = document.createElement('script'); script.text = 'hacked = 1'; document.body.append(script) },
      markup() { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="hacked = 1">') },
      foreign() { const script = document.createElement('script'); script.src = 'https://evil.example/x.js'; document.body.append(script) },
      eval() { setTimeout('hacked = 1') },
    }
    for (const [name, attempt] of Object.entries(attempts)) try { attempt() } catch { rejected.push(name) }
    return rejected
  })()`)

  assert.deepEqual(outcome, ['inline', 'markup', 'foreign', 'eval'])
  assert.equal(await page.evaluate('typeof hacked'), 'undefined')
})
