import { TimerEntry } from '../../../base/io/memory/timer-wheel.ts'
import type { Exchange } from '../../contracts/exchange.ts'
import type { Session } from './session.ts'

/** How often open exchanges are revalidated. */
const CHECK_INTERVAL_MS = 5000

/** Closes exchanges that outlive their request, such as WebSockets, when their session ends. */
export class LiveSessions {
  readonly #activity = new Map<string, { seen: number; watchers: number }>()
  readonly #versions = new Map<string, { version: string; watchers: number }>()
  readonly #checks = new Set<SessionCheck>()

  /** Records a request of the session. */
  touch(sessionId: string, seconds: number): void {
    const entry = this.#activity.get(sessionId)
    if (entry !== undefined && entry.seen < seconds) entry.seen = seconds
  }

  /** Invalidates sessions of other versions in this scope. */
  setVersion(scopeId: string, version: string): void {
    const entry = this.#versions.get(scopeId)
    if (entry !== undefined) entry.version = version
  }

  /** Revalidates all exchanges at once, after sessions were revoked. */
  recheck(): void {
    for (const check of this.#checks) check.onDeadline()
  }

  /** Aborts the exchange once its session has ended. `isAlive` receives the time of the last activity. */
  watch(
    exchange: Exchange,
    { id, scopeId, version, seen }: Session,
    isAlive: (seen: number) => boolean,
  ): void {
    const session = this.#activity.get(id) ?? { seen, watchers: 0 }
    const current = this.#versions.get(scopeId) ?? { version, watchers: 0 }
    this.#activity.set(id, session)
    this.#versions.set(scopeId, current)
    session.watchers++
    current.watchers++
    const check = new SessionCheck(exchange, () => current.version === version && isAlive(session.seen))
    check.arm()
    this.#checks.add(check)
    exchange.onFinish(() => {
      this.#checks.delete(check)
      exchange.runtime.timers.clear(check)
      if (--session.watchers === 0) this.#activity.delete(id)
      if (--current.watchers === 0) this.#versions.delete(scopeId)
    })
  }
}

class SessionCheck extends TimerEntry {
  readonly #exchange: Exchange
  readonly #isAlive: () => boolean

  constructor(exchange: Exchange, isAlive: () => boolean) {
    super()
    this.#exchange = exchange
    this.#isAlive = isAlive
  }

  arm(): void {
    const { timers } = this.#exchange.runtime
    timers.set(this, timers.ticks(CHECK_INTERVAL_MS))
  }

  onDeadline(): void {
    if (this.#isAlive()) this.arm()
    else this.#exchange.abort()
  }
}
