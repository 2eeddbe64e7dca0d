/**
 * Collects what has to be undone, and undoes it in the reverse order. Every step runs, whatever the others throw. Node 22 has
 * no `AsyncDisposableStack`.
 */
export class CleanupStack {
  readonly #steps: (() => unknown)[] = []

  /** Registers a step that runs before those registered until now. */
  defer(step: () => unknown): void {
    this.#steps.push(step)
  }

  /** Runs every step once, each after the former has ended. Rejects with what they threw. */
  async run(): Promise<void> {
    const errors: unknown[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, 'several steps of a cleanup failed')
    if (errors.length > 0) throw errors[0]
  }
}
