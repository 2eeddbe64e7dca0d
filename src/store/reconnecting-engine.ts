import type { Migrator } from './migrations.ts'
import type { Dialect, Engine, Sql, WriteTransaction } from './sql.ts'
import { StoreUnavailable } from './store.ts'

const LOOK_MS = 500

/**
 * An engine that cannot be opened now, and may come back. Each use tries again, and says why it cannot be used until one
 * succeeds; from then on it is that engine.
 */
export class ReturningEngine implements Engine, Migrator {
  readonly dialect: Dialect
  readonly reader: Sql
  readonly #open: () => Engine & Migrator
  #engine: (Engine & Migrator) | undefined
  #closed = false

  constructor(dialect: Dialect, open: () => Engine & Migrator) {
    this.dialect = dialect
    this.#open = open
    this.reader = {
      get: (...statement) => this.#found().reader.get(...statement),
      all: (...statement) => this.#found().reader.all(...statement),
      lists: (...statement) => this.#found().reader.lists(...statement),
      run: (...statement) => this.#found().reader.run(...statement),
      apply: (...changes) => this.#found().reader.apply(...changes),
    }
  }

  async begin(): Promise<WriteTransaction> {
    return this.#found().begin()
  }

  async exclusively<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#found().exclusively(work)
  }

  watch(onCommit: () => void): { stop(): void } {
    let watching: { stop(): void } | undefined
    const timer = setInterval(() => {
      try {
        watching = this.#found().watch(onCommit)
        clearInterval(timer)
      } catch {
        // Whoever needs it is told why it cannot be used.
      }
    }, LOOK_MS)
    timer.unref()
    return {
      stop() {
        clearInterval(timer)
        watching?.stop()
      },
    }
  }

  async checkSpace(): Promise<void> {
    await this.#found().checkSpace?.()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#engine?.close()
  }

  #found(): Engine & Migrator {
    if (this.#closed) throw new StoreUnavailable('The store is closed.')
    this.#engine ??= this.#open()
    return this.#engine
  }
}
