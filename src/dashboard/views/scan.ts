import type { Row, Store } from '../../store/index.ts'

const PAGE_SIZE = 1000

/** The rows of a kind in an account, newest first, a page at a time. */
export async function* scanPages<K extends string>(
  store: Store,
  kind: K,
  account: string,
  pageSize: number = PAGE_SIZE,
): AsyncGenerator<readonly Row<K>[]> {
  let before: string | undefined
  for (;;) {
    const page = await store.list(kind, account, { limit: pageSize, before })
    yield page
    if (page.length < pageSize) return
    before = page.at(-1)!.id
  }
}

/** All rows of a kind in an account, newest first. */
export async function scanAll<K extends string>(store: Store, kind: K, account: string): Promise<Row<K>[]> {
  const rows: Row<K>[] = []
  for await (const page of scanPages(store, kind, account)) rows.push(...page)
  return rows
}
