import { randomBytes } from 'node:crypto'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
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
 * ones are deleted, so that a thief of the database and its key cannot decrypt connections recorded earlier. While the
 * database cannot be reached, the last one stays.
 */
export async function followTicketSecret(
  store: Store,
  clock: Clock,
  log: Logger,
  checkMs = CHECK_MS,
): Promise<TicketSecret> {
  let name: string | undefined
  // A server that starts without its database seals tickets that it alone can open.
  let current: Secret<Buffer> = new Secret(randomBytes(32))
  const rotate = async () => {
    const due = `${PREFIX}${Math.floor(clock.now() / PERIOD_MS)}`
    if (due === name) return
    current = await loadOrCreateSecret(store, due)
    name = due
    await store.deleteSettings(PREFIX, due)
  }
  const rotateOrWarn = () =>
    rotate().catch((err) => log.warn({ err }, 'secret of TLS session tickets was not replaced'))
  await rotateOrWarn()
  const timer = setInterval(rotateOrWarn, checkMs)
  timer.unref()
  return {
    get current() {
      return current
    },
    stop: () => clearInterval(timer),
  }
}
