import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../../api/index.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import type { CountryCount, TrafficHistory } from '../page-data.ts'

/** The traffic of this node that the pages ask for; `MaybePromise` because workers may count it. */
export interface TrafficSource {
  history(accountId: string): MaybePromise<TrafficHistory>
  countries(accountId: string): MaybePromise<readonly CountryCount[]>
}

/**
 * `GET /dashboard/api/traffic`: the account's traffic of the last hour on this node, and `GET /dashboard/api/countries`:
 * where its clients are.
 */
export function mountTrafficHistory(
  http: FastifyInstance,
  {
    authenticate,
    traffic,
  }: {
    authenticate: onRequestHookHandler
    traffic: TrafficSource
  },
): void {
  http.get('/dashboard/api/traffic', { onRequest: authenticate }, async (request) =>
    traffic.history(requirePrincipal(request).accountId),
  )
  http.get('/dashboard/api/countries', { onRequest: authenticate }, async (request) => ({
    countries: await traffic.countries(requirePrincipal(request).accountId),
  }))
}
