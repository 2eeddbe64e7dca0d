import { fanOut } from '../base/fan-out.ts'
import type { Logger } from '../base/log.ts'
import type { Observer } from '../edge/index.ts'

/** Several observers as one; each is told only of what it wants, whatever becomes of the others. */
export function observers(log: Logger, ...observers: readonly Observer[]): Observer {
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

/** Several listeners as one, each told of every event, whatever becomes of the others. */
export function listeners<E>(log: Logger, listeners: readonly ((event: E) => void)[]): (event: E) => void {
  const onError = (err: unknown) => log.error({ err }, 'listener failed')
  return (event) => fanOut(listeners, (listener) => listener(event), onError)
}
