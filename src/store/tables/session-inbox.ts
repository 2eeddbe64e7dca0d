import type { Logger } from '../../base/process/log.ts'
import type { SessionActivity, StartedSession } from '../../resources/index.ts'
import type { ApplicationSessions } from './application-sessions.ts'

const MAX_PENDING = 10_000
const BATCH_SIZE = 500

/**
 * Buffers what the edge reports of visitors' sessions, so that no request waits for the database. It is written in
 * batches, and kept while the database is unavailable.
 */
export class SessionInbox {
  readonly #sessions: Pick<ApplicationSessions, 'record'>
  readonly #log: Logger
  #started: StartedSession[] = []
  readonly #activity = new Map<string, SessionActivity>()
  #dropped = 0

  constructor(sessions: Pick<ApplicationSessions, 'record'>, log: Logger) {
    this.#sessions = sessions
    this.#log = log
  }

  addSession(session: StartedSession): void {
    if (this.#started.length < MAX_PENDING) this.#started.push(session)
    else this.#dropped++
  }

  /** Only the last activity of a session counts. */
  addActivity(activity: SessionActivity): void {
    if (this.#activity.size < MAX_PENDING || this.#activity.has(activity.id))
      this.#activity.set(activity.id, activity)
  }

  /** Writes everything. What was not written when it throws is written by the next flush. */
  async flush(): Promise<void> {
    if (this.#dropped > 0) this.#log.warn({ count: this.#dropped }, 'sessions of visitors not recorded')
    this.#dropped = 0
    while (this.#started.length > 0 || this.#activity.size > 0) {
      const started = this.#started.slice(0, BATCH_SIZE)
      const activity = [...this.#activity.values()].slice(0, BATCH_SIZE)
      await this.#sessions.record(started, activity)
      this.#started = this.#started.slice(started.length)
      for (const written of activity)
        if (this.#activity.get(written.id) === written) this.#activity.delete(written.id)
    }
  }
}
