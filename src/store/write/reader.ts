import type { Sql, SqlRecord } from '../engine/sql.ts'
import type { Sealer } from '../seal/sealer.ts'
import type { Reader } from '../store.ts'
import { buildRow, ROW_COLUMNS, ROW_VALUE_COLUMNS, toReferrer, toRow } from './rows.ts'

export const GET_ROW = `SELECT ${ROW_VALUE_COLUMNS} FROM resources WHERE account = ? AND kind = ? AND id = ?`
const FIRST_PAGE = `SELECT ${ROW_COLUMNS} FROM resources WHERE account = ? AND kind = ? ORDER BY id DESC LIMIT ?`
const NEXT_PAGE = `SELECT ${ROW_COLUMNS} FROM resources WHERE account = ? AND kind = ? AND id < ? ORDER BY id DESC LIMIT ?`
const HOLDER = 'SELECT account, kind, id FROM claims WHERE scope = ? AND name = ?'
const HOLDERS = 'SELECT name, account, kind, id FROM claims WHERE scope = ? AND name IN'
const HOLDERS_BELOW =
  'SELECT account, kind, id FROM claims WHERE scope = ? AND name >= ? AND name < ? ORDER BY name LIMIT ?'
const REFERRERS =
  'SELECT account, kind, id, field, on_delete FROM refs WHERE target = ? ORDER BY id, field LIMIT ?'

/**
 * The reads of a request, each served by an index of the tables behind `sql`. They are in no dialect, because a copy on another
 * engine may serve them while the database is unavailable.
 */
export function createReader(sql: Sql, sealer: Sealer): Reader {
  return {
    async get(kind, account, id) {
      const values = (await sql.tuples(GET_ROW, account, kind, id))[0]
      return values && buildRow({ account, kind, id }, values, 0, sealer)
    },
    async list(kind, account, { limit, before }) {
      const records =
        before === undefined
          ? await sql.tuples(FIRST_PAGE, account, kind, limit)
          : await sql.tuples(NEXT_PAGE, account, kind, before, limit)
      return records.map((values) => toRow(values, sealer))
    },
    async holder(scope, name) {
      const record = await sql.get(HOLDER, scope, name)
      return record && toHolder(record)
    },
    async holders(scope, names) {
      if (names.length === 0) return new Map()
      const places = names.map(() => '?').join(', ')
      const records = await sql.all(`${HOLDERS} (${places})`, scope, ...names)
      return new Map(records.map((record) => [String(record.name), toHolder(record)]))
    },
    async holdersWithPrefix(scope, prefix, limit) {
      // Names are valid Unicode, so nothing sorts above the prefix followed by the highest code point.
      const records = await sql.all(HOLDERS_BELOW, scope, prefix, `${prefix}\u{10ffff}`, limit)
      return records.map(toHolder)
    },
    async referrers(id, limit) {
      return (await sql.all(REFERRERS, id, limit)).map(toReferrer)
    },
  }
}

function toHolder({ account, kind, id }: SqlRecord) {
  return { account: String(account), kind: String(kind), id: String(id) }
}
