/** Resources of the management API, with the fields that pages use. */

export interface Ref {
  readonly id: string
  readonly uri: string
}

interface RecordFields {
  readonly id: string
  readonly description: string
  readonly metadata: string
  readonly created_at: string
}

/** Settings of a module; further fields depend on its kind. */
export interface ModuleSettings {
  readonly enabled: boolean
  readonly [name: string]: unknown
}

/** A route of an HTTPS edge. */
export interface PageRoute extends RecordFields {
  readonly edge_id: string
  readonly match_type: 'exact_path' | 'path_prefix'
  readonly match: string
  readonly backend: BackendModule | null
  readonly [module: string]: unknown
}

export interface BackendModule {
  readonly enabled: boolean
  readonly backend: Ref
}

export type EdgeKind = 'https' | 'tls' | 'tcp'

export interface Edge extends RecordFields {
  readonly hostports: readonly string[] | null
  readonly backend?: BackendModule | null
  readonly routes?: readonly PageRoute[]
  readonly [module: string]: unknown
}

export interface Backend extends RecordFields {
  readonly body?: string
  readonly status_code?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly tunnels?: readonly Ref[]
  /** Weights by id, or ids in order. */
  readonly backends?: Readonly<Record<string, number>> | readonly string[]
  readonly address?: string
  readonly tls?: { readonly enabled: boolean }
}

export interface Tunnel {
  readonly id: string
  readonly started_at: string
  readonly region: string
  readonly forwards_to: string
  readonly metadata: string
  readonly tunnel_session: Ref
  readonly proto: string | null
  readonly public_url: string | null
  readonly labels: Readonly<Record<string, string>> | null
}

export interface TunnelSession {
  readonly id: string
  readonly agent_version: string
  readonly credential: Ref
  readonly ip: string
  readonly metadata: string
  readonly os: string
  readonly region: string
  readonly started_at: string
  readonly transport: string
}

export interface Endpoint {
  readonly id: string
  readonly created_at: string
  readonly type: string
  readonly proto: string
  readonly hostport: string
  readonly public_url: string
  readonly name: string
  readonly description: string
  readonly domain: Ref | null
  readonly tcp_addr: Ref | null
  readonly tunnel: Ref | null
  readonly tunnel_session: Ref | null
  readonly edge: Ref | null
  readonly upstream_url: string
}

export interface CertificateStatus {
  readonly renews_at: string | null
  readonly provisioning_job: {
    readonly error_code: string | null
    readonly msg: string
    readonly started_at: string
    readonly retries_at: string | null
  } | null
}

export interface Domain extends RecordFields {
  readonly domain: string
  readonly region: string | null
  readonly cname_target: string | null
  readonly http_endpoint_configuration: Ref | null
  readonly https_endpoint_configuration: Ref | null
  readonly certificate: Ref | null
  readonly certificate_management_policy: {
    readonly authority: string
    readonly private_key_type: string
  } | null
  readonly certificate_management_status: CertificateStatus | null
  readonly acme_challenge_cname_target: string | null
}

export interface Address extends RecordFields {
  readonly addr: string
  readonly region: string | null
}
