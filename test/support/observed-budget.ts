import { WindowBudget } from '../../src/base/io/memory/window-budget.ts'

/** Remembers the largest share that was taken of it. */
export class ObservedBudget extends WindowBudget {
  maxShare = 0
  #freeAtStart: number

  constructor(bytes?: number) {
    super(bytes)
    this.#freeAtStart = this.free
  }

  override release(bytes: number): void {
    super.release(bytes)
    this.maxShare = Math.max(this.maxShare, this.#freeAtStart - this.free)
  }
}
