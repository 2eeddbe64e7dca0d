import type { Attachment, PhaseName, PolicyLanguage } from '../policy/index.ts'
import type { IpRestriction, Role, View } from '../resources/index.ts'

/** `GET /dashboard/api/policy_language`: what the editor of traffic policies completes. */
export type { PolicyLanguage, Role }

/** What a policy is for. */
export type PolicyAttachment = Attachment

/** `POST /dashboard/api/policy_check`: the mistakes of a policy, or its rules in order. */
export interface PolicyCheck {
  readonly issues: readonly PolicyLine[]
  /** What may not do as expected in a policy without mistakes. */
  readonly warnings: readonly PolicyLine[]
  readonly rules: readonly PolicyRuleOutline[]
}

/** A sentence about a line of a policy. */
export interface PolicyLine {
  readonly line: number | null
  readonly message: string
}

export interface PolicyRuleOutline {
  readonly phase: PhaseName
  readonly name: string
  readonly expressions: readonly string[]
  readonly actions: readonly { readonly type: string; readonly ends: boolean }[]
}

/** The body of `POST /dashboard/api/policy_trial`. */
export interface PolicyTrialRequest {
  readonly policy: string
  readonly attachment: PolicyAttachment
  readonly method: string
  readonly url: string
  readonly headers: readonly string[]
  readonly body: string
  readonly client_ip: string
  /** Empty for a visitor who has not signed in. */
  readonly signed_in_as: string
}

/** Its response: what each rule did with the request. */
export interface PolicyTrialResult {
  readonly rules: readonly {
    readonly phase: PhaseName
    readonly rule: number
    readonly name: string
    readonly outcome: string
    readonly expressions: readonly {
      readonly expression: string
      readonly value?: unknown
      readonly error?: string
    }[]
    readonly actions: readonly { readonly type: string; readonly outcome: string; readonly effect: string }[]
  }[]
  /** Null when the policy ended the request. */
  readonly forwarded: { readonly method: string; readonly host: string; readonly target: string } | null
  /** Null when the connection is closed without a response. */
  readonly answer: { readonly status: number; readonly body?: string | undefined } | null
}

/** `GET /dashboard/api/platform`: facts about the platform, so that pages show real addresses and commands. */
export interface PlatformInfo {
  readonly domain: string
  /** The release that the server runs. */
  readonly version: string
  /** Public base URL; null when the listener is off. */
  readonly http_url: string | null
  readonly https_url: string | null
  readonly tcp_host: string
  /** Where agents and SSH clients on other machines connect; null when the listener is off. */
  readonly agent_addr: string | null
  readonly ssh_addr: string | null
  /** Where the agent can be had, and the files by their names without the version; null where the server hands out none. */
  readonly downloads: { readonly url: string; readonly files: readonly string[] } | null
  /** Whether certificates are obtained automatically. */
  readonly acme: boolean
  /** Whether agents and visitors need not trust the private CA. */
  readonly public_certificate: boolean
  /** The private CA that signs certificates without a public one. */
  readonly ca_pem: string
  /** Whether the server can use its database; otherwise what pages show may be out of date. */
  readonly database: 'available' | 'unavailable'
}

/** The traffic of an account on one node since its start. */
export interface TrafficTotals {
  readonly requests: number
  readonly connections: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly statuses: readonly number[]
  readonly open_requests: number
  readonly open_connections: number
}

/** `GET /dashboard/api/traffic`: what was counted in equal intervals of the last hour, the oldest first. */
export interface TrafficHistory {
  readonly interval_seconds: number
  readonly requests: readonly number[]
  readonly connections: readonly number[]
  readonly bytes_in: readonly number[]
  readonly bytes_out: readonly number[]
  /** Responses by status class: 1xx, 2xx, 3xx, 4xx, 5xx. */
  readonly statuses: readonly (readonly number[])[]
}

/** The clients of one country. `country` is its code in two letters, or null for addresses whose country is not known. */
export interface CountryCount {
  readonly country: string | null
  readonly connections: number
}

/** `GET /dashboard/api/countries`: the clients since the server started, by country, the most first. */
export interface VisitorCountries {
  readonly countries: readonly CountryCount[]
}

/** The traffic of an edge or route. */
export interface ScopeCounters {
  readonly requests: number
  readonly connections: number
  readonly rejections: number
}

/** An event of `GET /dashboard/api/live`. */
export interface LiveTotals extends TrafficTotals {
  readonly sessions: number
  readonly tunnels: number
  /** Grows when a session or tunnel of the account starts, changes or ends. */
  readonly online: number
  /** Grows when edges, backends, domains or addresses of the account are created or changed. */
  readonly revision: number
  /** Grows when such a resource is deleted, in any account. */
  readonly deletions: number
  /** Only when an edge was requested. */
  readonly scopes?: readonly (ScopeCounters & { readonly id: string })[]
  readonly broken?: readonly { readonly id: string; readonly module: string; readonly reason: string }[]
}

/** Whether an address is allowed, and the rule that decides. */
export interface IpVerdict {
  readonly allowed: boolean
  readonly because: string
}

/** `GET /dashboard/api/ip_policies/check`: the verdict of the policies, if any were named, and of each IP restriction. */
export interface AddressCheck extends Partial<IpVerdict> {
  readonly address: string
  readonly restrictions: readonly (IpVerdict & Pick<View<typeof IpRestriction>, 'id' | 'type' | 'enforced'>)[]
}

