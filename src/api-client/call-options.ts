/** Options of one call. */
export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal
  /** Timeout of this call in milliseconds, instead of that of the client. */
  timeoutMs?: number
}

/** One page of a list. `listAll` reads all of them. */
export type Page<Key extends string, Item> = { [name in Key]: Item[] } & {
  /** The address of this list. */
  uri: string
  /** The address of the next page; null on the last page. */
  next_page_uri: string | null
}
