import { Timed } from '../../base/deadlines.ts'
import type { Exchange } from '../exchange.ts'

/** How often what stays open is looked at, in milliseconds. */
const EVERY_MS = 5000

/** Sessions with something open that outlives its request, such as a WebSocket: it ends when they do. */
export class OpenSessions {
  readonly #seen = new Map<string, { seen: number; users: number }>()

  /** A request of the session came. */
  touch(sessionId: string, at: number): void {
    const open = this.#seen.get(sessionId)
    if (open !== undefined && open.seen < at) open.seen = at
  }

  /** Ends the exchange once the session is not alive any more; `isAlive` is told when it was last active. */
  watch(exchange: Exchange, sessionId: string, at: number, isAlive: (seen: number) => boolean): void {
    const open = this.#seen.get(sessionId) ?? { seen: at, users: 0 }
    this.#seen.set(sessionId, open)
    open.users++
    const check = new Check(exchange, () => isAlive(open.seen))
    check.arm()
    exchange.whenFinished(() => {
      exchange.core.deadlines.clear(check)
      if (--open.users === 0) this.#seen.delete(sessionId)
    })
  }
}

class Check extends Timed {
  readonly #exchange: Exchange
  readonly #isAlive: () => boolean

  constructor(exchange: Exchange, isAlive: () => boolean) {
    super()
    this.#exchange = exchange
    this.#isAlive = isAlive
  }

  arm(): void {
    const { deadlines } = this.#exchange.core
    deadlines.set(this, deadlines.ticks(EVERY_MS))
  }

  onDeadline(): void {
    if (this.#isAlive()) this.arm()
    else this.#exchange.breakOff()
  }
}
