import type { SqlRecord, SqlValue } from '../engine/sql.ts'
import type { Sealer } from '../seal/sealer.ts'
import type { Reference, Row } from '../store.ts'

/** The columns that `toRow` reads, in this order. */
export const ROW_COLUMNS = 'account, kind, id, data, sealed, revision, created_at'

/** The columns that a read by key does not already know. */
export const ROW_VALUE_COLUMNS = 'data, sealed, revision, created_at'

/** Converts the values of `ROW_COLUMNS` to a row. */
export function toRow<K extends string>(values: readonly SqlValue[], sealer: Sealer): Row<K> {
  const key = { account: values[0] as string, kind: values[1] as K, id: values[2] as string }
  return buildRow(key, values, 3, sealer)
}

/**
 * Builds a row from its key and the values of `ROW_VALUE_COLUMNS`, which begin at `offset`. Secrets are decrypted on first
 * access: most readers never need them, and one row that does not decrypt must not prevent others from being listed.
 */
export function buildRow<K extends string>(
  { account, kind, id }: { account: string; kind: K; id: string },
  values: readonly SqlValue[],
  offset: number,
  sealer: Sealer,
): Row<K> {
  const data = JSON.parse(values[offset] as string)
  const sealed = values[offset + 1] as string | null
  const revision = values[offset + 2] as number
  const createdAt = values[offset + 3] as number
  if (sealed === null) return { kind, id, account, revision, createdAt, data, secrets: undefined } as Row<K>
  let secrets: Record<string, string> | undefined
  return {
    kind,
    id,
    account,
    revision,
    createdAt,
    data,
    get secrets() {
      secrets ??= JSON.parse(sealer.unseal(secretsSealContext({ account, kind, id }), sealed)) as Record<
        string,
        string
      >
      return secrets
    },
  } as Row<K>
}

/** The context that the secrets of a row are sealed with. */
export function secretsSealContext(row: { account: string; kind: string; id: string }) {
  return { account: row.account, kind: row.kind, id: row.id, column: 'secrets' }
}

/** Converts a row of the table `refs`. */
export function toReferrer(record: SqlRecord) {
  return {
    account: record.account as string,
    kind: record.kind as string,
    id: record.id as string,
    field: record.field as string,
    onDelete: record.on_delete as Reference['onDelete'],
  }
}
