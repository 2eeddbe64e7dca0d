import type { StaticBackend } from '../../resources/index.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import type { Tunnel } from '../contracts/tunnels.ts'
import type { Balancer } from './balancer.ts'

/** What a backend can resolve while it is built. */
export interface BackendContext {
  /** Whether a fixed HTTP response can be sent; false where raw bytes are forwarded. */
  readonly http: boolean
  /** Another backend of the same account; `emptyBackend` when it is missing. */
  child(id: string): Balancer
  /** All tunnels online with these labels. Returns the same array until one connects or disconnects. */
  tunnelsWithLabels(labels: Readonly<Record<string, string>>): readonly Tunnel[]
  tunnelTarget(tunnel: Tunnel): UpstreamTarget
  staticTarget(backend: OwnedRecord<typeof StaticBackend>): UpstreamTarget
}

/**
 * Compiles a backend record. The builder runs once per configuration change, the balancer it returns per request or
 * connection.
 */
export type BackendBuilder<Record> = (record: Record, context: BackendContext) => Balancer
