import { fanOut } from '../base/fan-out.ts'
import type { Logger } from '../base/log.ts'
import type { Observer } from '../edge/index.ts'

/** Several observers as one; each is told only of what it wants, whatever becomes of the others. */
export function observers(log: Logger, ...all: readonly Observer[]): Observer {
  const onError = (err: unknown) => log.error({ err }, 'traffic observer failed')
  return {
    wantsRequests: (accountId) => all.some((one) => one.wantsRequests(accountId)),
    onRequest(event) {
      fanOut(all, (one) => one.wantsRequests(event.accountId) && one.onRequest(event), onError)
    },
    wantsConnections: (accountId) => all.some((one) => one.wantsConnections(accountId)),
    onConnection(event) {
      fanOut(all, (one) => one.wantsConnections(event.accountId) && one.onConnection(event), onError)
    },
  }
}

/** Several listeners as one, each told of every event, whatever becomes of the others. */
export function listeners<E>(log: Logger, all: readonly ((event: E) => void)[]): (event: E) => void {
  const onError = (err: unknown) => log.error({ err }, 'listener failed')
  return (event) => fanOut(all, (listener) => listener(event), onError)
}
