import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { LoginRecords, LoginRevocation } from './login-records.ts'

type RevocationListener = (revocations: readonly LoginRevocation[]) => void

const POLL_INTERVAL_MS = 400
const PURGE_INTERVAL_MS = 60_000
const PAGE_SIZE = 1000

/** Synchronises logins between nodes: what one node has used or revoked, the others reject within a second. */
export function createLoginSync(options: {
  records: LoginRecords
  clock: Clock
  log: Logger
  /** Whether this node purges expired records. */
  jobs: boolean
}) {
  const { records, clock, log } = options
  let stopped = true
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let position = 0
  let purgedAt = 0
  let degraded = false

  const loginStore = {
    consume: (id: string, until: number) => records.use(id, { now: clock.now(), until }),
    revoke: records.revoke,
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
      if (options.jobs && clock.monotonic() - purgedAt >= PURGE_INTERVAL_MS) {
        purgedAt = clock.monotonic()
        await records.purge(clock.now())
      }
      degraded = false
    } catch (error) {
      // Log once per outage: polling retries several times a second.
      if (!stopped && !degraded) log.warn({ err: error }, 'login revocations of other nodes not readable')
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
    },
  }
}
