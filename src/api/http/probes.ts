import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { type Listen, type ListenAddress, listen as openListener } from '../../base/io/sockets/listeners.ts'
import { errorMessage } from '../../base/text/error-message.ts'

/** The response to a probe. */
export interface ProbeResponse {
  readonly status: number
  readonly body: object
}

/** The probe handlers by path. `strict` is in the query of the request. */
export type Probes = ReadonlyMap<string, (strict: boolean) => Promise<ProbeResponse>>

/** The two questions that `/readyz` answers. */
export interface Readiness {
  /**
   * Whether this process can serve visitors and agents, if need be without the database; throws the reason when it cannot. Waits
   * for nothing: a balancer would take a slow answer for none.
   */
  serving(): { readonly database: 'available' | 'unavailable' }
  /** Resolves when everything is well, throws the reason otherwise. */
  verify(): Promise<void>
}

/** `/healthz` is liveness, `/readyz` whether this process can serve, `/readyz?strict` whether everything is well. */
export function createProbes(readiness: Readiness): Probes {
  let pendingCheck: Promise<ProbeResponse> | undefined
  // Concurrent probes share one check.
  const verify = (): Promise<ProbeResponse> => {
    pendingCheck ??= readiness
      .verify()
      .then(() => ({ status: 200, body: { status: 'ready', database: 'available' } }), notReady)
      .finally(() => {
        pendingCheck = undefined
      })
    return pendingCheck
  }
  return new Map([
    ['/healthz', async () => ({ status: 200, body: { status: 'ok' } })],
    ['/readyz', async (strict: boolean) => (strict ? verify() : describeServing(readiness))],
  ])
}

/** The response to `/readyz`. */
export function describeServing(readiness: Pick<Readiness, 'serving'>): ProbeResponse {
  try {
    return { status: 200, body: { status: 'ready', ...readiness.serving() } }
  } catch (error) {
    return notReady(error)
  }
}

function notReady(error: unknown): ProbeResponse {
  return { status: 503, body: { status: 'not ready', reason: errorMessage(error) } }
}

/** Whether the query of a request to a probe asks for the strict one. */
export function isStrict(url: string): boolean {
  return new URLSearchParams(url.split('?')[1]).has('strict')
}

const NOT_FOUND: ProbeResponse = { status: 404, body: { status: 'not found' } }

const MAX_CONNECTIONS = 64
/** A probe is one short request; slower connections are closed. */
const PROBE_TIMEOUT_MS = 5_000

/** A listener for probes alone, which responds even when the API's listener is saturated. */
export function createProbeListener(probes: Probes): {
  listen(address: ListenAddress, listen?: Listen): Promise<AddressInfo>
  close(): Promise<void>
} {
  const limiter = new ConcurrencyLimiter({ total: MAX_CONNECTIONS })
  const server: Server = createServer(
    {
      headersTimeout: PROBE_TIMEOUT_MS,
      requestTimeout: PROBE_TIMEOUT_MS,
      keepAliveTimeout: PROBE_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const { url = '' } = request
      const probe = probes.get(url.split('?')[0]!) ?? (async () => NOT_FOUND)
      void probe(isStrict(url)).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        response.end(JSON.stringify(body))
      })
    },
  )
  server.timeout = PROBE_TIMEOUT_MS
  server.on('connection', (socket) => limiter.admit(socket))
  return {
    listen: (address, listen = openListener) => listen(server, 'probe', address),
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
