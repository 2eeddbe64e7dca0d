import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { testSettings } from '../../src/agent/testing/agent.ts'
import { TestGateway } from '../../src/agent/testing/gateway.ts'
import { startAgentWithApi, startHttpService } from '../../src/agent/testing/local-api.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { openPage, startBrowser } from './browser.ts'
import {
  assertAccessible,
  assertAccessibleEverywhere,
  assertFitsViewport,
  assertText,
  panel,
  pickTab,
  readText,
  responseQuery,
  row,
  rows,
  startInspectedAgent,
} from './inspected.ts'

let browser: Browser
before(async () => {
  browser = await startBrowser('inspector')
})
after(() => browser.close())

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('a request appears live, with all columns of the list', async (t) => {
  const { visit, inspector, api } = await startInspectedAgent(t)
  const { page, pageErrors, requestedOrigins } = await openPage(t, browser, inspector, {
    viewport: { width: 1400, height: 800 },
  })
  await page.getByText('No requests yet.').waitFor()
  await page.getByText('Online', { exact: true }).waitFor()

  await visit('/orders/7?status=404')

  await assertText(
    row(page, '/orders/7'),
    /404[\s\S]*GET[\s\S]*\/orders\/7[\s\S]*ms[\s\S]* B[\s\S]*203\.0\.113\.9[\s\S]*\d\d:\d\d:\d\d/,
  )
  assert.deepEqual(pageErrors, [])
  assert.deepEqual([...requestedOrigins], [api.url])
})

test('nothing moves while the page loads', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit('/first')
  const { page } = await openPage(t, browser, inspector, { viewport: { width: 412, height: 823 } })
  await page.addInitScript(`
    globalThis.moved = 0
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) moved += value
    }).observe({ type: 'layout-shift', buffered: true })`)
  const listReceived = page.waitForResponse('**/api/requests/http?*')
  await page.route('**/api/tunnels', async (route) => {
    await listReceived
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
    await route.continue()
  })

  await page.reload()
  await row(page, '/first').waitFor()
  await page.getByRole('list', { name: 'Tunnels' }).waitFor()

  const moved = await page.evaluate<number>('moved')
  assert.ok(moved < 0.02, `the layout shift is ${moved}`)
})

test('the files of the page are sent compressed, and are kept by browsers', async (t) => {
  const { inspector } = await startInspectedAgent(t)
  const html = await (await fetch(inspector)).text()
  const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path!)
  assert.equal(files.length, 2)

  for (const path of files) {
    const { headers, status } = await fetch(new URL(path, inspector), {
      headers: { 'accept-encoding': 'gzip, br' },
    })
    assert.equal(status, 200)
    assert.equal(headers.get('content-encoding'), 'br')
    assert.match(headers.get('cache-control') ?? '', /immutable/)
  }
  const list = await fetch(new URL('/api/requests/http?summary=true', inspector))
  assert.equal(list.headers.get('content-encoding'), 'gzip')
  assert.deepEqual(await list.json(), { uri: '/api/requests/http', requests: [] })
})

test('a request shows the rules of traffic policies that matched, and is accessible', async (t) => {
  const { visit, inspector, agent } = await startInspectedAgent(t)
  await visit('/ruled')
  const [capture] = agent.captures.list()
  const limit = {
    endpoint: 'shop.example',
    phase: 'on_http_request',
    rule: 2,
    name: 'Limit',
    action: 'rate-limit',
  }
  const verify = { ...limit, rule: 3, name: '', action: 'verify-webhook', error: 'It has no signature.' }
  const { page, pageErrors } = await openPage(t, browser, `${inspector}/${capture!.id}`, { bypassCSP: true })
  await page.getByRole('heading', { name: 'GET /ruled' }).waitFor()
  const table = page.getByRole('table', { name: 'Traffic policy of shop.example' })
  assert.equal(await table.count(), 0)

  agent.captures.addActions(capture!, [limit, verify])

  await assertText(table, /Rule 2 “Limit”\s+on_http_request: rate-limit ran/)
  await assertText(table, /Rule 3\s+on_http_request: verify-webhook failed\. It has no signature\./)
  await assertAccessibleEverywhere(page, 'inspector-policy')
  assert.deepEqual(pageErrors, [])
})

