import { fanOut } from '../../base/limits/fan-out.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Observer } from './observe.ts'

/** Combines observers; each receives only the events it wants, even if another one fails. */
export function combineObservers(log: Logger, ...observers: readonly Observer[]): Observer {
  const onError = (err: unknown) => log.error({ err }, 'traffic observer failed')
  return {
    wantsRequests: (accountId) => observers.some((observer) => observer.wantsRequests(accountId)),
    onRequest(event) {
      fanOut(
        observers,
        (observer) => observer.wantsRequests(event.accountId) && observer.onRequest(event),
        onError,
      )
    },
    wantsConnections: (accountId) => observers.some((observer) => observer.wantsConnections(accountId)),
    onConnection(event) {
      fanOut(
        observers,
        (observer) => observer.wantsConnections(event.accountId) && observer.onConnection(event),
        onError,
      )
    },
  }
}
