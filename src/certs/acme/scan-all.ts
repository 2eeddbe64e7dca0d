import type { Row, Store } from '../../store/index.ts'

const PAGE_SIZE = 500

/** All rows of a kind, in all accounts. */
export async function* scanAll<K extends string>(
  store: Pick<Store, 'scan'>,
  kind: K,
): AsyncGenerator<Row<K>> {
  let after: string | undefined
  for (;;) {
    const page = await store.scan(kind, { limit: PAGE_SIZE, after })
    yield* page
    if (page.length < PAGE_SIZE) return
    after = page.at(-1)!.id
  }
}
