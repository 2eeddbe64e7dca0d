import type { SqlRecord, SqlValue } from './sql.ts'
import type { Reference, Row } from './store.ts'
import type { Vault } from './vault.ts'

/** The columns that `toRow` reads, in this order. */
export const ROW = 'account, kind, id, data, sealed, revision, created_at'

/**
 * A stored row as the store gives it out. Secrets open when they are first looked at: most readers never do, and one
 * row that does not open must not keep others from being listed.
 */
export function toRow(values: readonly SqlValue[], vault: Vault): Row {
  const [account, kind, id, text, sealed, revision, createdAt] = values as [
    string,
    string,
    string,
    string,
    string | null,
    number,
    number,
  ]
  const data = JSON.parse(text)
  if (sealed === null) return { kind, id, account, revision, createdAt, data, secrets: undefined }
  let opened: Record<string, string> | undefined
  return {
    kind,
    id,
    account,
    revision,
    createdAt,
    data,
    get secrets() {
      opened ??= JSON.parse(vault.unseal(secretsPlace({ account, kind, id }), sealed)) as Record<
        string,
        string
      >
      return opened
    },
  }
}

/** Where the secrets of a row are sealed. */
export function secretsPlace(row: { account: string; kind: string; id: string }) {
  return { account: row.account, kind: row.kind, id: row.id, column: 'secrets' }
}

/** Rows that point at a row, as both engines keep them. */
export function toReferrer(record: SqlRecord) {
  return {
    account: record.account as string,
    kind: record.kind as string,
    id: record.id as string,
    field: record.field as string,
    onDelete: record.on_delete as Reference['onDelete'],
  }
}
