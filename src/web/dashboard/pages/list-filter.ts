import { go } from '../route.ts'

/** What the address of a list page says about the list. */
export interface ListFilter {
  readonly search: string
  /** Empty for all kinds. */
  readonly kind: string
  readonly page: number
}

export function readListFilter(query: URLSearchParams, kinds: readonly string[]): ListFilter {
  return {
    search: query.get('q') ?? '',
    kind: kinds.find((kind) => kind === query.get('kind')) ?? '',
    page: Math.max(1, Math.trunc(Number(query.get('page'))) || 1),
  }
}

/** Keeps the filter in the address, so that it survives a reload and the way back from an item of the list. */
export function showListFilter(
  path: string,
  { search, kind, page }: ListFilter,
  others: Readonly<Record<string, string>> = {},
): void {
  const query = new URLSearchParams({
    ...(search !== '' && { q: search }),
    ...(kind !== '' && { kind }),
    ...others,
    ...(page > 1 && { page: String(page) }),
  })
  go(query.size === 0 ? path : `${path}?${query}`, { replace: true })
}