test('earlier requests are listed, and a link opens one of them', async (t) => {
  const { visit, inspector, get } = await startInspectedAgent(t)
  await visit('/first')
  await visit('/second')
  const { requests } = (await get('/api/requests/http?summary=true')).json as { requests: { id: string }[] }

  const { page } = await openPage(t, browser, `${inspector}/${requests[1]!.id}`)

  await page.getByRole('heading', { name: 'GET /first' }).waitFor()
  await row(page, '/second').waitFor()
  assert.equal(await rows(page).count(), 2)
  await page.locator('.row[aria-selected=true]', { hasText: '/first' }).waitFor()
})

test('a message is shown as summary, headers, raw and binary', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit(`/form?${responseQuery('{"a":[1,{"b":12345678901234567890}]}', 'application/json')}&q=1%202`, {
    method: 'POST',
    headers: 'Content-Type: application/x-www-form-urlencoded\r\nX-One: 1\r\nX-One: 2\r\n',
    body: 'name=J%C3%B6rg&city=Ulm',
  })
  const { page, pageErrors } = await openPage(t, browser, inspector)

  await row(page, '/form').click()

  const request = panel(page, 'request')
  await assertText(request.getByRole('table', { name: 'Query' }), /q\s+1 2/)
  await assertText(request.getByRole('table', { name: 'Form' }), /name\s+Jörg\s+city\s+Ulm/)
  assert.equal(
    await readText(panel(page, 'response').locator('pre')),
    '{\n  "a": [\n    1,\n    {\n      "b": 12345678901234567890\n    }\n  ]\n}',
  )
  await pickTab(page, 'Request', 'Headers')
  await assertText(request, /X-One\s+1\s+X-One\s+2/)
  await pickTab(page, 'Request', 'Raw')
  await assertText(request, /^POST \/form[\s\S]*name=J%C3%B6rg&city=Ulm$/)
  await pickTab(page, 'Request', 'Binary')
  await assertText(request, /^000000 {2}50 4f 53 54 20 2f 66 6f 72 6d/)
  assert.deepEqual(pageErrors, [])
})

test('bodies are decoded and formatted', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const cases = [
    ['/gzip', gzipSync('{"packed":true}'), 'application/json', 'gzip', /"packed": true/],
    ['/deflate', deflateRawSync('raw deflate'), 'text/plain', 'deflate', /raw deflate/],
    ['/zlib', deflateSync('wrapped deflate'), 'text/plain', 'deflate', /wrapped deflate/],
    ['/br', brotliCompressSync('brotli text'), 'text/plain', 'br', /brotli text/],
    ['/zstd', zstdCompressSync('zstandard text'), 'text/plain', 'zstd', /zstandard text/],
    [
      '/cut-br',
      brotliCompressSync('y'.repeat(9000)).subarray(0, 12),
      'text/plain',
      'br',
      /damaged or cut short/,
    ],
    ['/odd', Buffer.from('odd'), 'text/plain', 'rot13', /which cannot be decoded/],
    ['/strange', Buffer.from('odd'), 'text/plain', 'constructor', /which cannot be decoded/],
    ['/cut', gzipSync('x'.repeat(9000)).subarray(0, 30), 'text/plain', 'gzip', /damaged or cut short/],
    ['/xml', Buffer.from('<a><b>1</b><c/></a>'), 'text/xml', '', /<a>\n {2}<b>1<\/b>\n {2}<c\/>\n<\/a>/],
    ['/bad', Buffer.from('{"a":'), 'application/json', '', /Not valid JSON/],
    ['/bytes', Buffer.from([0, 1, 2]), 'application/x', '', /Binary data/],
  ] as const
  for (const [path, body, type, encoding] of cases) {
    await visit(`${path}?${responseQuery(body, type, encoding ? `&encoding=${encoding}` : '')}`)
  }
  await visit(`/png?${responseQuery(Buffer.from(PNG, 'base64'), 'image/png')}`)
  const { page } = await openPage(t, browser, inspector)

  for (const [path, , , , expected] of cases) {
    await row(page, `${path}?`).click()
    await page.getByRole('heading', { name: `GET ${path}?` }).waitFor()
    await panel(page, 'response')
      .getByText(expected)
      .or(panel(page, 'response').locator('pre'))
      .first()
      .waitFor()
    await assertText(panel(page, 'response'), expected)
  }
  await row(page, '/png?').click()
  const source = await page.getByRole('img', { name: 'Body' }).getAttribute('src')
  assert.match(source ?? '', /^blob:/)
})

