/**
 * Something that counts traffic and acts on the counts, such as a rate limit. Nodes and workers tell each
 * other what they have counted, a moment later: nothing on the path of a request waits for another process.
 */
export interface SharedCounts {
  /** Called with the first count after `takeCounts`; without it, nothing is noted for the others. */
  onCounted: (() => void) | undefined
  /** What was counted here since the last call; a JSON value. */
  takeCounts(): unknown
  /** Adds what another process has counted. */
  addCounts(counts: unknown, now: number): void
}

/** What another process has counted: the owner and key of the state, as in `compile/policy-states.ts` and `scoped-state.ts`. */
export interface CountUpdate {
  readonly kind: 'policy' | 'scope'
  readonly owner: string
  readonly key: string
  readonly counts: unknown
}

/** What an edge tells the other processes, and what they tell it. */
export interface ExchangedCounts {
  /** What was counted here since the last call. */
  take(): CountUpdate[]
  add(updates: readonly CountUpdate[]): void
}

function isShared(state: object): state is SharedCounts {
  return 'takeCounts' in state
}

/** Knows which states have counts that the other processes do not know yet. */
export class CountExchange {
  readonly #isEnabled: boolean
  readonly #changed = new Map<SharedCounts, Omit<CountUpdate, 'counts'>>()

  /** Disabled, nothing is noted: nothing would take it. */
  constructor({ isEnabled }: { isEnabled: boolean }) {
    this.#isEnabled = isEnabled
  }

  /** Shares the counts of a state, if it has any, under a name that is the same at every process. */
  share(state: object, name: Omit<CountUpdate, 'counts'>): void {
    if (this.#isEnabled && isShared(state)) state.onCounted = () => this.#changed.set(state, name)
  }

  /** What was counted here since the last call. */
  take(): CountUpdate[] {
    const updates = [...this.#changed].map(([state, name]) => ({ ...name, counts: state.takeCounts() }))
    this.#changed.clear()
    return updates
  }

  /** Adds the counts of another process to a state of the same name; without one they are dropped. */
  add(state: object | undefined, counts: unknown, now: number): void {
    if (state !== undefined && isShared(state)) state.addCounts(counts, now)
  }
}
