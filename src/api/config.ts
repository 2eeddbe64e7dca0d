import type { IncomingHttpHeaders } from 'node:http'
import type { Auth, IpRestrictions, Principal } from '../auth/index.ts'
import type { TrustedProxies } from '../base/http/forwarded.ts'
import type { OutboundGuard } from '../base/outbound/outbound.ts'
import type { OperatorAuthority } from '../certs/index.ts'
import type { DestinationStatus } from '../events/index.ts'
import type { FactKind } from '../policy/index.ts'
import type { LoginSync, NameSpans } from '../store/index.ts'
import type { CommandName } from './session-routes.ts'

/** Settings of the server that the API depends on. */
export interface ApiConfig {
  /** Base URL of `uri` fields; available once the listener is bound. */
  apiUrl(): string
  /** Where the dashboard is served; undefined when the API's public host has none beside it. */
  readonly dashboardUrl?: () => string | undefined
  /** The platform's own domain. */
  readonly domain: string
  /** The first account, whose administrators operate the platform. */
  operatorAccount(): string
  readonly region: string
  /** Base URL of the edge's login callbacks. */
  idpUrl(): string
  /** The public HTTPS port; hostports may name it instead of 443. */
  httpsPort(): number
  /** `host:port` at which Kubernetes clusters connect to endpoints; undefined where no node listens for them. */
  bindingIngress(): string | undefined
  /** Host name of public TCP addresses. */
  readonly tcpHost: string
  readonly tcpPorts: readonly [number, number]
  /** How long a name stays reserved for its last user. */
  readonly nameSpans: NameSpans
  /** Whether automatic certificates are enabled. */
  readonly acme: boolean
  /** Requests per account and minute; 0 disables the limit. */
  readonly rateLimit: number
  /** Concurrent connections; unlimited when absent. */
  readonly maxConnections?: number
  /** Addresses shared by many clients, such as load balancers. */
  readonly isShared?: (ip: string) => boolean
  /** Proxies whose forwarding fields name the client of a call. */
  readonly trustedProxies?: TrustedProxies | undefined
  readonly version: string
}

/** Event delivery, as the API uses it. */
export interface EventDelivery {
  /** Sends one event at once, bypassing the queue; throws `TestEventFailed` with the sink's reason. */
  sendTest(accountId: string, destinationId: string): Promise<{ event_id: string }>
  status(accountId: string, destinationId: string): Promise<Record<keyof DestinationStatus, unknown>>
}

/** Authenticates browsers that are signed in to the dashboard. */
export interface BrowserAuth {
  /** The principal of a request without an API key; throws a `Problem` when there is none. */
  authenticate(request: {
    readonly headers: IncomingHttpHeaders
    readonly ip: string
    /** `https` when the edge has terminated TLS. */
    readonly protocol: string
  }): Promise<Principal>
  /** Ends the sessions of a changed user or bot that may no longer have any. */
  revalidate(accountId: string, ownerId: string): Promise<void>
}

/** The result of a command: done, rejected by the agent, failed there, or lost without a response. */
export type CommandResult =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

/** The online sessions, tunnels and endpoints of one account. */
export interface OnlineInventory {
  sessions(accountId: string): Record<string, unknown>[]
  tunnels(accountId: string): Record<string, unknown>[]
  /** The endpoints of tunnels. */
  endpoints(accountId: string): Record<string, unknown>[]
  /** Ids of the tunnels whose labels include these. */
  tunnelsWith(accountId: string, labels: Readonly<Record<string, string>>): string[]
  /** Undefined when no such session is online in this account. */
  command(accountId: string, sessionId: string, command: CommandName): Promise<CommandResult | undefined>
}

/** What the API depends on. */
export interface ApiDependencies {
  readonly auth: Auth
  readonly online: OnlineInventory
  /** The visitors who have signed in. */
  readonly applicationSessions: LoginSync['applicationSessions']
  /** Accepts the dashboard's session cookie; without it only API keys authenticate. */
  readonly browserAuth?: BrowserAuth
  /** Deliveries to event destinations; without it destinations have no status. */
  readonly events?: EventDelivery
  /** Says which URLs the server would not call. */
  readonly outbound: OutboundGuard
  /** Issues the certificates of Kubernetes operators. */
  readonly operatorAuthority: OperatorAuthority
  /** The accounts' IP restrictions. */
  readonly restrictions: Pick<IpRestrictions, 'admits'>
  /** The kinds of facts about addresses that the server has data for; without it none. */
  readonly readFactKinds?: () => Promise<ReadonlySet<FactKind>>
}