test('a truncated body is marked, and its request cannot be replayed', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit('/large', { method: 'POST', body: 'x'.repeat(1024 * 1024 + 10) })
  const { page } = await openPage(t, browser, inspector)

  await row(page, '/large').click()

  await panel(page, 'request')
    .getByText(/^Truncated: 1048576 of 1048586/)
    .waitFor()
  assert.equal(await page.getByRole('button', { name: 'Replay', exact: true }).isDisabled(), true)
})

test('a search covers paths, status, methods, headers and bodies', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit('/alpha?status=500')
  await visit('/beta', { headers: 'X-Colour: Green\r\n' })
  await visit('/gamma', { method: 'POST', body: 'the needle' })
  await visit(`/delta?${responseQuery(zstdCompressSync('packed treasure'), 'text/plain', '&encoding=zstd')}`)
  const { page } = await openPage(t, browser, inspector)
  await rows(page).nth(3).waitFor()
  const search = page.getByRole('searchbox')

  // Each search finds something else than the one before, so that a late page is not taken for the new result.
  for (const [text, found] of [
    ['alph', ['/alpha']],
    ['method:post', ['/gamma']],
    ['status:5xx', ['/alpha']],
    ['needle', ['/gamma']],
    ['status:>=500', ['/alpha']],
    ['header:x-colour=green', ['/beta']],
    ['treasure', ['/delta']],
    ['-status:500 -method:post -treasure', ['/beta']],
    ['body:treasure', ['/delta']],
    ['"the needle" path:/gam', ['/gamma']],
    ['nothing-like-it', []],
  ] as const) {
    await search.fill(text)
    await page.getByText(`${found.length} of 4 requests`, { exact: false }).waitFor()

    const readPaths = async () => {
      const paths = await page.locator('.row .path').allInnerTexts()
      return paths.map((path) => path.split('?')[0])
    }
    await eventuallyEqual(readPaths, [...found], text)
  }
  await search.fill('duration:soon')
  await page.getByText('Invalid value "soon"').waitFor()
})

test('a request is replayed, also to another tunnel', async (t) => {
  const { visit, inspector, post, get } = await startInspectedAgent(t)
  const other = await startHttpService(t, (_request, response) => response.end('from the other'))
  await post('/api/tunnels', { name: 'other', proto: 'http', addr: Number(other) })
  await visit('/again')
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/again').click()

  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await rows(page).nth(1).waitFor()
  await page.getByLabel('Replay to another tunnel').selectOption('other')
  await rows(page).nth(2).waitFor()

  await panel(page, 'response').getByText('from the other').waitFor()
  const { requests } = (await get('/api/requests/http')).json as { requests: { tunnel_name: string }[] }
  assert.deepEqual(
    requests.map(({ tunnel_name }) => tunnel_name),
    ['other', 'web', 'web'],
  )
})

test('the inspector works with the keyboard alone', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  for (const path of ['/one', '/two', '/three']) await visit(path)
  const { page } = await openPage(t, browser, inspector)
  await rows(page).nth(2).waitFor()
  const selected = page.locator('.row.selected .path')
  const press = async (key: string, path: string) => {
    await page.keyboard.press(key)
    await selected.filter({ hasText: path }).waitFor()
  }

  await press('j', '/three')
  await press('j', '/two')
  await press('ArrowDown', '/one')
  await press('k', '/two')
  await press('g', '/three')
  await press('Shift+G', '/one')
  await page.keyboard.press('2')
  await panel(page, 'request').getByText('GET /one HTTP/1.1').waitFor()
  await page.keyboard.press('r')
  await rows(page).nth(3).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('two')
  await page.getByText('1 of 4 requests', { exact: false }).waitFor()
  await page.keyboard.press('Enter')
  await press('j', '/two')
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  assert.equal(await readText(selected), '/two')
})

test('a pause holds back new requests, and clearing removes all', async (t) => {
  const { visit, inspector, agent } = await startInspectedAgent(t)
  await visit('/before')
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/before').waitFor()

  await page.keyboard.press('p')
  await visit('/meanwhile')
  await page.getByText('paused, 1 waiting', { exact: false }).waitFor()
  assert.equal(await rows(page).count(), 1)
  await page.getByRole('button', { name: 'Resume' }).click()
  await row(page, '/meanwhile').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('No requests yet.').waitFor()

  assert.equal(agent.captures.size, 0)
})

