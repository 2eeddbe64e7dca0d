import { publicUrl } from '../base/values/hostport.ts'
import { isEdgeResponse, MAX_ATTEMPTS, type UpstreamTarget } from './contracts/backend.ts'
import type { Exchange } from './contracts/exchange.ts'
import { MAX_FORWARDS, type StepResult } from './contracts/module.ts'
import type { ClusterServiceLookup } from './contracts/runtime.ts'
import type { HttpHost, HttpRoute } from './contracts/table.ts'
import { requiresClientCertificate } from './contracts/tls-policy.ts'
import { TunnelBusy } from './contracts/tunnels.ts'
import { hideSharedSessions } from './cookies.ts'
import { EdgeError, edgeError } from './errors.ts'
import { type EdgeResponse, redirect } from './response/response.ts'

const CHALLENGE_PATH = '/.well-known/acme-challenge/'

const READINESS_PATH = '/readyz'
const PROBE_FIELDS = 'Content-Type: application/json\r\nCache-Control: no-store\r\n'

/** Shared, so that a request allocates no list of its own before something fails. */
const NONE_FAILED: readonly UpstreamTarget[] = []

/**
 * How long the request of a lost connection waits for the successor of its tunnel. The processes of a release end together,
 * and over the next leg the request, which is resent once only, would be lost again.
 */
const RECOVERY_MS = 100
/** While no leg is left, it waits as often again: nothing is sent meanwhile. */
const MAX_RECOVERIES = 20

/**
 * Routes one request: finds the host it is for, checks the connection's TLS policy, runs the steps of its route and
 * connects it to the selected backend. A route without asynchronous steps runs synchronously and creates no promise.
 */
export function dispatch(exchange: Exchange): void {
  try {
    const { runtime, connection, head } = exchange
    const isPublicHttp = connection.scheme !== 'https' && connection.service === undefined
    if (isPublicHttp && runtime.acmeChallenge !== undefined && head.target.startsWith(CHALLENGE_PATH)) {
      const proof = runtime.acmeChallenge(head.target.slice(CHALLENGE_PATH.length), head.host)
      if (proof !== undefined) {
        exchange.respondWith({
          status: 200,
          fields: 'Content-Type: text/plain\r\n',
          body: Buffer.from(proof),
        })
        return
      }
    }
    const httpHost = findHost(exchange, 'next')
    if (httpHost === undefined) {
      // No visitor's endpoint loses its own path.
      if (!isPublicHttp || runtime.readiness === undefined || head.target !== READINESS_PATH)
        throw edgeError('endpoint_not_found', head.host)
      const { status, body } = runtime.readiness()
      exchange.respondWith({ status, fields: PROBE_FIELDS, body: Buffer.from(JSON.stringify(body)) })
      return
    }
    if (connection.tlsAtProxy === true) {
      if (requiresClientCertificate(httpHost.tlsPolicy?.settings))
        throw edgeError('certificate_at_proxy', head.host)
    } else if (
      httpHost.tlsPolicy !== connection.tlsPolicy &&
      httpHost.tlsPolicy?.key !== connection.tlsPolicy?.key
    ) {
      // Checked on every request: a connection may be kept alive or shared by several names (P33).
      exchange.disableKeepAlive()
      throw edgeError('misdirected', head.host)
    }
    exchange.httpHost = httpHost
    httpHost.traffic.requests++
    // Once for a connection, unless its requests alternate between accounts.
    if (connection.countedBy !== httpHost.traffic) runtime.traffic.countClient(httpHost.traffic, connection)
    if (runtime.observer?.wantsRequests(httpHost.accountId) === true) {
      exchange.trace = {
        startedAt: runtime.clock.now(),
        requestBodyLength: 0,
        responseBodyLength: 0,
        responseFields: '',
        connectionReused: false,
        tunnelId: '',
        annotations: {},
      }
    }
    if (httpHost.redirectToHttps) {
      const url = publicUrl('https', head.host, runtime.publicHttpsPort)
      exchange.respondWith(redirect(307, url + (head.target === '*' ? '/' : head.target)))
      return
    }
    const route = httpHost.routeFor(head.target)
    exchange.route = route
    route.counters.requests++
    if (route.connectionSteps !== undefined) for (const step of route.connectionSteps) step(connection)
    runSteps(exchange, route, 0)
  } catch (error) {
    exchange.fail(error)
  }
}

