import MiniSearch from 'minisearch'
import type { SearchEntry } from './search-entry.ts'
import { toAlternatives } from './synonyms.ts'

const MAX_MATCHES = 20
const EXCERPT_LENGTH = 160
const CONTEXT_LENGTH = 50
/** What a word counts that only means the same, in each field. */
const OTHER_WORDS = { heading: 3, page: 1.5, text: 0.5 }

/** A section that matches, with the part of its text that does. */
export interface Match extends Pick<SearchEntry, 'url' | 'page' | 'heading'> {
  readonly excerpt: readonly { readonly text: string; readonly isMatch: boolean }[]
}

export type SearchIndex = (query: string) => readonly Match[]

/** Fetches the text of all pages and makes it searchable in this browser. */
export async function loadSearchIndex(): Promise<SearchIndex> {
  const response = await fetch('/docs/search.json')
  if (!response.ok) throw new Error(`the server responded with ${response.status}`)
  return createSearchIndex((await response.json()) as SearchEntry[])
}

/** Pages that are read to do something come before those that are looked up, and these before those about the code. */
const PAGE_BOOSTS: readonly (readonly [path: RegExp, boost: number])[] = [
  [/^\/docs\/guides\//, 2],
  [
    /^\/docs\/(?:decisions|benchmarks|benchmarks-more|architecture|promises|protocol|contributing|changelog|test-suites)\b/,
    0.3,
  ],
]

/**
 * Every word has to occur, as a whole, at the beginning of a longer one, with a typing error, or as another word of its
 * meaning, which counts less. Where no section has all of them, those with most come first.
 */
export function createSearchIndex(entries: readonly SearchEntry[]): SearchIndex {
  const index = new MiniSearch<SearchEntry & { id: number }>({
    fields: ['heading', 'page', 'text'],
    searchOptions: {
      boost: { heading: 6, page: 3 },
      boostDocument: (id) => PAGE_BOOSTS.find(([path]) => path.test(entries[id]!.url))?.[1] ?? 1,
      prefix: (term) => term.length > 2,
      // A transposition is two errors.
      fuzzy: (term) => (term.length > 7 ? 2 : term.length > 3 ? 1 : false),
    },
  })
  index.addAll(entries.map((entry, id) => ({ ...entry, id })))
  const find = (words: readonly (readonly string[])[], combineWith: 'AND' | 'OR') =>
    index.search({
      combineWith,
      queries: words.map(([word, ...others]) => ({
        combineWith: 'OR',
        queries: [
          word!,
          { queries: others, combineWith: 'OR', boost: OTHER_WORDS, fuzzy: false, prefix: false },
        ],
      })),
    })
  return (query) => {
    const words = toAlternatives(query)
    const all = find(words, 'AND')
    return (all.length > 0 ? all : find(words, 'OR')).slice(0, MAX_MATCHES).map(({ id, terms }) => {
      const { url, page, heading, text } = entries[id]!
      return { url, page, heading, excerpt: excerptOf(text, terms) }
    })
  }
}

/** The text around the first word that matches, with these words apart. */
function excerptOf(text: string, terms: readonly string[]): Match['excerpt'] {
  const lower = text.toLowerCase()
  const positions = terms.map((term) => lower.indexOf(term)).filter((position) => position >= 0)
  const first = positions.length === 0 ? 0 : Math.min(...positions)
  const earliest = Math.max(0, first - CONTEXT_LENGTH)
  const start = earliest === 0 ? 0 : text.indexOf(' ', earliest) + 1
  const limit = start + EXCERPT_LENGTH
  const end = limit < text.length ? text.lastIndexOf(' ', limit) : text.length
  const parts: { text: string; isMatch: boolean }[] = []
  let rest = `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
  while (rest !== '') {
    const next = findFirst(rest.toLowerCase(), terms)
    if (next === undefined) break
    parts.push({ text: rest.slice(0, next.start), isMatch: false })
    parts.push({ text: rest.slice(next.start, next.end), isMatch: true })
    rest = rest.slice(next.end)
  }
  return [...parts, { text: rest, isMatch: false }]
}

function findFirst(text: string, terms: readonly string[]): { start: number; end: number } | undefined {
  return terms
    .map((term) => ({ start: text.indexOf(term), end: text.indexOf(term) + term.length }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.start - b.start || b.end - a.end)[0]
}
