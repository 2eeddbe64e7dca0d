import type { Operations, Page } from '../../api-client/index.ts'
import { api } from './api.ts'
import type { Item } from './page-contracts.ts'

type ListOf<Group> = Group extends { list(...args: never): Promise<Page<infer Key, infer Listed>> }
  ? Readonly<Record<Key, Listed>>
  : never

/** What a list of the API holds, by the key of its pages. */
export type ItemOf<Key extends string> = string extends Key
  ? Item
  : Key extends string
    ? Extract<ListOf<Operations[keyof Operations]>, Record<Key, unknown>>[Key]
    : never

/** The maximum of a list that is shown whole; larger accounts need the API. */
export const MAX_ITEMS = 5000

/** The path of the items of an API list that match an expression. */
export const filtered = (path: string, filter: string): string => `${path}?${new URLSearchParams({ filter })}`

/** Reads the pages of an API list, newest first, until there are `count` items, and whether there may be more. */
export async function readList<Key extends string>(
  path: string,
  key: Key,
  options: { count: number; maxCalls?: number; signal?: AbortSignal | undefined },
): Promise<{ items: ItemOf<Key>[]; more: boolean }> {
  const { count, maxCalls = Number.POSITIVE_INFINITY, signal } = options
  const items: ItemOf<Key>[] = []
  let next: string | null = path
  for (let calls = 0; next !== null && items.length < count && calls < maxCalls; calls++) {
    const page: Page<Key, ItemOf<Key>> = await api.get(next, signal)
    items.push(...page[key])
    next = page.next_page_uri && pathOf(page.next_page_uri)
  }
  return { items: items.slice(0, count), more: next !== null || items.length > count }
}

/** Reads all pages of an API list. */
export async function listAll<Key extends string>(
  path: string,
  key: Key,
  signal?: AbortSignal,
): Promise<ItemOf<Key>[]> {
  return (await readList(path, key, { count: MAX_ITEMS, signal })).items
}

/** An address on this origin; the server's public URL may differ. */
function pathOf(uri: string): string {
  const { pathname, search } = new URL(uri, location.origin)
  return pathname + search
}
