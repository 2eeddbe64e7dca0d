import type {
  BackendModule,
  FailoverBackend,
  HTTPResponseBackend,
  HTTPSEdgeRoute,
  StaticBackend,
  TLSEdge,
  TunnelGroupBackend,
  WeightedBackend,
} from '../../../api-client/index.ts'

/** Settings of a module; further fields depend on its kind. */
export interface ModuleSettings {
  readonly enabled: boolean
  readonly [name: string]: unknown
}

/** The modules of an edge or route, by name. */
type Modules = { readonly [module: string]: unknown }

/** A route of an HTTPS edge. */
export type PageRoute = HTTPSEdgeRoute & Modules

export type EdgeKind = 'https' | 'tls' | 'tcp'

/** An edge of any kind: one for HTTPS has routes, the others a backend. */
export type Edge = Pick<TLSEdge, 'id' | 'description' | 'metadata' | 'created_at' | 'hostports'> & {
  readonly backend?: BackendModule | null
  readonly routes?: readonly PageRoute[]
} & Modules

type CommonFields = Pick<StaticBackend, 'id' | 'uri' | 'description' | 'metadata' | 'created_at'>

/** A backend of any kind. */
export type Backend = CommonFields &
  Partial<Omit<HTTPResponseBackend, keyof CommonFields>> &
  Partial<Omit<TunnelGroupBackend, keyof CommonFields>> &
  Partial<Omit<StaticBackend, keyof CommonFields>> & {
    readonly backends?: WeightedBackend['backends'] | FailoverBackend['backends']
  }