/** The host that serves a request: that of its Host field, or of the service in a cluster that its client connected to. */
function findHost(
  { runtime, connection, head }: Exchange,
  look: keyof ClusterServiceLookup,
): HttpHost | undefined {
  const { service, scheme } = connection
  if (service === undefined) return runtime.table.http(scheme === 'https' ? 'https' : 'http', head.host)
  const httpHost = runtime.clusterServices[look](service)
  return httpHost?.kind === 'http' ? httpHost : undefined
}

/**
 * Whether an exchange in flight may continue after the configuration changed. A deny ends it, and so does a host that now
 * requires other client certificates. A request whose host or path is merely no longer served may finish; a WebSocket,
 * which might never finish, may not.
 */
export function isStillAdmitted(exchange: Exchange): boolean {
  const { connection, head, upgrading } = exchange
  const httpHost = findHost(exchange, 'current')
  // An operator may have been deleted, or no longer select the endpoint.
  if (httpHost === undefined) return !upgrading && connection.service === undefined
  if (connection.tlsAtProxy === true) {
    if (requiresClientCertificate(httpHost.tlsPolicy?.settings)) return false
  } else if (httpHost.tlsPolicy?.key !== connection.tlsPolicy?.key) {
    if (upgrading || requiresClientCertificate(httpHost.tlsPolicy?.settings)) return false
  }
  try {
    for (const step of httpHost.routeFor(head.target).connectionSteps ?? []) step(connection)
    return true
  } catch (error) {
    return error instanceof EdgeError && error.name === 'route_not_found' && !upgrading
  }
}

/** Selects a target of the route's backend and connects the exchange to it. */
function forward(exchange: Exchange, route: HttpRoute): void {
  const target = route.backend(exchange, NONE_FAILED)
  if (target === undefined) throw edgeError('no_backend', exchange.head.host)
  hideSharedSessions(exchange)
  connect(exchange, target, false)
}

function connect(exchange: Exchange, target: UpstreamTarget | EdgeResponse, fresh: boolean): void {
  if (isEdgeResponse(target)) {
    exchange.respondWith(target)
    return
  }
  try {
    exchange.upstream = target.pool.connect(exchange, target, fresh)
  } catch (error) {
    // Nothing was sent, so that another target may get the request.
    const next = cannotOpen(error) ? selectNextTarget(exchange, target) : undefined
    if (next === undefined) throw error
    connect(exchange, next, fresh)
    return
  }
  if (exchange.trace !== undefined) {
    exchange.trace.connectionReused = exchange.upstream.reused
    exchange.trace.tunnelId = target.tunnelId ?? ''
  }
  exchange.heldBody?.sendTo(exchange.upstream)
}

/** Whether a target had no connection to offer: its agent is at its limit, or has gone. */
function cannotOpen(error: unknown): boolean {
  return error instanceof TunnelBusy || (error instanceof EdgeError && error.name === 'agent_offline')
}

/**
 * Retries an exchange whose upstream failed before it responded, where that is safe: on a new connection when a pooled
 * one was `stale`, with the next target after `dial_failed` and, once, after `no_response`; after `connection_lost`, of
 * the agent and not of its upstream, after a moment over another leg if there is no next target. Rejects with `error` otherwise.
 */
