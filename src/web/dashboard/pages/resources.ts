import type {
  FailoverBackend,
  HttpResponseBackend,
  HttpsRoute,
  ApplicationSession as OnlineApplicationSession,
  Endpoint as OnlineEndpoint,
  Tunnel as OnlineTunnel,
  TunnelSession as OnlineTunnelSession,
  Ref,
  ReservedAddr,
  ReservedDomain,
  StaticBackend,
  TlsEdge,
  TunnelGroupBackend,
  View,
  WeightedBackend,
} from '../../../resources/index.ts'

export type { Ref }

/** Settings of a module; further fields depend on its kind. */
export interface ModuleSettings {
  readonly enabled: boolean
  readonly [name: string]: unknown
}

/** The modules of an edge or route, by name. */
type Modules = { readonly [module: string]: unknown }

/** A route of an HTTPS edge. */
export type PageRoute = View<typeof HttpsRoute> & Modules

export type BackendModule = NonNullable<View<typeof TlsEdge>['backend']>

export type EdgeKind = 'https' | 'tls' | 'tcp'

/** An edge of any kind: one for HTTPS has routes, the others a backend. */
export type Edge = Pick<
  View<typeof TlsEdge>,
  'id' | 'description' | 'metadata' | 'created_at' | 'hostports'
> & {
  readonly backend?: BackendModule | null
  readonly routes?: readonly PageRoute[]
} & Modules

type CommonFields = Pick<View<typeof StaticBackend>, 'id' | 'uri' | 'description' | 'metadata' | 'created_at'>

/** A backend of any kind. */
export type Backend = CommonFields &
  Partial<Omit<View<typeof HttpResponseBackend>, keyof CommonFields>> &
  Partial<Omit<View<typeof TunnelGroupBackend>, keyof CommonFields>> &
  Partial<Omit<View<typeof StaticBackend>, keyof CommonFields>> & {
    readonly backends?: View<typeof WeightedBackend>['backends'] | View<typeof FailoverBackend>['backends']
  }

export type ApplicationSession = View<typeof OnlineApplicationSession>
export type Tunnel = View<typeof OnlineTunnel>
export type TunnelSession = View<typeof OnlineTunnelSession>
export type Endpoint = View<typeof OnlineEndpoint>
export type Domain = View<typeof ReservedDomain>
export type Address = View<typeof ReservedAddr>
