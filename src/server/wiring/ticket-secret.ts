import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Secret } from '../../base/secret.ts'
import type { Store } from '../../store/index.ts'
import { loadOrCreateSecret } from './foundation.ts'

const PERIOD_MS = 12 * 60 * 60_000
const CHECK_MS = 60_000
const PREFIX = 'tls.tickets.'

/** What session tickets are sealed with at the moment. */
export interface TicketSecret {
  readonly current: Secret<Buffer>
  stop(): void
}

/**
 * Follows the secret of session tickets, which all processes share. A new one replaces it every 12 hours, and the earlier
 * ones are deleted: whoever gets the database and its key later cannot open recorded connections. While the database
 * cannot be reached, the last one stays.
 */
export async function followTicketSecret(
  store: Store,
  clock: Clock,
  log: Logger,
  checkMs = CHECK_MS,
): Promise<TicketSecret> {
  const nameOf = () => `${PREFIX}${Math.floor(clock.now() / PERIOD_MS)}`
  let name = nameOf()
  let current = await loadOrCreateSecret(store, name)
  const rotate = async () => {
    const due = nameOf()
    if (due === name) return
    current = await loadOrCreateSecret(store, due)
    name = due
    await store.deleteSettings(PREFIX, due)
  }
  await store.deleteSettings(PREFIX, name)
  const timer = setInterval(() => {
    rotate().catch((err) => log.warn({ err }, 'secret of TLS session tickets was not replaced'))
  }, checkMs)
  timer.unref()
  return {
    get current() {
      return current
    },
    stop: () => clearInterval(timer),
  }
}
