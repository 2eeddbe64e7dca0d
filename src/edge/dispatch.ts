import { publicUrl } from '../base/hostport.ts'
import { newId } from '../base/id.ts'
import { isAnswer, type Target } from './backend.ts'
import { Refusal, refusal } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { type Answer, redirect } from './response.ts'
import { TunnelBusy } from './tunnels.ts'

const CHALLENGE_PATH = '/.well-known/acme-challenge/'

/**
 * Decides about a request and sends it on its way: whose host it is, whether the connection may ask for it, what the
 * modules of its route say, who answers. Without modules all of it happens at once, with no promise made.
 */
export function dispatch(exchange: Exchange): void {
  try {
    const { core, connection, head } = exchange
    const scheme = connection.scheme === 'https' ? 'https' : 'http'
    if (scheme === 'http' && core.challenge !== undefined && head.target.startsWith(CHALLENGE_PATH)) {
      const proof = core.challenge(head.target.slice(CHALLENGE_PATH.length), head.host)
      if (proof !== undefined) {
        exchange.respondWith({
          status: 200,
          fields: 'Content-Type: text/plain\r\n',
          body: Buffer.from(proof),
        })
        return
      }
    }
    const entry = core.table.http(scheme, head.host)
    if (entry === undefined) throw refusal('endpoint_not_found', head.host)
    if (entry.policy !== connection.policy && entry.policy?.key !== connection.policy?.key) {
      // On every request of the connection, kept alive or shared by several names (P33).
      exchange.disableKeepAlive()
      throw refusal('misdirected', head.host)
    }
    exchange.entry = entry
    entry.traffic.requests++
    if (core.observer?.wantsRequests(entry.accountId) === true) {
      exchange.trace = {
        startedAt: core.clock.now(),
        requestBodyLength: 0,
        responseBodyLength: 0,
        responseFields: '',
        connectionReused: false,
        tunnelId: '',
        notes: {},
      }
    }
    if (entry.redirectToHttps) {
      const url = publicUrl('https', head.host, core.publicHttpsPort)
      exchange.respondWith(redirect(307, url + (head.target === '*' ? '/' : head.target)))
      return
    }
    const route = entry.routeFor(head.target)
    exchange.route = route
    route.counters.requests++
    if (route.admission !== undefined) for (const step of route.admission) step(connection)
    if (route.steps === undefined) forward(exchange)
    else runSteps(exchange, 0)
  } catch (error) {
    fail(exchange, error)
  }
}

/**
 * Whether what is under way may go on after the configuration changed. A deny ends it, and so does a host that asks for
 * other certificates now. A request whose host or path is merely no longer served finishes as it began; a WebSocket,
 * which might never finish, does not.
 */
export function isStillAdmitted({ core, connection, head, upgrading }: Exchange): boolean {
  const entry = core.table.http(connection.scheme === 'https' ? 'https' : 'http', head.host)
  if (entry === undefined) return !upgrading
  if (entry.policy?.key !== connection.policy?.key) {
    if (upgrading || entry.policy?.settings.clientAuthorities !== undefined) return false
  }
  try {
    for (const step of entry.routeFor(head.target).admission ?? []) step(connection)
    return true
  } catch (error) {
    return error instanceof Refusal && error.name === 'route_not_found' && !upgrading
  }
}

/** Asks the route's backend who answers and connects the exchange with it. */
function forward(exchange: Exchange): void {
  const target = exchange.route!.backend(exchange, 0)
  if (target === undefined) throw refusal('no_backend', exchange.head.host)
  connect(exchange, target, false)
}

function connect(exchange: Exchange, target: Target | Answer, fresh: boolean): void {
  if (isAnswer(target)) {
    exchange.respondWith(target)
    return
  }
  exchange.upstream = target.pool.connect(exchange, target, fresh)
  if (exchange.trace !== undefined) {
    exchange.trace.connectionReused = exchange.upstream.reused
    exchange.trace.tunnelId = target.tunnelId ?? ''
  }
  exchange.held?.sendTo(exchange.upstream)
}

/** However many targets a backend has, one request does not go round them all. */
const MAX_ATTEMPTS = 8

/**
 * The connection to the target failed before anything came back. Goes on where that harms nobody: on a new connection
 * when a kept one was `stale`, with the next target when this one was `undialled` or, once, when it was `unanswered`.
 */
export function retry(
  exchange: Exchange,
  target: Target,
  reason: 'stale' | 'dial_failed' | 'no_response',
  error: Refusal,
): void {
  if (exchange.ended) return
  exchange.upstream = undefined
  try {
    if (exchange.responded || exchange.bodySent) throw error
    if (reason !== 'dial_failed') {
      // The request may have arrived, so it is sent once more at most (P31).
      if (exchange.resent) throw error
      exchange.resent = true
    }
    const nextTarget = reason === 'stale' ? target : selectNextTarget(exchange, target)
    if (nextTarget === undefined) throw error
    connect(exchange, nextTarget, true)
    exchange.resumeBody()
  } catch (error) {
    fail(exchange, error)
  }
}

function selectNextTarget(exchange: Exchange, failed: Target): Target | Answer | undefined {
  exchange.tried ??= []
  const attempts = exchange.tried.push(failed)
  return attempts < MAX_ATTEMPTS ? exchange.route!.backend(exchange, attempts) : undefined
}

/** Shows the visitor why it was turned away; whatever arrives here unknown is a bug and gets a number. */
export function fail(exchange: Exchange, error: unknown): void {
  if (error instanceof Refusal) {
    if (error.name === 'address_denied') exchange.note('ip_policy.decision', 'block')
    exchange.reject(error)
    return
  }
  if (error instanceof TunnelBusy) {
    exchange.reject(refusal('too_busy', exchange.head.host))
    return
  }
  const id = newId('err')
  exchange.core.log.error({ err: error, id }, 'a request failed inside the edge')
  exchange.reject(refusal('internal', id))
}

function runSteps(exchange: Exchange, start: number): void {
  const steps = exchange.route!.steps!
  for (let index = start; index < steps.length; index++) {
    const result = steps[index]!(exchange)
    if (result === undefined) continue
    if (!(result instanceof Promise)) {
      exchange.respondWith(result)
      return
    }
    void continueSteps(exchange, result, index + 1)
    return
  }
  forward(exchange)
}

async function continueSteps(
  exchange: Exchange,
  pending: Promise<Answer | undefined>,
  nextIndex: number,
): Promise<void> {
  try {
    const response = await pending
    // The visitor may have left meanwhile.
    if (exchange.ended) return
    if (response !== undefined) exchange.respondWith(response)
    else {
      runSteps(exchange, nextIndex)
      exchange.resumeBody()
    }
  } catch (error) {
    fail(exchange, error)
  }
}
