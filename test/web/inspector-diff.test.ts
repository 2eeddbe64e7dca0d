import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { diffFields, diffLines } from '../../src/web/inspector/requests/line-diff.ts'
import { countSteps } from '../support/count-steps.ts'
import { createRandom } from '../support/random.ts'
import { openPage, startBrowser } from './browser.ts'
import {
  assertAccessible,
  assertFitsViewport,
  assertText,
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

test('a diff contains both texts and marks only equal lines as same', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  for (let round = 0; round < 500; round++) {
    const text = () => Array.from({ length: random.below(30) }, () => random.pick(['a', 'b', 'c', 'd']))
    const [left, right] = [text(), text()]

    const found = diffLines(left, right)

    assert.deepEqual(
      found.map((each) => each.left).filter((line) => line !== undefined),
      left,
    )
    assert.deepEqual(
      found.map((each) => each.right).filter((line) => line !== undefined),
      right,
    )
    assert.ok(found.every(({ same, left: one, right: two }) => same === (one === two)))
  }
})

test('an added line is one difference, at any position', () => {
  const text = Array.from({ length: 3000 }, (_, index) => `line ${index}`)
  const longer = [...text.slice(0, 1000), 'new', ...text.slice(1000, 2000), 'newer', ...text.slice(2000)]

  const found = diffLines(text, longer).filter(({ same }) => !same)

  assert.deepEqual(found, [
    { left: undefined, right: 'new', same: false },
    { left: undefined, right: 'newer', same: false },
  ])
})

test('headers are compared by name, regardless of order', () => {
  const found = diffFields(
    [
      ['Host', 'x'],
      ['X-A', '1'],
      ['X-A', '2'],
      ['X-Gone', '3'],
    ],
    [
      ['X-A', '1'],
      ['X-A', '4'],
      ['Host', 'x'],
      ['X-New', '5'],
    ],
  )

  assert.deepEqual(
    found.filter(({ same }) => !same).map(({ left, right }) => [left, right]),
    [
      ['X-A: 2', 'X-A: 4'],
      ['X-Gone: 3', undefined],
      [undefined, 'X-New: 5'],
    ],
  )
})

test('the steps of diffing two unrelated texts grow only with their length', async () => {
  const url = import.meta.resolve('../../src/web/inspector/requests/line-diff.ts')
  const text = (word: string, lines: number) =>
    Array.from({ length: lines }, (_, index) => `${word} ${index}`)
  const count = (lines: number) =>
    countSteps(url, (module: typeof import('../../src/web/inspector/requests/line-diff.ts')) => () => {
      assert.equal(module.diffLines(text('one', lines), text('two', lines)).length, lines)
    })

  const growth = (await count(20_000)) - (await count(5_000))

  assert.ok(growth >= 15_000 && growth <= 10 * 15_000, `${growth} steps for 15,000 lines more`)
})

test('two exchanges are compared with the keyboard alone', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const body = (total: number) => JSON.stringify({ id: 7, items: [1, 2, 3], total })
  await visit(`/orders?${responseQuery(body(10), 'application/json')}`, { headers: 'X-Debug: 0\r\n' })
  await visit(`/orders?${responseQuery(body(12), 'application/json')}&status=202`, {
    method: 'PUT',
    body: 'new',
  })
  const { page, pageErrors } = await openPage(t, browser, inspector)
  await rows(page).nth(1).waitFor()

  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.getByRole('heading', { name: 'GET /orders' }).waitFor()
  await page.keyboard.press('d')
  await page.getByText(/Comparing with GET \/orders/).waitFor()
  await page.keyboard.press('k')
  await page.getByRole('heading', { name: 'Request comparison' }).waitFor()

  const request = page.getByRole('region', { name: 'Request', exact: true }).last()
  const response = page.getByRole('region', { name: 'Response', exact: true })
  await assertText(
    request.getByRole('table', { name: /^Request line · 1 line differs/ }),
    /−\s*GET[\s\S]*\+\s*PUT/,
  )
  const headers = await readText(request.getByRole('table', { name: /^Headers/ }))
  assert.match(headers, /−\s*X-Debug: 0/)
  assert.match(headers, /\+\s*Content-Length: 3/)
  await assertText(request.getByRole('table', { name: /^Body/ }), /\+\s*new/)
  await assertText(
    response.getByRole('table', { name: /^Status line/ }),
    /−\s*HTTP\/1.1 200 OK\s+\+\s*HTTP\/1.1 202 Accepted/,
  )
  const body2 = response.getByRole('table', { name: /^Body · 1 line differs/ })
  await assertText(body2.locator('.differs'), /−\s+"total": 10\s+\+\s+"total": 12/)
  assert.deepEqual(await body2.locator('mark').allInnerTexts(), ['0', '2'])
  await page.keyboard.press('d')
  await page.getByRole('heading', { name: 'PUT /orders' }).waitFor()
  assert.deepEqual(pageErrors, [])
})

