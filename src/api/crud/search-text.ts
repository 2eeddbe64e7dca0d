import { prefixOf } from '../../base/values/id.ts'

/** Longer texts are certificates, policies and bodies. */
const MAX_TEXT_LENGTH = 256
/** Bounds the work for one item. */
const MAX_TEXTS = 300
const MAX_DEPTH = 6
/** Dates, hashes and addresses of the API match by accident. */
const UNSEARCHED_FIELDS: ReadonlySet<string> = new Set(['uri', 'created_at', 'updated_at', 'at', 'hash'])

/** The words of a search, in lower case. */
export function searchWords(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean)
}

/** The short texts of an item that people search for; entries of labels are `key=value`. */
export function searchableTexts(item: unknown): string[] {
  const texts: string[] = []
  collectTexts(item, texts, 0)
  return texts
}

function collectTexts(value: unknown, texts: string[], depth: number): void {
  if (texts.length >= MAX_TEXTS || depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (value !== '' && value.length <= MAX_TEXT_LENGTH) texts.push(value)
  } else if (typeof value === 'number') texts.push(String(value))
  else if (Array.isArray(value)) for (const each of value) collectTexts(each, texts, depth + 1)
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) {
      if (UNSEARCHED_FIELDS.has(name)) continue
      if (name === 'labels' && typeof each === 'object' && each !== null)
        for (const [key, label] of Object.entries(each)) collectTexts(`${key}=${label}`, texts, depth + 1)
      else collectTexts(each, texts, depth + 1)
    }
}

/** Whether every word occurs in a text. An id matches from its beginning only. */
export function matchesWords(texts: readonly string[], words: readonly string[]): boolean {
  return words.every((word) =>
    texts.some((text) =>
      prefixOf(text) === undefined ? text.toLowerCase().includes(word) : text.toLowerCase().startsWith(word),
    ),
  )
}
