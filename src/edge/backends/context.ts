import type { StaticBackend } from '../../resources/index.ts'
import type { Target } from '../backend.ts'
import type { Kept } from '../compile/snapshot.ts'
import type { Tunnel } from '../tunnels.ts'
import type { Choice } from './balancer.ts'

/** What a backend may ask while it is built. */
export interface BackendWorld {
  /** HTTP answers of our own can be given; false where bytes are carried as they are. */
  readonly http: boolean
  /** Another backend of the same account; `nobody` when it is missing. */
  child(id: string): Choice
  /** All tunnels online with these labels; the same array until something changes. */
  labelled(labels: Readonly<Record<string, string>>): readonly Tunnel[]
  tunnel(tunnel: Tunnel): Target
  address(backend: Kept<typeof StaticBackend>): Target
}

/** What answers traffic. `build` runs once per configuration change, what it returns per request or connection. */
export type BackendBuild<Record> = (record: Record, world: BackendWorld) => Choice
