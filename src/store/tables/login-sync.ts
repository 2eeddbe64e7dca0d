import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { SessionActivity, StartedSession } from '../../resources/index.ts'
import type { DatabaseWatch } from '../engine/database-watch.ts'
import type { ApplicationSessions } from './application-sessions.ts'
import type { LoginRecords, LoginRevocation } from './login-records.ts'
import { SessionInbox } from './session-inbox.ts'

type RevocationListener = (revocations: readonly LoginRevocation[]) => void

/** Where revocations act. */
interface RevocationTargets {
  /** Applies them in this process. */
  apply: RevocationListener
  /** Tells the other processes; resolves once they have applied them, or are too slow. */
  publish(revocation: LoginRevocation): Promise<void>
}

/** The logins of a process, synchronised with those of the others. */
export type LoginSync = ReturnType<typeof createLoginSync>

const POLL_INTERVAL_MS = 400
const PURGE_INTERVAL_MS = 600_000
const PAGE_SIZE = 1000

/**
 * Synchronises logins between nodes: what one node has used or revoked, the others reject. A revocation is published to
 * them before it is confirmed; those that were not linked read it from the database at once. Sessions that visitors start here
 * are written several times a second.
 */
export function createLoginSync(options: {
  records: LoginRecords
  sessions: ApplicationSessions
  clock: Clock
  log: Logger
  /** Shows that there are new revocations. */
  watch: Pick<DatabaseWatch, 'follow'>
  /** Whether this node purges expired records. */
  jobs: boolean
}) {
  const { records, sessions, watch, clock, log } = options
  const inbox = new SessionInbox(sessions, log)
  let targets: RevocationTargets | undefined
  let stopped = true
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let position = 0
  /** The number of the newest revocation in the database. */
  let newest = 0
  let following: { stop(): void } | undefined
  let purgedAt = 0
  let degraded = false

  const loginStore = {
    consume: (id: string, expiresAt: number) => records.use(id, { now: clock.now(), expiresAt }),
    async revoke(revocation: LoginRevocation) {
      await records.revoke(revocation)
      await announce(revocation)
    },
    recordSession: (session: StartedSession) => inbox.addSession(session),
    recordActivity: (activity: SessionActivity) => inbox.addActivity(activity),
  }

  /** The sessions of visitors as the API lists and ends them. */
  const applicationSessions = {
    users: sessions.users,
    sessions: sessions.sessions,
    /** Ends a session everywhere; false when there is none. */
    endSession: async (account: string, id: string) => announce(await sessions.endSession(account, id)),
    /** Ends all sessions of a user everywhere and forgets the user; false when there is none. */
    removeUser: async (account: string, id: string) =>
      announce(await sessions.removeUser(account, id, clock.now())),
  }

  /** Applies a stored revocation in all processes; false when there is none. */
  async function announce(revocation: LoginRevocation | undefined): Promise<boolean> {
    if (revocation === undefined) return false
    targets?.apply([revocation])
    await targets?.publish(revocation)
    return true
  }

  async function catchUp(onRevoked: RevocationListener): Promise<void> {
    for (;;) {
      const { revocations, number, more } = await records.revocationsAfter(position, PAGE_SIZE)
      position = number
      if (revocations.length > 0) onRevoked(revocations)
      if (!more) return
      // The embedded engine responds synchronously: yield to the event loop between pages.
      await new Promise(setImmediate)
    }
  }

  async function poll(onRevoked: RevocationListener): Promise<void> {
    try {
      if (newest !== position) await catchUp(onRevoked)
      await inbox.flush()
      if (options.jobs && clock.monotonic() - purgedAt >= PURGE_INTERVAL_MS) {
        purgedAt = clock.monotonic()
        await records.purge(clock.now())
      }
      degraded = false
    } catch (error) {
      // Log once per outage: polling retries several times a second.
      if (!stopped && !degraded) log.warn({ err: error }, 'logins not synchronised with other nodes')
      degraded = true
    }
  }

  function schedulePoll(onRevoked: RevocationListener, ms = POLL_INTERVAL_MS): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = undefined
      polling = poll(onRevoked).then(() => {
        if (!stopped) schedulePoll(onRevoked)
      })
    }, ms)
    timer.unref()
  }

  return {
    loginStore,
    applicationSessions,

    /** Applies all existing revocations before it resolves, then new ones as they arrive. */
    async start(revocationTargets: RevocationTargets): Promise<void> {
      targets = revocationTargets
      stopped = false
      purgedAt = clock.monotonic()
      const { apply } = targets
      await catchUp(apply)
      schedulePoll(apply)
      following = watch.follow(({ revocations }) => {
        newest = revocations
        // After a poll that is under way comes another one.
        if (newest !== position && timer !== undefined) schedulePoll(apply, 0)
      })
    },

    async stop(): Promise<void> {
      stopped = true
      following?.stop()
      clearTimeout(timer)
      await polling
      await inbox
        .flush()
        .catch((error: unknown) => log.warn({ err: error }, 'sessions of visitors not recorded'))
    },
  }
}