export function retry(
  exchange: Exchange,
  target: UpstreamTarget,
  reason: 'stale' | 'dial_failed' | 'no_response' | 'connection_lost',
  error: EdgeError,
): void {
  if (exchange.ended) return
  exchange.upstream = undefined
  try {
    if (exchange.responded || exchange.bodySent) throw error
    if (reason !== 'dial_failed') {
      // The upstream may have received the request, so it is resent once at most (P31).
      if (exchange.resent) throw error
      exchange.resent = true
    }
    const nextTarget = reason === 'stale' ? target : selectNextTarget(exchange, target)
    if (nextTarget === undefined && reason === 'connection_lost') {
      setTimeout(() => resendTo(exchange, target, 1), RECOVERY_MS)
      return
    }
    if (nextTarget === undefined) {
      if (exchange.onUnreachable === undefined) throw error
      exchange.onUnreachable(error)
      return
    }
    connect(exchange, nextTarget, true)
    exchange.resumeBody()
  } catch (err) {
    exchange.fail(err)
  }
}

/** Sends the request of a lost connection again: to the tunnel that has replaced this target by now, or over another leg. */
function resendTo(exchange: Exchange, target: UpstreamTarget, recoveries: number): void {
  if (exchange.ended) return
  try {
    const successor = exchange.route?.backend(exchange, exchange.failedTargets ?? NONE_FAILED)
    connect(exchange, successor ?? target, true)
    exchange.resumeBody()
  } catch (error) {
    if (cannotOpen(error) && recoveries < MAX_RECOVERIES)
      setTimeout(() => resendTo(exchange, target, recoveries + 1), RECOVERY_MS)
    else exchange.fail(error)
  }
}

function selectNextTarget(
  exchange: Exchange,
  failed: UpstreamTarget,
): UpstreamTarget | EdgeResponse | undefined {
  exchange.failedTargets ??= []
  const attempts = exchange.failedTargets.push(failed)
  return attempts < MAX_ATTEMPTS ? exchange.route?.backend(exchange, exchange.failedTargets) : undefined
}

function runSteps(exchange: Exchange, route: HttpRoute, start: number): void {
  const { steps } = route
  for (let index = start; steps !== undefined && index < steps.length; index++) {
    const result = steps[index]!(exchange)
    if (result === undefined) continue
    if (!(result instanceof Promise)) {
      endSteps(exchange, result)
      return
    }
    void continueSteps(exchange, route, result, index + 1)
    return
  }
  forward(exchange, route)
}

function endSteps(exchange: Exchange, result: StepResult): void {
  if ('backend' in result) forwardTo(exchange, result)
  else exchange.respondWith(result)
}

/**
 * Continues a request on the route of an internal endpoint. `onUnreachable` takes it back when none of the route's targets
 * can be reached and a retry is safe; without it the request is rejected then.
 */
export function forwardTo(
  exchange: Exchange,
  route: HttpRoute,
  onUnreachable?: (error: EdgeError) => void,
): void {
  const { route: previous, forwards } = exchange
  if (forwards === MAX_FORWARDS) throw edgeError('too_many_forwards', String(MAX_FORWARDS))
  exchange.forwards = forwards + 1
  exchange.failedTargets = undefined
  exchange.route = route
  exchange.onUnreachable =
    onUnreachable &&
    ((error) => {
      exchange.onUnreachable = undefined
      exchange.failedTargets = undefined
      exchange.route = previous
      exchange.forwards = forwards
      onUnreachable(error)
    })
  route.counters.requests++
  for (const step of route.connectionSteps ?? []) step(exchange.connection)
  runSteps(exchange, route, 0)
}

async function continueSteps(
  exchange: Exchange,
  route: HttpRoute,
  pending: Promise<StepResult | undefined>,
  nextIndex: number,
): Promise<void> {
  try {
    const result = await pending
    // The client may have disconnected meanwhile.
    if (exchange.ended) return
    if (result !== undefined) endSteps(exchange, result)
    else runSteps(exchange, route, nextIndex)
    if (!exchange.ended) exchange.resumeBody()
  } catch (error) {
    exchange.fail(error)
  }
}
