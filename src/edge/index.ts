/**
 * The public side of the server: accepts connections, routes each request or byte stream to a backend and reports what
 * happened. It may use `base`, `resources`, `certs` and `sessions`, never `store` or `api`: configuration arrives through
 * `Edge.follower`. Begin with `edge.ts` (wiring, start and stop), then `dispatch.ts` and `exchange.ts`, which hold the
 * life of one request. The files beside them are the contracts: `core.ts` (state shared by all connections), `table.ts`
 * (the routing table), `module.ts`, `backend.ts`, `connection.ts`, `errors.ts` (the error catalogue), `response.ts`,
 * `observe.ts`, `limits.ts` and `traffic.ts`. The folders: `listeners` accepts sockets and terminates TLS, `message`
 * parses heads and bodies without I/O, `http` is the client side of HTTP/1 and HTTP/2, `upstream` the far side,
 * `kubernetes` accepts connections of clusters, `compile` turns configuration into the routing table, `modules` and
 * `backends` hold the behaviour of each kind, `login` signs visitors in, and `testing` holds the test harness.
 */
export { combineObservers } from './contracts/combine-observers.ts'
export { DesiredPorts } from './contracts/desired-ports.ts'
export type { Observer } from './contracts/observe.ts'
export { createServedCertificates } from './contracts/served-certificates.ts'
export { createEdge, type Edge } from './edge.ts'
export {
  createLogins,
  type FailedSignIn,
  type LoginService,
  type OauthEndpoints,
  type Revocation,
} from './login/index.ts'
export { OUTBOUND_CALL_LIMITS } from './policy/outbound-calls.ts'
export type { RateLease, RateLeaseRequest, TakeRateLease } from './policy/rates/rate-lease.ts'
export { RateLedger } from './policy/rates/rate-ledger.ts'
export { TIME_BOUNDS } from './stats/response-times.ts'
export type { CountUpdate } from './stats/shared-counts.ts'
