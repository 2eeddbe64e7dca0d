import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Admission } from '../base/admission.ts'

/** What a probe is answered with. */
export interface ProbeResponse {
  readonly status: number
  readonly body: object
}

/** What answers at each path. */
export type Probes = ReadonlyMap<string, () => Promise<ProbeResponse>>

/** `/healthz` says that the process lives, `/readyz` whether it can do its work. `ready` throws why not. */
export function createProbes(ready: () => Promise<void>): Probes {
  let pendingCheck: Promise<ProbeResponse> | undefined
  // However many ask at once, the parts are asked once.
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
/** A probe is one short request; a connection that takes longer is closed. */
const PROBE_TIMEOUT_MS = 5_000

/** A listener for probes alone: whatever happens to the one of the API, an orchestrator gets its answer. */
export function createProbeListener(probes: Probes): {
  listen(address: { host: string; port: number }): Promise<AddressInfo>
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
    async listen({ host, port }) {
      server.listen(port, host)
      await once(server, 'listening')
      return server.address() as AddressInfo
    },
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
