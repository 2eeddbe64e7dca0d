import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { SessionActivity, StartedSession } from '../resources/index.ts'
import type { ApplicationSessions } from './application-sessions.ts'
import type { LoginRecords, LoginRevocation } from './login-records.ts'
import { SessionInbox } from './session-inbox.ts'

type RevocationListener = (revocations: readonly LoginRevocation[]) => void

const POLL_INTERVAL_MS = 400
const PURGE_INTERVAL_MS = 60_000
const PAGE_SIZE = 1000

/**
 * Synchronises logins between nodes: what one node has used or revoked, the others reject within a second. Sessions that
 * visitors start here are written with the same rhythm.
 */
export function createLoginSync(options: {
  records: LoginRecords
  sessions: Pick<ApplicationSessions, 'record'>
  clock: Clock
  log: Logger
  /** Whether this node purges expired records. */
  jobs: boolean
}) {
  const { records, clock, log } = options
  const inbox = new SessionInbox(options.sessions, log)
  let stopped = true
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let position = 0
  let purgedAt = 0
  let degraded = false

  const loginStore = {
    consume: (id: string, expiresAt: number) => records.use(id, { now: clock.now(), expiresAt }),
    revoke: records.revoke,
    recordSession: (session: StartedSession) => inbox.addSession(session),
    recordActivity: (activity: SessionActivity) => inbox.addActivity(activity),
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
      await catchUp(onRevoked)
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

  function schedulePoll(onRevoked: RevocationListener): void {
    timer = setTimeout(() => {
      polling = poll(onRevoked).then(() => {
        if (!stopped) schedulePoll(onRevoked)
      })
    }, POLL_INTERVAL_MS)
    timer.unref()
  }

  return {
    loginStore,

    /** Delivers all existing revocations before it resolves, then new ones as they arrive. */
    async start(onRevoked: RevocationListener): Promise<void> {
      stopped = false
      purgedAt = clock.monotonic()
      await catchUp(onRevoked)
      schedulePoll(onRevoked)
    },

    async stop(): Promise<void> {
      stopped = true
      clearTimeout(timer)
      await polling
      await inbox
        .flush()
        .catch((error: unknown) => log.warn({ err: error }, 'sessions of visitors not recorded'))
    },
  }
}
