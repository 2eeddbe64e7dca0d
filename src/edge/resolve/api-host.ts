import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { HttpBackend, UpstreamTarget } from '../contracts/backend.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { HttpHost } from '../contracts/table.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'
import type { ClientInfo } from '../contracts/tunnels.ts'
import { edgeError } from '../errors.ts'
import { createPlatformHost } from '../platform-host.ts'
import { UpstreamPool } from '../upstream/pool.ts'

/** The management API as an upstream of the edge, in this process or on another node. */
export interface ApiUpstream {
  /** Whether a node that runs the API can be reached. */
  isAvailable(): boolean
  /** Opens a connection to the API on behalf of this client. */
  open(client: ClientInfo): ByteStream
}

/** A host of the platform itself that serves the management API. */
export function createApiHost(
  runtime: EdgeRuntime,
  tlsPolicy: TlsPolicy,
  name: string,
  api: ApiUpstream,
): HttpHost {
  const target: UpstreamTarget = {
    name: 'management API',
    // Not shared: the API takes the address of its connection for the client's.
    pool: new UpstreamPool(runtime, {
      via: 'endpoint',
      proto: 'https',
      budget: { idle: 0 },
      shared: false,
      http2: false,
    }),
    open: (client) => api.open(client),
  }
  const backend: HttpBackend = (_exchange, failedTargets) => {
    if (failedTargets.length > 0) return undefined
    if (!api.isAvailable()) throw edgeError('api_offline', name)
    return target
  }
  return createPlatformHost(name, tlsPolicy, { steps: undefined, backend })
}
