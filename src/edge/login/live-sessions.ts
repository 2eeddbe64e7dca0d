import { Timed } from '../../base/io/timer-wheel.ts'
import type { Exchange } from '../exchange.ts'
import type { Session } from './session.ts'

/** How often what stays open is looked at, in milliseconds. */
const EVERY_MS = 5000

/** Sessions with something open that outlives its request, such as a WebSocket: it ends when they do. */
export class OpenSessions {
  readonly #seen = new Map<string, { seen: number; users: number }>()
  readonly #versions = new Map<string, { version: string; users: number }>()

  /** A request of the session came. */
  touch(sessionId: string, at: number): void {
    const open = this.#seen.get(sessionId)
    if (open !== undefined && open.seen < at) open.seen = at
  }

  /** From now on only sessions of this version count at the place. */
  renew(place: string, version: string): void {
    const open = this.#versions.get(place)
    if (open !== undefined) open.version = version
  }

  /** Ends the exchange once its session is not alive any more; `isAlive` is told when it was last active. */
  watch(exchange: Exchange, { id, place, version, seen }: Session, isAlive: (seen: number) => boolean): void {
    const session = this.#seen.get(id) ?? { seen, users: 0 }
    const current = this.#versions.get(place) ?? { version, users: 0 }
    this.#seen.set(id, session)
    this.#versions.set(place, current)
    session.users++
    current.users++
    const check = new Check(exchange, () => current.version === version && isAlive(session.seen))
    check.arm()
    exchange.whenFinished(() => {
      exchange.core.deadlines.clear(check)
      if (--session.users === 0) this.#seen.delete(id)
      if (--current.users === 0) this.#versions.delete(place)
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
