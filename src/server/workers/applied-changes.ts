import type { Commit } from '../../store/index.ts'

/** A process that takes longer is not waited for until it has caught up. */
const MAX_WAIT_MS = 3_000
/** Commits that are kept for a process that does not keep up; it reads more of them from the database. */
const MAX_COMMITS = 100

/** Has a process apply what was committed, and knows how far it is. */
export class AppliedChanges {
  readonly #apply: (commits: readonly Commit[] | null) => Promise<unknown>
  readonly #maxWaitMs: number
  readonly #waiting = new Set<{ readonly commit: number; resolve(): void }>()
  /** Since the last application; null when the process has to look for itself. */
  #commits: Commit[] | null = []
  #committed = 0
  #applied = 0
  #isRunning = false
  #isLate = false

  /** `apply` resolves once the process has applied these commits, or all that was committed when it was called. */
  constructor(
    apply: (commits: readonly Commit[] | null) => Promise<unknown>,
    { maxWaitMs = MAX_WAIT_MS }: { maxWaitMs?: number } = {},
  ) {
    this.#apply = apply
    this.#maxWaitMs = maxWaitMs
  }

  /** Called after each commit. Those that come while others are applied are applied together. */
  notify(...commits: readonly Commit[]): void {
    this.#commits?.push(...commits)
    if (this.#commits !== null && this.#commits.length > MAX_COMMITS) this.#commits = null
    this.#start()
  }

  /** The process may not have heard of some commits. */
  notifyAll(): void {
    this.#commits = null
    this.#start()
  }

  #start(): void {
    this.#committed += 1
    if (!this.#isRunning) void this.#run()
  }

  /** Resolves once the process has applied what is committed now, or has taken too long. */
  async wait(): Promise<void> {
    if (this.#applied === this.#committed || this.#isLate) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { commit: this.#committed, resolve }
    this.#waiting.add(waiter)
    const timer = setTimeout(() => {
      this.#isLate = true
      this.#resolve(this.#committed)
    }, this.#maxWaitMs)
    await promise
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#applied < this.#committed) {
      const commit = this.#committed
      const commits = this.#commits
      this.#commits = []
      const isApplied = await this.#apply(commits).then(
        () => true,
        () => false,
      )
      // It polls the database too; nothing is gained by trying again.
      if (!isApplied) this.#isLate = true
      else if (commit === this.#committed) this.#isLate = false
      this.#applied = commit
      this.#resolve(this.#isLate ? this.#committed : commit)
    }
    this.#isRunning = false
  }

  #resolve(upTo: number): void {
    for (const waiter of this.#waiting) {
      if (waiter.commit > upTo) continue
      this.#waiting.delete(waiter)
      waiter.resolve()
    }
  }
}