test('a replay is compared with its original, and long bodies are collapsed to the differences', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  const lines = (changed: string) =>
    Array.from({ length: 900 }, (_, index) => (index === 600 ? changed : `line ${index}`))
  await visit('/long', { method: 'POST', body: lines('before').join('\n') })
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/long').click()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('button', { name: 'Replay with changes' }).click()

  await page.getByRole('form').getByLabel('Body').fill(lines('after').join('\n'))
  await page.getByRole('form').getByRole('button', { name: 'Send' }).click()

  const body = page.getByRole('table', { name: /^Body · 1 line differs/ })
  await assertText(
    body,
    /… 597 unchanged lines[\s\S]*line 599[\s\S]*−\s*before\s+\+\s*after[\s\S]*… 296 unchanged lines/,
  )
  await page.getByRole('button', { name: 'Stop comparing' }).click()
  await page.getByRole('heading', { name: 'POST /long' }).waitFor()
})

test('hostile content is escaped in a comparison', async (t) => {
  const { visit, inspector } = await startInspectedAgent(t)
  for (const word of ['one', 'two']) {
    const attack = `<img src=x onerror="window.owned=1"><script>window.owned='${word}'</script>`
    await visit(`/a?${responseQuery(attack, 'text/html')}`, {
      method: 'POST',
      headers: `X-A: ${attack}\r\n`,
      body: attack,
    })
  }
  const { page, pageErrors } = await openPage(t, browser, inspector)
  await rows(page).nth(0).click()
  await page.keyboard.press('d')

  await page.keyboard.press('j')
  await page.getByRole('heading', { name: 'Request comparison' }).waitFor()
  await page
    .getByRole('table', { name: /^Headers/ })
    .first()
    .waitFor()

  assert.equal(await page.evaluate<boolean>('"owned" in window'), false)
  assert.equal(await page.locator('main script, main img').count(), 0)
  assert.deepEqual(pageErrors, [])
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the ${colorScheme} comparison is accessible, also on a small screen`, async (t) => {
    const { visit, inspector } = await startInspectedAgent(t)
    for (const [name, status] of [
      ['Ada', 200],
      ['Grace', 404],
    ] as const) {
      const body = JSON.stringify({ id: 7, name, open: true, tags: ['a', 'b'] })
      await visit(`/users/7?${responseQuery(body, 'application/json')}&status=${status}`, {
        headers: `X-Name: ${name}\r\n`,
      })
    }
    for (const [width, height] of [
      [1280, 800],
      [360, 640],
    ] as const) {
      const options = { colorScheme, viewport: { width, height }, bypassCSP: true }
      const { page } = await openPage(t, browser, inspector, options)
      await rows(page).nth(1).waitFor()
      await rows(page).nth(1).click()
      await page.getByRole('button', { name: 'Compare' }).click()
      if (width === 360) {
        await page.getByRole('button', { name: '← Requests' }).click()
        await assertFitsViewport(page, `inspector-comparing-360-${colorScheme}`)
      }
      await rows(page).nth(0).click()
      await page.getByRole('table', { name: /^Body/ }).waitFor()

      await (width === 360 && colorScheme === 'dark' ? assertFitsViewport : assertAccessible)(
        page,
        `inspector-diff-${width}-${colorScheme}`,
      )
    }
  })
}
