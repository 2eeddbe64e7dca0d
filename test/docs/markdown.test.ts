import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readContents, urlOf } from '../../scripts/docs/contents.ts'
import { renderDocument } from '../../scripts/docs/markdown.ts'

const pages = new Map([
  ['docs/edges.md', '/docs/edges'],
  ['docs/images/a.png', '/docs/images/a.png'],
])
const render = (source: string, file = 'docs/guides/page.md') =>
  renderDocument(file, source, {
    locate: (path) => pages.get(path),
    errorCodes: new Set(['ERR_ADIT_3200']),
  })

test('links and pictures lead to the site, wherever the document is', () => {
  const { html } = render(
    '[e](../edges.md#a-b) [here](#x) [out](https://example.com)\n\n<img src="../images/a.png" alt="">',
  )

  assert.match(html, /<a href="\/docs\/edges#a-b">e<\/a>/)
  assert.match(html, /<a href="#x">here<\/a> <a href="https:\/\/example\.com">/)
  assert.match(html, /<img src="\/docs\/images\/a\.png" alt="">/)
})

test('a link to a file that the site does not have stops the build', () => {
  assert.throws(() => render('[x](../../src/cli.ts)'), /docs\/guides\/page\.md links to src\/cli\.ts/)
})

test('headings get the anchors that GitHub gives them, and equal ones are numbered', () => {
  const { title, sections } = render('# Tunnels: `ssh -R`\n\n## Next step\n\ntext\n\n## Next step\n')

  assert.equal(title, 'Tunnels: ssh -R')
  assert.deepEqual(
    sections.map(({ anchor, text }) => [anchor, text.trim()]),
    [
      ['tunnels-ssh--r', ''],
      ['next-step', 'text'],
      ['next-step-1', ''],
    ],
  )
})

test('comments vanish, code is escaped and named, and error codes lead to their explanation', () => {
  const { html } = render(
    '<!-- hidden\ntest 1 = 1\n-->\n\n```js [a.mjs]\nif (a < b) "c"\n```\n\n`ERR_ADIT_3200` `ERR_ADIT_1` [`ERR_ADIT_3200`](#x)',
  )

  assert.doesNotMatch(html, /hidden|test 1/)
  assert.match(html, /<figcaption>a\.mjs<\/figcaption><pre [^>]+><code>if \(a &lt; b\) &quot;c&quot;\n</)
  assert.match(html, /<a href="\/docs\/errors\/ERR_ADIT_3200"><code>/)
  assert.match(html, / <code>ERR_ADIT_1<\/code> <a href="#x"><code>ERR_ADIT_3200<\/code><\/a>/)
})

test('the contents are the headings and links of the start page', () => {
  const contents = readContents('# D\n\n[no](no.md)\n\n## One\n\n- [A `b`](guides/index.md): text\n- plain\n')

  assert.deepEqual(contents, [
    { name: 'One', pages: [{ name: 'A b', file: 'docs/guides/index.md', url: '/docs/guides' }] },
  ])
  assert.equal(urlOf('CHANGELOG.md'), '/docs/changelog')
})
