import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Ending, LoginLedger } from '../edge/index.ts'
import type { LoginRecords } from '../store/index.ts'

type Hear = (endings: readonly Ending[]) => void

const LOOK_MS = 400
const PURGE_MS = 60_000
const PAGE = 1000

/** Lets nodes know of each other's log-ins: what one has used or ended, the others refuse within a second. */
export function createSharedLogins(options: {
  records: LoginRecords
  clock: Clock
  log: Logger
  /** Whether this node removes what has expired. */
  jobs: boolean
}) {
  const { records, clock, log } = options
  let stopped = true
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let known = 0
  let purgedAt = 0
  let interrupted = false

  const ledger: LoginLedger = {
    use: (id, until) => records.use(id, { now: clock.now(), until }),
    end: records.end,
  }

  async function catchUp(hear: Hear): Promise<void> {
    for (;;) {
      const { endings, number, more } = await records.endingsAfter(known, PAGE)
      known = number
      if (endings.length > 0) hear(endings)
      if (!more) return
      // The embedded engine answers without waiting: others get their turn here.
      await new Promise(setImmediate)
    }
  }

  async function look(hear: Hear): Promise<void> {
    try {
      await catchUp(hear)
      if (options.jobs && clock.monotonic() - purgedAt >= PURGE_MS) {
        purgedAt = clock.monotonic()
        await records.purge(clock.now())
      }
      interrupted = false
    } catch (error) {
      // Once for each outage, since this is tried again several times a second.
      if (!stopped && !interrupted)
        log.warn({ err: error }, 'sign-outs of other nodes cannot be read for now')
      interrupted = true
    }
  }

  function plan(hear: Hear): void {
    timer = setTimeout(() => {
      looking = look(hear).then(() => {
        if (!stopped) plan(hear)
      })
    }, LOOK_MS)
    timer.unref()
  }

  return {
    ledger,

    /** Tells of everything that was ended so far before it resolves, then of each ending as it comes. */
    async start(hear: Hear): Promise<void> {
      stopped = false
      purgedAt = clock.monotonic()
      await catchUp(hear)
      plan(hear)
    },

    async stop(): Promise<void> {
      stopped = true
      clearTimeout(timer)
      await looking
    },
  }
}
