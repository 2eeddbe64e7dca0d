import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'

/**
 * Compares the identity of this node's history with those of its peers. Nodes that differ for long use different databases, as
 * after a failover that not all of them have followed: each goes on, and what they accept is never put together again.
 */
export class HistoryComparison {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #toleranceMs: number
  readonly #differing = new Map<string, { readonly pair: string; readonly since: number }>()
  #splitFrom: string | undefined

  /** `toleranceMs`: nodes of one database differ until both have looked again. */
  constructor({ clock, log, toleranceMs }: { clock: Clock; log: Logger; toleranceMs: number }) {
    this.#clock = clock
    this.#log = log
    this.#toleranceMs = toleranceMs
  }

  /** The peer that uses another database; undefined when there is none. */
  get splitFrom(): string | undefined {
    return this.#splitFrom
  }

  /** The histories are empty where a database is unavailable. */
  compare(own: string, peers: Iterable<readonly [id: string, history: string]>): void {
    const now = this.#clock.monotonic()
    const linked = new Set<string>()
    let splitFrom: string | undefined
    for (const [id, history] of peers) {
      linked.add(id)
      const pair = `${own} ${history}`
      const known = this.#differing.get(id)
      if (own === '' || history === '' || own === history) this.#differing.delete(id)
      else if (known?.pair !== pair) this.#differing.set(id, { pair, since: now })
      else if (now - known.since >= this.#toleranceMs) splitFrom = id
    }
    for (const id of this.#differing.keys()) if (!linked.has(id)) this.#differing.delete(id)
    if (splitFrom !== undefined && this.#splitFrom === undefined)
      this.#log.error({ node: splitFrom }, 'a peer uses another database: their changes are not put together')
    else if (splitFrom === undefined && this.#splitFrom !== undefined)
      this.#log.info('all peers use the same database again')
    this.#splitFrom = splitFrom
  }
}
