import type { StaticBackend } from '../../resources/index.ts'
import type { Target } from '../backend.ts'
import type { OwnedRecord } from '../compile/snapshot.ts'
import type { Tunnel } from '../tunnels.ts'
import type { Balancer } from './balancer.ts'

/** What a backend may ask while it is built. */
export interface BackendContext {
  /** HTTP answers of our own can be given; false where bytes are carried as they are. */
  readonly http: boolean
  /** Another backend of the same account; `nobody` when it is missing. */
  child(id: string): Balancer
  /** All tunnels online with these labels; the same array until something changes. */
  tunnelsWithLabels(labels: Readonly<Record<string, string>>): readonly Tunnel[]
  tunnelTarget(tunnel: Tunnel): Target
  staticTarget(backend: OwnedRecord<typeof StaticBackend>): Target
}

/** What answers traffic. `build` runs once per configuration change, what it returns per request or connection. */
export type BackendBuilder<Record> = (record: Record, context: BackendContext) => Balancer
