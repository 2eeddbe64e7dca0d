import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Ending, LoginLedger } from '../edge/index.ts'
import type { LoginRecords } from '../store/index.ts'

type RevocationListener = (endings: readonly Ending[]) => void

const POLL_INTERVAL_MS = 400
const PURGE_INTERVAL_MS = 60_000
const PAGE_SIZE = 1000

/** Lets nodes know of each other's log-ins: what one has used or ended, the others refuse within a second. */
export function createLoginSync(options: {
  records: LoginRecords
  clock: Clock
  log: Logger
  /** Whether this node removes what has expired. */
  jobs: boolean
}) {
  const { records, clock, log } = options
  let stopped = true
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let position = 0
  let purgedAt = 0
  let degraded = false

  const loginStore: LoginLedger = {
    use: (id, until) => records.use(id, { now: clock.now(), until }),
    end: records.end,
  }

  async function catchUp(onRevoked: RevocationListener): Promise<void> {
    for (;;) {
      const { endings, number, more } = await records.endingsAfter(position, PAGE_SIZE)
      position = number
      if (endings.length > 0) onRevoked(endings)
      if (!more) return
      // The embedded engine answers without waiting: others get their turn here.
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
      // Once for each outage, since this is tried again several times a second.
      if (!stopped && !degraded) log.warn({ err: error }, 'sign-outs of other nodes cannot be read for now')
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
    ledger: loginStore,

    /** Tells of everything that was ended so far before it resolves, then of each ending as it comes. */
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
