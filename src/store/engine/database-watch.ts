import { StoreUnavailable } from '../store.ts'
import { SELECT_POSITION, toPosition } from './changes.ts'
import type { Dialect, Engine, Head, Position, SqlRecord } from './sql.ts'

/** What shows a process that another one has written something that it follows. */
export interface DatabaseState {
  readonly head: Head & Position
  /** The number of the newest revocation of log-ins. */
  readonly revocations: number
}

/** Tables that processes follow and that have no change log: their columns, the first one in order. */
export const UNLOGGED_TABLES = {
  settings: ['name', 'value', 'sealed'],
  nodes: ['id', 'address', 'agent_address'],
} as const

type StateListener = (state: DatabaseState) => void

/**
 * Looks at the database for all that a process follows, with one statement: at once after a commit that others wait for, and
 * every few seconds. Those who follow read more only when something has changed.
 */
export class DatabaseWatch {
  readonly #engine: Engine
  readonly #statement: string
  readonly #listeners = new Set<StateListener>()
  readonly #recoveryListeners = new Set<() => void>()
  #waiting: (() => void)[] = []
  #watching: { stop(): void } | undefined
  #state: DatabaseState | undefined
  #serialized = ''
  #failure: Error | undefined
  #version = 0

  constructor(engine: Engine) {
    this.#engine = engine
    this.#statement = stateStatement(engine.dialect)
  }

  /** Grows whenever the state has changed, or looking begins or ceases to fail. */
  get version(): number {
    return this.#version
  }

  /** What the last look found; throws why it failed. */
  get state(): DatabaseState {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#state === undefined) throw new StoreUnavailable('The database has not answered yet.')
    return this.#state
  }

  /** Calls back with the state, whenever it has changed. The first one to follow starts it. */
  follow(onChanged: StateListener): { stop(): void } {
    this.#listeners.add(onChanged)
    if (this.#state !== undefined) onChanged(this.#state)
    this.#watching ??= this.#engine.watch(this.#statement, (outcome) => {
      if (outcome instanceof Error) this.#fail(outcome)
      else this.#see(outcome)
    })
    return {
      stop: () => {
        this.#listeners.delete(onChanged)
        if (this.#listeners.size === 0) this.close()
      },
    }
  }

  /** Calls back when the database answers again after it did not. */
  onRecovered(listener: () => void): void {
    this.#recoveryListeners.add(listener)
  }

  /** Resolves once the version is another one. */
  async changedSince(version: number): Promise<void> {
    if (this.#version === version) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  close(): void {
    this.#watching?.stop()
    this.#watching = undefined
    this.#advance()
  }

  #see(record: SqlRecord): void {
    const serialized = JSON.stringify(record)
    const recovered = this.#failure !== undefined
    this.#failure = undefined
    if (serialized === this.#serialized && !recovered) return
    this.#serialized = serialized
    const state = toState(record)
    this.#state = state
    this.#advance()
    for (const listener of [...this.#listeners]) listener(state)
    if (recovered) for (const listener of this.#recoveryListeners) listener()
  }

  #fail(error: Error): void {
    const isNew = this.#failure === undefined
    this.#failure = error
    if (isNew) this.#advance()
  }

  #advance(): void {
    this.#version++
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

function stateStatement({ digest }: Pick<Dialect, 'digest'>): string {
  const digests = Object.entries(UNLOGGED_TABLES).map(
    ([table, columns]) =>
      `(SELECT ${digest(`string_agg(${columns.join(" || ' ' || ")}, ',' ORDER BY ${columns[0]})`)} FROM ${table}) AS ${table}`,
  )
  return SELECT_POSITION.replace(
    / FROM head$/,
    `, (SELECT MAX(number) FROM login_endings) AS revocations,
     (SELECT SUM(enqueued) FROM event_sinks) AS events, ${digests.join(', ')} FROM head`,
  )
}

function toState(record: SqlRecord): DatabaseState {
  return {
    head: toPosition(record),
    revocations: Number(record.revocations ?? 0),
  }
}