test('requests are copied as curl and fetch and exported as HAR', async (t) => {
  const { visit, inspector, api } = await startInspectedAgent(t)
  await visit("/it's?a=[1]", { method: 'POST', headers: "X-Quote: a'b\r\n", body: "don't" })
  const { page } = await openPage(t, browser, inspector)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: api.url })
  await row(page, "/it's").click()
  const copied = async (name: string) => {
    await page.getByRole('button', { name: `Copy ${name}` }).click()
    await page.getByText(`Copied as ${name}.`).waitFor()
    return page.evaluate<string>('navigator.clipboard.readText()')
  }

  const curl = await copied('curl')
  const fetched = await copied('fetch')
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'HAR' }).click()
  const har = JSON.parse(await readFile(await (await download).path(), 'utf8'))

  assert.match(
    curl,
    /^curl --globoff --path-as-is \\\n {2}-X 'POST' \\\n {2}'https:\/\/n\d+\.test\/it'\\''s\?a=\[1\]'/,
  )
  assert.ok(curl.includes("-H 'X-Quote: a'\\''b'"), curl)
  assert.ok(curl.endsWith("--data-raw 'don'\\''t'"), curl)
  assert.match(fetched, /^await fetch\("https:\/\/n\d+\.test\/it's\?a=\[1\]", \{\n {2}method: "POST"/)
  assert.equal(har.log.version, '1.2')
  assert.equal(har.log.entries[0].request.postData.text, "don't")
  assert.deepEqual(har.log.entries[0].request.queryString, [{ name: 'a', value: '[1]' }])
})

test('hostile content stays text', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const attack = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>'
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" onload="window.owned=1"><script>window.owned=1</script></svg>'
  const path = attack.replaceAll(' ', '\t').replaceAll('\t', '/')
  for (const [body, type] of [
    [attack, 'text/html'],
    [JSON.stringify({ [attack]: attack, __proto__: attack }), 'application/json'],
    [`<a>${attack}</a>`, 'application/xml'],
    [svg, 'image/svg+xml'],
    [attack, 'image/png'],
    [`javascript:${attack}`, 'text/javascript'],
  ] as const) {
    await visit(`/${path}?x=${path}&${responseQuery(body, type)}`, {
      method: 'POST',
      headers: `X-Attack: ${attack}\r\nContent-Type: application/x-www-form-urlencoded\r\n`,
      body: `${encodeURIComponent(attack)}=${encodeURIComponent(attack)}`,
    })
  }
  const { page, pageErrors, requestedOrigins } = await openPage(t, browser, inspector)
  await rows(page).nth(5).waitFor()

  for (let index = 0; index < 6; index++) {
    await rows(page).nth(index).click()
    for (const tab of ['1', '2', '3', '4']) {
      await page.keyboard.press(tab)
      await panel(page, 'response').waitFor()
    }
    await page.keyboard.press('1')
  }

  assert.equal(await page.evaluate<boolean>('"owned" in window'), false)
  assert.equal(await page.locator('main script, main img[src=x], iframe, object, embed').count(), 0)
  assert.equal(requestedOrigins.size, 1)
  assert.deepEqual(
    pageErrors.filter((text) => !/blob:/.test(text)),
    [],
  )
})

test('the Content-Security-Policy allows only own scripts and styles', async (t) => {
  const { inspector, get } = await startInspectedAgent(t)
  const policy = String((await get('/inspect/http')).headers['content-security-policy'])
  const { page } = await openPage(t, browser, inspector)

  const rejected = await page.evaluate<string>(`(() => {
    try {
      document.createElement('div').innerHTML = '<b>markup</b>'
      return ''
    } catch (error) {
      return error.name
    }
  })()`)

  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|data:|https?:|\*/)
  assert.equal(rejected, 'TypeError')
})

test('the page is small', async (t) => {
  const { get } = await startInspectedAgent(t)
  const { text } = await get('/inspect/http')

  let size = gzipSync(text).length
  for (const [, path] of text.matchAll(/(?:src|href)="([^"]+)"/g))
    size += gzipSync((await get(path!)).text).length

  t.diagnostic(`${size} bytes, compressed`)
  assert.ok(size > 20_000, 'the scan missed the scripts')
  assert.ok(size < 200_000)
})

