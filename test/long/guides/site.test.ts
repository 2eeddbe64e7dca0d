import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readContents, START } from '../../../scripts/docs/contents.ts'
import { startPlatform } from '../../support/platform.ts'
import { openPage, startBrowser } from '../../web/browser.ts'
import { assertAccessibleInBothThemes } from '../../web/inspected.ts'

test('axe finds nothing on any page of the documentation', async (t) => {
  const browser = await startBrowser('docs')
  t.after(() => browser.close())
  const { credentials } = await startPlatform(t)
  const contents = readContents(await readFile(join(import.meta.dirname, '..', '..', '..', START), 'utf8'))
  const { page } = await openPage(t, browser, `${credentials.api_url}/docs/`, { bypassCSP: true })

  for (const { url } of contents.flatMap((section) => section.pages)) {
    await page.goto(credentials.api_url + url)
    await assertAccessibleInBothThemes(page, `docs-page${url.replaceAll('/', '-')}`)
  }
})
