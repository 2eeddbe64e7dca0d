import { StoreUnavailable } from '../store.ts'
import type { Migrator } from './migrations.ts'
import type { Dialect, Engine, Sql, SqlRecord, Statement, WriteTransaction } from './sql.ts'

const POLL_INTERVAL_MS = 500

/**
 * Stands in for an engine that cannot be opened yet. Each use tries to open it and throws the reason until one succeeds;
 * from then on every call is delegated to that engine.
 */
export class ReconnectingEngine implements Engine, Migrator {
  readonly dialect: Dialect
  readonly reader: Sql
  readonly #open: () => Engine & Migrator
  #engine: (Engine & Migrator) | undefined
  #closed = false

  constructor(dialect: Dialect, open: () => Engine & Migrator) {
    this.dialect = dialect
    this.#open = open
    this.reader = {
      get: (...statement) => this.#connect().reader.get(...statement),
      all: (...statement) => this.#connect().reader.all(...statement),
      tuples: (...statement) => this.#connect().reader.tuples(...statement),
      scan: (...statement) => this.#connect().reader.scan(...statement),
      run: (...statement) => this.#connect().reader.run(...statement),
      apply: (...changes) => this.#connect().reader.apply(...changes),
    }
  }

  async begin(firstReads?: readonly Statement[]): Promise<WriteTransaction> {
    return this.#connect().begin(firstReads)
  }

  async runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#connect().runExclusive(work)
  }

  watch(statement: string, onOutcome: (outcome: SqlRecord | Error) => void): { stop(): void } {
    let watcher: { stop(): void } | undefined
    const timer = setInterval(() => {
      try {
        const engine = this.#connect()
        clearInterval(timer)
        watcher = engine.watch(statement, onOutcome)
      } catch (error) {
        onOutcome(error as Error)
      }
    }, POLL_INTERVAL_MS)
    timer.unref()
    return {
      stop() {
        clearInterval(timer)
        watcher?.stop()
      },
    }
  }

  async checkSpace(): Promise<void> {
    await this.#connect().checkSpace?.()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#engine?.close()
  }

  #connect(): Engine & Migrator {
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    this.#engine ??= this.#open()
    return this.#engine
  }
}