test('ten thousand requests scroll, and only visible rows are in the DOM', async (t) => {
  const gateway = await TestGateway.start(t)
  const { agent, api } = await startAgentWithApi(t, {
    settings: testSettings(gateway, { captureBytes: 50_000_000 }),
  })
  const head = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n')
  for (let number = 0; number < 10_000; number++) {
    const request = Buffer.from(`GET /item/${number} HTTP/1.1\r\nHost: n.test\r\nUser-Agent: a test\r\n\r\n`)
    const capture = agent.captures.begin('web', '203.0.113.9:1', request, Date.now())
    agent.captures.addResponse(capture, head, 1e6)
    agent.captures.end(capture, 2e6)
  }
  const { page } = await openPage(t, browser, `${api.url}/inspect/http`)
  await page.getByText('200+ requests').waitFor()
  await page.evaluate(`document.querySelector('.rows').scrollTop = 1e6`)
  await page.getByText('10000 requests').waitFor()

  const maxRows = await page.evaluate<number>(`(async () => {
    const list = document.querySelector('.rows')
    let maxRows = 0
    for (let step = 1; step <= 60; step++) {
      list.scrollTop = (list.scrollHeight * step) / 60
      await new Promise(requestAnimationFrame)
      maxRows = Math.max(maxRows, document.querySelectorAll('.row').length)
    }
    return maxRows
  })()`)

  await row(page, '/item/0').waitFor()
  assert.ok(maxRows > 0 && maxRows < 100, `${maxRows} rows`)
  await page.keyboard.press('g')
  await row(page, '/item/9999').waitFor()
  await page.getByRole('searchbox').fill('path:/item/77')
  await page.getByText('111 of 10000 requests').waitFor()
})

test('a finished request appears without a reload', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const { page } = await openPage(t, browser, inspector)
  await page.getByText('Online', { exact: true }).waitFor()

  await visit('/quick')

  await row(page, '/quick').getByText(' ms').waitFor()
})

