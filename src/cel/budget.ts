import { CostExceeded } from './values.ts'

/** What takes units for work: about 50 nanoseconds each. */
export interface Meter {
  /** Throws `CostExceeded` when no units are left. */
  charge(units: number): void
}

/** What one evaluation may cost without a budget that it shares: about a millisecond of work. */
const EVALUATION_UNITS = 20_000

/** The units that one or several evaluations may take together. Once it is spent it stays so. */
export class Budget implements Meter {
  #left: number
  readonly #message: string

  constructor(units = EVALUATION_UNITS, message = 'the expression takes too long') {
    this.#left = units
    this.#message = message
  }

  charge(units: number): void {
    this.#left -= units
    if (this.#left < 0) throw new CostExceeded(this.#message)
  }
}
