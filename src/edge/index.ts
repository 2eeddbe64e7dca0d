/**
 * The public side of the server: accepts connections, routes each request or byte stream to a backend and reports what
 * happened. It knows neither store nor API: configuration arrives through `Edge.follower`. Begin with `edge.ts` (wiring,
 * start and stop), then `dispatch.ts` and `contracts/exchange.ts`, which hold the life of one request. `contracts/` is
 * what the other folders share, `errors.ts` the catalogue of errors. In the order of a connection: `listeners/` accepts
 * sockets and terminates TLS, `kubernetes/` accepts connections of clusters, `message/` parses heads and bodies without
 * I/O, `http/` is the client side of HTTP/1 and HTTP/2, `modules/`, `policy/` and `backends/` hold the behaviour of each
 * kind, `login/` signs visitors in, `upstream/` is the far side, and `response/` what the edge itself sends. `compile/`
 * turns configuration into the routing table, `stats/` counts.
 */
export { combineObservers } from './contracts/combine-observers.ts'
export { DesiredPorts } from './contracts/desired-ports.ts'
export type { Observer } from './contracts/observe.ts'
export { createServedCertificates } from './contracts/served-certificates.ts'
export { Edge } from './edge.ts'
export { type FailedSignIn, LoginService, type OauthEndpoints, type Revocation } from './login/index.ts'
export { RateLedger } from './policy/rates/rate-ledger.ts'
export { OUTBOUND_CALL_LIMITS } from './services/outbound-calls.ts'
export type { RateLease, RateLeaseRequest } from './services/rate-lease.ts'
export { TIME_BOUNDS } from './stats/response-times.ts'
export type { CountUpdate } from './stats/shared-counts.ts'
