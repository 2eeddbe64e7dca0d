import type { Row, Store } from '../store/index.ts'

const PAGE_SIZE = 1000

/** All rows of a kind in an account, newest first. */
export async function scanAll<K extends string>(store: Store, kind: K, account: string): Promise<Row<K>[]> {
  const rows: Row<K>[] = []
  for (;;) {
    const page = await store.list(kind, account, { limit: PAGE_SIZE, before: rows.at(-1)?.id })
    rows.push(...page)
    if (page.length < PAGE_SIZE) return rows
  }
}
