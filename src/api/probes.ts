import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Admission } from '../base/io/admission.ts'
import { type Listen, type ListenAddress, listen as openListener } from '../base/io/listeners.ts'

/** The response to a probe. */
export interface ProbeResponse {
  readonly status: number
  readonly body: object
}

/** The probe handlers by path. */
export type Probes = ReadonlyMap<string, () => Promise<ProbeResponse>>

/** `/healthz` is liveness, `/readyz` readiness. `ready` throws the reason when the server is not ready. */
export function createProbes(ready: () => Promise<void>): Probes {
  let pendingCheck: Promise<ProbeResponse> | undefined
  // Concurrent probes share one check.
  const readiness = (): Promise<ProbeResponse> => {
    pendingCheck ??= ready()
      .then(
        () => ({ status: 200, body: { status: 'ready' } }),
        (error: Error) => ({ status: 503, body: { status: 'not ready', reason: error.message } }),
      )
      .finally(() => {
        pendingCheck = undefined
      })
    return pendingCheck
  }
  return new Map([
    ['/healthz', async () => ({ status: 200, body: { status: 'ok' } })],
    ['/readyz', readiness],
  ])
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
  const admission = new Admission({ total: MAX_CONNECTIONS })
  const server: Server = createServer(
    {
      headersTimeout: PROBE_TIMEOUT_MS,
      requestTimeout: PROBE_TIMEOUT_MS,
      keepAliveTimeout: PROBE_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const probe = probes.get((request.url ?? '').split('?')[0]!) ?? (async () => NOT_FOUND)
      void probe().then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        response.end(JSON.stringify(body))
      })
    },
  )
  server.timeout = PROBE_TIMEOUT_MS
  server.on('connection', (socket) => admission.admit(socket))
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
