import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSearchIndex } from './search-index.ts'

const FILLER = 'Nothing of interest is written here. '.repeat(5)
const search = createSearchIndex([
  { url: '/a', page: 'Backends', heading: 'Weighted', text: `${FILLER}Weights decide how traffic is split.` },
  { url: '/b', page: 'Backends', heading: 'Failover', text: 'The first one that is online.' },
  { url: '/c', page: 'Guide', heading: '', text: 'Traffic moves to the other backend by its weight.' },
  {
    url: '/d',
    page: 'Errors',
    heading: 'ERR_ADIT_3200',
    text: 'No tunnel or edge serves this name right now.',
  },
])
const urls = (query: string) => search(query).map(({ url }) => url)

test('a heading counts more than text, and sections with every word come alone', () => {
  assert.deepEqual(urls('weight'), ['/a', '/c'])
  assert.deepEqual(urls('weight moves'), ['/c'])
  assert.deepEqual(urls('weight elephant'), ['/a', '/c'])
  assert.deepEqual(urls('elephant'), [])
  assert.deepEqual(urls(''), [])
})

test('the beginning of a word, a typing error and an error code find it', () => {
  assert.deepEqual(urls('failo'), ['/b'])
  assert.deepEqual(urls('wieghted'), ['/a'])
  assert.deepEqual(urls('ERR_ADIT_3200'), ['/d'])
})

test('the excerpt is the text around the first match, with the words apart', () => {
  const [match] = search('split')

  const text = match!.excerpt.map((part) => part.text).join('')
  assert.match(text, /^… .*Weights decide how traffic is split\.$/)
  assert.deepEqual(
    match!.excerpt.filter(({ isMatch }) => isMatch).map((part) => part.text),
    ['split'],
  )
})

test('guides come before pages that are looked up, and decisions last', () => {
  const pages = ['/docs/decisions', '/docs/edges', '/docs/guides/edges']
  const find = createSearchIndex(
    pages.map((url) => ({ url, page: 'A page', heading: 'Edges', text: 'Edges.' })),
  )
  assert.deepEqual(
    find('edges').map(({ url }) => url),
    pages.toReversed(),
  )
})

test('the documentation answers questions as people ask them', async () => {
  const site = join(import.meta.dirname, '..', '..', '..', 'dist', 'docs', 'search.json')
  const find = createSearchIndex(JSON.parse(await readFile(site, 'utf8')))
  for (const [question, url] of [
    ['reset password', '/docs/dashboard#a-lost-password-or-device'],
    ['back up', '/docs/operations#backups'],
    ['how do I restore a backup', '/docs/operations#backups'],
    ['cannot connect', '/docs/guides/troubleshooting#the-agent-does-not-connect'],
    ['custom domain', '/docs/guides/custom-domain'],
    ['certifcate', '/docs/certificates#automatic-certificates'],
    ['docker compose', '/docs/guides/docker-compose'],
    ['ERR_ADIT_3200', '/docs/errors/ERR_ADIT_3200'],
  ] as const)
    assert.ok(
      find(question)
        .slice(0, 3)
        .some((match) => match.url.startsWith(url)),
      question,
    )
})
