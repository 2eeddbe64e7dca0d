import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../api/index.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { TrafficHistory } from './page-data.ts'

/** `GET /dashboard/api/traffic`: the account's traffic of the last hour on this node. */
export function mountTrafficHistory(
  http: FastifyInstance,
  {
    authenticate,
    traffic,
  }: {
    authenticate: onRequestHookHandler
    traffic: { history(accountId: string): MaybePromise<TrafficHistory> }
  },
): void {
  http.get('/dashboard/api/traffic', { onRequest: authenticate }, async (request) =>
    traffic.history(requirePrincipal(request).accountId),
  )
}
