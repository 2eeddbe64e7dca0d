import type { Observer } from '../edge/index.ts'

/** Several observers as one; each is told only of what it wants. */
export function observers(...all: readonly Observer[]): Observer {
  return {
    wantsRequests: (accountId) => all.some((one) => one.wantsRequests(accountId)),
    onRequest(event) {
      for (const one of all) if (one.wantsRequests(event.accountId)) one.onRequest(event)
    },
    wantsConnections: (accountId) => all.some((one) => one.wantsConnections(accountId)),
    onConnection(event) {
      for (const one of all) if (one.wantsConnections(event.accountId)) one.onConnection(event)
    },
  }
}