test('the status page shows tunnels and their metrics', async (t) => {
  const { visit, api } = await startInspectedAgent(t)
  await visit('/')
  const { page, pageErrors } = await openPage(t, browser, `${api.url}/status`)

  const card = page.getByRole('region', { name: 'Tunnel web' })

  await card.getByRole('row', { name: /^Requests 1 / }).waitFor()
  await assertText(page.locator('.facts-list'), /Status\s+online/)
  await page.getByRole('link', { name: 'Inspect' }).click()
  await row(page, '/').waitFor()
  assert.deepEqual(pageErrors, [])
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the ${colorScheme} pages are accessible, also on a small screen`, async (t) => {
    const { visit, inspector, api } = await startInspectedAgent(t)
    await visit(
      `/api/orders?${responseQuery('{"id":7,"open":true,"name":"Ünal"}', 'application/json')}&page=2`,
    )
    await visit('/missing?status=404')
    await visit('/moved?status=302')
    await visit('/broken?status=500', { method: 'DELETE' })
    const picture = (page: Page, name: string) => assertFitsViewport(page, `inspector-${name}-${colorScheme}`)
    const check = (page: Page, name: string) => assertAccessible(page, `inspector-${name}-${colorScheme}`)

    const wide = { colorScheme, viewport: { width: 1280, height: 800 }, bypassCSP: true }
    const { page } = await openPage(t, browser, inspector, wide)
    await rows(page).nth(3).waitFor()
    await picture(page, 'list')
    await row(page, '/api/orders').click()
    await panel(page, 'response').locator('pre').waitFor()
    await check(page, 'detail')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await picture(page, 'help')
    await page.goto(`${api.url}/status`)
    await page.getByRole('region', { name: 'Tunnel web' }).waitFor()
    await check(page, 'status')

    const small = { ...wide, viewport: { width: 360, height: 640 } }
    const { page: phone } = await openPage(t, browser, inspector, small)
    await rows(phone).nth(3).waitFor()
    await picture(phone, 'list-360')
    await row(phone, '/api/orders').click()
    await panel(phone, 'response').locator('pre').waitFor()
    // Layout does not depend on the theme, so the full check runs for one theme only.
    await (colorScheme === 'light' ? check : picture)(phone, 'detail-360')
    await phone.getByRole('button', { name: '← Requests' }).click()
    await row(phone, '/broken').waitFor()
    await phone.goto(`${api.url}/status`)
    await phone.getByRole('region', { name: 'Tunnel web' }).waitFor()
    const scrolled = `document.querySelector('.metrics').parentElement`
    const hidden = await phone.evaluate<number>(`${scrolled}.scrollWidth - ${scrolled}.clientWidth`)
    assert.equal(hidden, 0, 'the metrics are complete on a phone')
    await picture(phone, 'status-360')
  })
}

test('a body is copied and downloaded, and the URL of the tunnel is shown with a copy button', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit(`/a?${responseQuery('{"a":1}', 'application/json')}`)
  const { page, pageErrors } = await openPage(t, browser, inspector, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()')

  await row(page, '/a').click()
  await page.getByRole('button', { name: 'Copy body of the response' }).click()
  await page.getByText('Copied the response body.').waitFor()
  assert.equal(await clipboard(), '{"a":1}')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download body of the response' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'response-body.json')
  assert.equal(await readFile(await download.path(), 'utf8'), '{"a":1}')
  await page.getByRole('button', { name: 'Copy the URL of web' }).click()
  await page.getByText('Copied the URL.').waitFor()
  assert.equal(await clipboard(), await page.locator('.urls a').getAttribute('href'))
  assert.deepEqual(pageErrors, [])
})

test('a pinned request survives a clear, and shows where its time went', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  await visit('/pinned')
  await visit('/other')
  const { page } = await openPage(t, browser, inspector)

  await row(page, '/pinned').click()
  await assertText(page.locator('.timing'), /Receive request[\s\S]+Wait for the service[\s\S]+Send response/)
  await page.getByRole('button', { name: 'Pin', exact: true }).click()
  await row(page, '/pinned').getByRole('img', { name: 'Pinned' }).waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await row(page, '/other').waitFor({ state: 'detached' })
  await row(page, '/pinned').waitFor()
  assert.equal(await rows(page).count(), 1)
  await row(page, '/pinned').click()
  await page.keyboard.press('s')
  await page.getByRole('button', { name: 'Pin', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('No requests yet.').waitFor()
})

test('encoded paths are readable where that is unambiguous, in every script, and fit the page', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const paths = {
    '/caf%C3%A9/%E6%97%A5%E6%9C%AC%E8%AA%9E': '/café/日本語',
    '/%D9%85%D8%AA%D8%AC%D8%B1/1': '/متجر/1',
    '/a%2Fb%3Fc%20d%E2%80%AEe%ff': '/a%2Fb%3Fc%20d%E2%80%AEe%ff',
    [`/${'%E8%AA%9E'.repeat(200)}`]: `/${'語'.repeat(200)}`,
  }
  for (const path of Object.keys(paths)) await visit(path)
  const { page } = await openPage(t, browser, inspector, { viewport: { width: 1400, height: 900 } })

  for (const [path, text] of Object.entries(paths)) {
    await page.locator(`.row:has([title=${JSON.stringify(path)}])`).click()
    await eventuallyEqual(() => page.locator('.heading h2 bdi').textContent(), text)
    assert.equal(await page.getByText(`As sent: ${path}`).count(), path === text ? 0 : 1)
  }
  await assertFitsViewport(page, 'inspector-scripts')
  await page.setViewportSize({ width: 360, height: 740 })
  await assertFitsViewport(page, 'inspector-scripts-narrow')
})

test('the page says whether the agent has a session, and when the agent is gone', async (t) => {
  const { inspector, gateway, api } = await startInspectedAgent(t)
  const { page } = await openPage(t, browser, inspector)
  await page.getByText('Online', { exact: true }).waitFor()

  gateway.stop()
  await page.getByText('Reconnecting to the server').waitFor()
  await page.getByText('visitors cannot reach the tunnels').waitFor()
  api.close()
  await page.getByText('Agent not reachable').waitFor()
})

test('the theme is switched by a button and remembered', async (t) => {
  const { inspector } = await startInspectedAgent(t)
  const { page } = await openPage(t, browser, inspector)
  const theme = () => page.evaluate('document.documentElement.dataset.theme')

  await page.getByRole('button', { name: 'Theme: Auto' }).click()
  assert.equal(await theme(), 'light')
  await page.getByRole('button', { name: 'Theme: Light' }).click()
  await page.reload()
  await page.getByRole('button', { name: 'Theme: Dark' }).waitFor()
  assert.equal(await theme(), 'dark')
})