/** `GET /dashboard/api/session`: the signed-in user, and the CSRF token for requests of this page. */
export interface SessionView {
  /** Null when the session began with the API key of a bot user. */
  readonly user: { id: string; email: string; name: string } | null
  readonly role: Role
  readonly account_id: string
  readonly api_key_sign_in: boolean
  readonly second_factor: boolean
  /** The recovery codes that are left. */
  readonly recovery_codes: number
  readonly expires_at: string
  readonly csrf: string
}

/** `POST /dashboard/api/link`: whom a one-time link is for. */
export interface LinkView {
  readonly email: string
}

/** One agent of `GET /dashboard/api/agents`: what tells it apart from others. Names are empty where there is none. */
export interface AgentIdentity {
  readonly id: string
  readonly hostname: string
  readonly owner: { readonly id: string; readonly name: string }
  readonly credential: { readonly id: string; readonly name: string }
}

/** `GET /dashboard/api/agents`: a page of the agents that match, how many match, and how many there are. */
export interface AgentIdentityPage {
  readonly agents: readonly AgentIdentity[]
  readonly matching: number
  readonly total: number
}

/** `GET /dashboard/api/search`: resources, online agents and tunnels with every word of the query. */
export interface SearchResults {
  readonly hits: readonly SearchHit[]
  /** There may be more: the limit of hits, or of rows to look at, was reached. */
  readonly incomplete: boolean
}

/** One result: its short fields, of which the page shows the name. */
export interface SearchHit {
  readonly id: string
  /** What it is, such as `IP policy`. */
  readonly kind: string
  readonly fields: Readonly<Record<string, unknown>>
}

interface ListedScope {
  readonly id: string
  /** The names of the enabled modules. */
  readonly modules: readonly string[]
  readonly backend_id: string | null
}

/** An edge of `GET /dashboard/api/edges`; it has no module settings, so reading it reveals no secrets. */
export interface EdgeListing extends ListedScope {
  readonly kind: 'https' | 'tls' | 'tcp'
  readonly description: string
  readonly hostports: readonly string[]
  readonly created_at: string
  readonly routes: readonly (ListedScope & { readonly match: string })[]
}

/** `GET /dashboard/api/edges`: one page of the edges that match, how many there are, and how many in all. */
export interface EdgePage {
  readonly edges: readonly EdgeListing[]
  readonly matching: number
  readonly total: number
}

/** A backend as lists and diagrams show it: without the body of a fixed response. */
export interface BackendListing {
  readonly id: string
  readonly description: string
  readonly created_at: string
  /** Of a fixed response. */
  readonly status_code?: number
  readonly body_bytes?: number
  /** Of a fixed address. */
  readonly address?: string
  readonly tls?: boolean
  /** Of a tunnel group: how many tunnels are online, and the first 100 of them. */
  readonly labels?: Readonly<Record<string, string>>
  readonly online?: number
  readonly tunnels?: readonly BackendTunnel[]
  /** Of a weighted backend the weights by ID, of a failover backend the IDs in order. */
  readonly backends?: Readonly<Record<string, number>> | readonly string[]
}

/** An online tunnel of a tunnel group. */
export interface BackendTunnel {
  readonly id: string
  readonly tunnel_session_id: string
  readonly forwards_to: string
  readonly labels: Readonly<Record<string, string>>
  readonly started_at: string
}

/** `GET /dashboard/api/backend_trees`: backends and everything that they send traffic to, each once. */
export interface BackendTrees {
  readonly backends: readonly BackendListing[]
}

/** `GET /dashboard/api/backends`: the backends of a page with their trees, how many match, and how many there are. */
export interface BackendPage extends BackendTrees {
  readonly ids: readonly string[]
  readonly matching: number
  readonly total: number
}

/** `POST /dashboard/api/second_factor`: a second factor to confirm. */
export interface SecondFactorOffer {
  readonly secret: string
  readonly uri: string
  /** The QR code of the URI: rows of `1` for dark and `0` for light; null if it is too long for one. */
  readonly qr_code: readonly string[] | null
}

/** The recovery codes of a second factor, shown once. */
export interface RecoveryCodes {
  readonly recovery_codes: readonly string[]
}

/** `POST /dashboard/api/users/{id}/invitation`: a one-time link, relative to the address of the dashboard. */
export interface Invitation {
  readonly link: string
  readonly expires_at: string
}

/** What a list shows of its resources beside their fields, by id, of `GET /dashboard/api/list_facts/…`. */
export type ListFacts = Readonly<Record<string, Readonly<Record<string, string | number>>>>

/** A sign-in of a visitor that failed, of `GET /dashboard/api/failed_sign_ins`. */
export interface FailedSignIn {
  readonly failure: string
  readonly cause: string
  /** What the owner can change. */
  readonly setting: string
  readonly provider: string
  /** What the provider or a library said. */
  readonly error?: string
  readonly error_description?: string
  readonly reason?: string
  readonly person?: string
  readonly public_url: string
  readonly endpoint_id: string | null
  readonly edge_id: string | null
  readonly route_id: string | null
  /** The last time. */
  readonly failed_at: string
  readonly count: number
}
