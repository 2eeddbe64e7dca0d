import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { openPage } from './browser.ts'
import { givePassword, startDashboard, type TestDashboard } from './dashboard.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** Serves one page to everybody who asks; answers with its port. */
async function serve(t: TestContext, html: string): Promise<number> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(html)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Tries everything a page can make a browser send elsewhere, and says what came of it. */
function hostilePage(api: string, attacker: { email: string; password: string }): string {
  const proof = JSON.stringify(JSON.stringify(attacker))
  return `<!doctype html>
<iframe name="sink"></iframe><iframe src="${api}/dashboard/" id="framed"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink" action="${api}/ip_policies">
<input name='{"description":"forged","metadata":"' value='"}'></form>
<script>
const api = ${JSON.stringify(api)}
const own = { credentials: 'include' }
const body = JSON.stringify({ description: 'forged' })
const json = { 'content-type': 'application/json' }
const read = async (path, init) => {
  try {
    const answer = await fetch(api + path, { ...own, ...init })
    return answer.type === 'opaque' ? 'opaque' : 'read ' + await answer.text()
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
    await read('/ip_policies', { method: 'POST', body, headers: { ...json, 'adit-csrf': 'guess' } }),
    await read('/dashboard/api/session', { method: 'DELETE', headers: { 'adit-csrf': 'guess' } }),
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

// A port is no part of a site: to the browser the first is the same site as the dashboard, the second is another.
for (const host of ['127.0.0.1', 'localhost']) {
  test(`a page on ${host} can neither act nor read as whoever is signed in`, async (t) => {
    const victim = await dashboard.makeUser('admin')
    const attacker = await dashboard.makeUser('developer')
    const api = dashboard.platform.credentials.api_url
    const { page } = await openPage(t, dashboard.browser, dashboard.url)
    await givePassword(page, victim.email, victim.password)
    await page.locator('.shell').waitFor()
    const [before] = await page.context().cookies(api)
    const port = await serve(t, hostilePage(api, { email: attacker.email, password: attacker.password }))
    const hostile = await page.context().newPage()
    await hostile.goto(`http://${host}:${port}/`)

    const outcomes = (await hostile.evaluate('attack()')) as string[]

    // Opaque is what was sent and could not be read: whether it did something shows below.
    const [blocked, opaque] = ['blocked', 'opaque']
    const session = [blocked, opaque, blocked]
    const writing = [opaque, blocked, blocked, blocked]
    const signingIn = [opaque, blocked]
    assert.deepEqual(outcomes, [...session, ...writing, ...signingIn, blocked])
    const framed = hostile.frames().find((frame) => frame.url().includes('/dashboard/'))
    assert.equal((await framed?.locator('.shell, form').count()) ?? 0, 0, 'the dashboard was framed')
    const policies = await dashboard.platform.call('GET', '/ip_policies')
    assert.deepEqual(
      policies.body.ip_policies.filter(
        ({ description }: { description: string }) => description === 'forged',
      ),
      [],
    )
    const [still] = await page.context().cookies(api)
    assert.equal(still?.value, before?.value, 'the session is another')
    await page.reload()
    await page.getByText(victim.email).waitFor()
  })
}

test('a session that was planted before signing in is not the one after it', async (t) => {
  const api = dashboard.platform.credentials.api_url
  const attacker = await dashboard.makeUser('read_only')
  const victim = await dashboard.makeUser('admin')
  const { page: theirs } = await openPage(t, dashboard.browser, dashboard.url)
  await givePassword(theirs, attacker.email, attacker.password)
  await theirs.locator('.shell').waitFor()
  const [planted] = await theirs.context().cookies(api)
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await page.context().addCookies([
    // What a page on another port of the host could have set.
    { name: planted!.name, value: planted!.value.replace(/.{43}$/, 'a'.repeat(43)), url: api },
  ])
  await page.reload()

  await givePassword(page, victim.email, victim.password)
  await page.getByText(victim.email).waitFor()

  const [cookie] = await page.context().cookies(api)
  assert.doesNotMatch(cookie!.value, /a{43}$/)
  assert.notEqual(cookie!.value, planted!.value)
  assert.equal(cookie!.httpOnly, true)
  assert.equal(await page.evaluate('document.cookie'), '')
})

test('after ten wrong passwords the page says to wait, for the right one too', async (t) => {
  const { email, password } = await dashboard.makeUser('developer')
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const answered = page.waitForResponse((response) => response.url().endsWith('/dashboard/api/session'))
    await givePassword(page, email, `guess ${attempt} of many`)
    assert.equal((await answered).status(), 401)
  }

  await givePassword(page, email, password)

  await page.getByText(/Too many requests\. Try again in \d+ seconds/).waitFor()
  assert.equal(await page.locator('.shell').count(), 0)
})

test('scripts that get into the page do not run', async (t) => {
  const { page } = await dashboard.open(t, '/')

  const outcome = await page.evaluate(`(() => {
    const refused = []
    const attempts = {
      inline() { const script = document.createElement('script'); script.text = 'hacked = 1'; document.body.append(script) },
      markup() { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="hacked = 1">') },
      foreign() { const script = document.createElement('script'); script.src = 'https://evil.example/x.js'; document.body.append(script) },
      eval() { setTimeout('hacked = 1') },
    }
    for (const [name, attempt] of Object.entries(attempts)) try { attempt() } catch { refused.push(name) }
    return refused
  })()`)

  assert.deepEqual(outcome, ['inline', 'markup', 'foreign', 'eval'])
  assert.equal(await page.evaluate('typeof hacked'), 'undefined')
})
