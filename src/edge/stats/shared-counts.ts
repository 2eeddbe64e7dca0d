import type { Clock } from '../../base/values/clock.ts'

/**
 * Something that counts traffic and acts on the counts, such as a rate limit. Nodes and workers tell each
 * other what they have counted, a moment later: nothing on the path of a request waits for another node.
 */
export interface SharedCounts {
  /** Called with the first count after `takeCounts`; without it, nothing is noted for the others. */
  onCounted: (() => void) | undefined
  /** What was counted here since the last call; a JSON value. */
  takeCounts(): unknown
  /** Adds what another process has counted. */
  addCounts(counts: unknown, now: number): void
}

/** What another process has counted, with the name of the state, which is the same at every process. */
export interface CountUpdate {
  readonly name: string
  readonly counts: unknown
}

/** Tells the other processes what was counted here. */
export type PublishCounts = (updates: readonly CountUpdate[]) => void

/** They are told at once, and the next time after this. */
const MIN_INTERVAL_MS = 10

function isShared(state: object): state is SharedCounts {
  return 'takeCounts' in state
}

/** Knows the states that other processes have as well, and which of them have counts that the others do not know yet. */
export class CountExchange {
  readonly #publish: PublishCounts | undefined
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #changed = new Map<SharedCounts, string>()
  /** By name; a state lives as long as what counts with it. */
  readonly #states = new Map<string, WeakRef<SharedCounts>>()
  readonly #finalizer = new FinalizationRegistry<string>((name) => {
    if (this.#states.get(name)?.deref() === undefined) this.#states.delete(name)
  })
  #timer: NodeJS.Timeout | undefined

  /** Without `publish`, nothing is noted: there are no others. */
  constructor(publish: PublishCounts | undefined, clock: Pick<Clock, 'monotonic'>) {
    this.#publish = publish
    this.#clock = clock
  }

  /** Shares the counts of a state, if it has any, under a name that is the same at every process. */
  share(state: object, name: string): void {
    if (this.#publish === undefined || !isShared(state)) return
    this.#states.set(name, new WeakRef(state))
    this.#finalizer.register(state, name)
    state.onCounted = () => {
      this.#changed.set(state, name)
      this.#timer ??= setTimeout(() => this.#tell(), 0).unref()
    }
  }

  /** What was counted here and is not told yet. */
  take(): CountUpdate[] {
    const updates = [...this.#changed].map(([state, name]) => ({ name, counts: state.takeCounts() }))
    this.#changed.clear()
    return updates
  }

  /** Adds the counts of another process to the states of the same names; those of others are dropped. */
  add(updates: readonly CountUpdate[]): void {
    const now = this.#clock.monotonic()
    for (const { name, counts } of updates) this.#states.get(name)?.deref()?.addCounts(counts, now)
  }

  #tell(): void {
    this.#timer = undefined
    const updates = this.take()
    if (updates.length === 0) return
    this.#publish?.(updates)
    this.#timer = setTimeout(() => this.#tell(), MIN_INTERVAL_MS).unref()
  }
}
