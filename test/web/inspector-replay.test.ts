import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { openPage, startBrowser } from './browser.ts'
import { assertAccessibleEverywhere, assertText, panel, row, rows, startInspectedAgent } from './inspected.ts'

let browser: Browser
before(async () => {
  browser = await startBrowser('inspector')
})
after(() => browser.close())

test('a request is replayed with changes, and the new exchange is shown', async (t) => {
  const { visit, inspector, agent } = await startInspectedAgent(t)
  await visit('/orders?status=201', {
    method: 'POST',
    headers: 'X-Debug: 0\r\nX-Gone: 1\r\nContent-Type: application/json\r\n',
    body: '{"amount": 1}',
  })
  const { page, pageErrors } = await openPage(t, browser, inspector)
  await row(page, '/orders').click()
  await page.getByRole('button', { name: 'Replay with changes' }).click()
  const form = page.getByRole('form', { name: 'Replay with changes' })

  await form.getByLabel('Method').fill('PUT')
  await form.getByLabel('Path').fill('/orders/7?status=202')
  await form.getByLabel('Value of X-Debug').fill('1')
  await form.getByRole('button', { name: 'Remove X-Gone' }).click()
  await form.getByRole('button', { name: 'Add header' }).click()
  await form.getByLabel('Header 4', { exact: true }).fill('X-New')
  await form.getByLabel('Value of X-New').fill('yes')
  await form.getByLabel('Body').fill('{"amount": 20}')
  await form.getByRole('button', { name: 'Send' }).click()

  await page.getByRole('heading', { name: 'PUT /orders/7?status=202' }).waitFor()
  await form.waitFor({ state: 'detached' })
  await assertText(panel(page, 'request').locator('pre'), /"amount": 20/)
  assert.equal(
    agent.captures.list(1)[0]?.request.raw().toString(),
    'PUT /orders/7?status=202 HTTP/1.1\r\nHost: n.test\r\nX-Debug: 1\r\n' +
      'Content-Type: application/json\r\nX-New: yes\r\nContent-Length: 14\r\n\r\n{"amount": 20}',
  )
  assert.equal(await rows(page).count(), 2)
  assert.deepEqual(pageErrors, [])
})

test('unchanged parts are replayed byte for byte, and decoded bodies are sent decoded', async (t) => {
  const { visit, inspector, agent } = await startInspectedAgent(t)
  await visit('/plain', { method: 'POST', headers: 'x-ODD:  1\r\n', body: 'as it was' })
  await visit('/binary', { method: 'POST', body: '\0\x01' })
  const { page } = await openPage(t, browser, inspector)
  const resend = async (path: string, to: string) => {
    await row(page, path).first().click()
    await page.keyboard.press('e')
    const form = page.getByRole('form', { name: 'Replay with changes' })
    await form.getByLabel('Path').fill(to)
    await form.getByLabel('Path').press('Control+Enter')
    await page.getByRole('heading', { name: `POST ${to}` }).waitFor()
    return agent.captures.list(1)[0]!.request.raw().toString('latin1')
  }

  assert.equal(
    await resend('/plain', '/plain-2'),
    'POST /plain-2 HTTP/1.1\r\nHost: n.test\r\nx-ODD: 1\r\nContent-Length: 9\r\n\r\nas it was',
  )
  assert.match(await resend('/binary', '/binary-2'), /\r\n\r\n\0\x01$/)
  const packed = gzipSync('unpacked').toString('latin1')
  agent.captures.begin(
    'web',
    '203.0.113.9',
    Buffer.from('POST /packed HTTP/1.1\r\nContent-Encoding: gzip\r\n\r\n'),
    Date.now(),
  )
  const capture = agent.captures.list(1)[0]!
  agent.captures.addRequestBody(capture, Buffer.from(packed, 'latin1'))
  agent.captures.end(capture, 1)
  assert.equal(
    await resend('/packed', '/packed-2'),
    'POST /packed-2 HTTP/1.1\r\nContent-Length: 8\r\n\r\nunpacked',
  )
})

test('a change the agent rejects shows an error at the form and keeps the input', async (t) => {
  const { visit, inspector, agent } = await startInspectedAgent(t)
  await visit('/one')
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/one').click()
  await page.keyboard.press('e')
  const form = page.getByRole('form', { name: 'Replay with changes' })

  await form.getByLabel('Path').fill('no slash')
  await form.getByRole('button', { name: 'Send' }).click()

  await form.getByRole('alert').getByText('changes.path must begin with a slash').waitFor()
  assert.equal(await form.getByLabel('Path').inputValue(), 'no slash')
  assert.equal(agent.captures.size, 1)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await form.waitFor({ state: 'detached' })
})

test('the form is accessible in both themes and on a small screen', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit('/orders/1?full=true', { method: 'POST', headers: 'X-Debug: 0\r\n', body: '{\n  "a": 1\n}' })
  const { page } = await openPage(t, browser, inspector, { bypassCSP: true })
  await row(page, '/orders').click()
  await page.getByRole('button', { name: 'Replay with changes' }).click()
  await page.getByRole('form').waitFor()

  await assertAccessibleEverywhere(page, 'inspector-replay')
})
