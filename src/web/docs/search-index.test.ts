import assert from 'node:assert/strict'
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

test('a heading counts more than text, and every word has to occur', () => {
  assert.deepEqual(urls('weight'), ['/a', '/c'])
  assert.deepEqual(urls('weight moves'), ['/c'])
  assert.deepEqual(urls('weight elephant'), [])
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
