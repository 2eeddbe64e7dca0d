import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Sql, SqlChange, SqlRecord, SqlValue } from '../sql.ts'
import { translateError } from './sqlite-errors.ts'

/** The statements of one connection to a file, each prepared once. */
export class SqliteConnection implements Sql {
  readonly database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #tupleStatements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.database = database
  }

  get(text: string, ...values: SqlValue[]): SqlRecord | undefined {
    try {
      return this.#statement(text).get(...values) as SqlRecord | undefined
    } catch (error) {
      throw translateError(error)
    }
  }

  all(text: string, ...values: SqlValue[]): SqlRecord[] {
    try {
      return this.#statement(text).all(...values) as SqlRecord[]
    } catch (error) {
      throw translateError(error)
    }
  }

  tuples(text: string, ...values: SqlValue[]): SqlValue[][] {
    try {
      let statement = this.#tupleStatements.get(text)
      if (!statement) {
        statement = this.database.prepare(text)
        statement.setReturnArrays(true)
        this.#tupleStatements.set(text, statement)
      }
      // The types of Node do not know what setReturnArrays changes.
      const rows: unknown[] = statement.all(...values)
      return rows as SqlValue[][]
    } catch (error) {
      throw translateError(error)
    }
  }

  scan(text: string, ...values: SqlValue[]): SqlValue[][] {
    return this.tuples(text, ...values)
  }

  run(text: string, ...values: SqlValue[]): number {
    try {
      return Number(this.#statement(text).run(...values).changes)
    } catch (error) {
      throw translateError(error)
    }
  }

  apply(...changes: SqlChange[]): number[] {
    return changes.map((change) => {
      if ('text' in change) return this.run(change.text, ...change.values)
      const { table, columns, rows, conflict = '' } = change
      const placeholders = columns.map(() => '?').join(', ')
      const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders}) ${conflict}`
      let inserted = 0
      for (const row of rows) inserted += this.run(text, ...row)
      return inserted
    })
  }

  #statement(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (!statement) {
      statement = this.database.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}
