import type { IncomingHttpHeaders } from 'node:http'
import type { Auth, IpRestrictions, Principal } from '../auth/index.ts'
import type { DestinationStatus } from '../events/index.ts'
import type { NameSpans } from '../store/index.ts'
import type { Online } from './sessions.ts'

/** What the API has to know about the server it belongs to. */
export interface ApiConfig {
  /** Base address shown in `uri`; known once the listener is bound. */
  apiUrl(): string
  /** The platform's own domain. */
  readonly domain: string
  /** The account made first, whose administrators run the platform. */
  operatorAccount(): string
  readonly region: string
  /** Where log-in callbacks of the edge are served. */
  idpUrl(): string
  /** The HTTPS port really bound, which hostports may name in place of 443. */
  httpsPort(): number
  /** Host name of public TCP addresses. */
  readonly tcpHost: string
  readonly tcpPorts: readonly [number, number]
  /** How long names stay out of reach after their last use. */
  readonly nameSpans: NameSpans
  /** Whether automatic certificates can be had. */
  readonly acme: boolean
  /** Requests an account may make in a minute; 0 for no limit. */
  readonly rateLimit: number
  /** Connections at once; as many as come unless given. */
  readonly maxConnections?: number
  /** Addresses that many callers come from, as those of a load balancer. */
  readonly isShared?: (ip: string) => boolean
  readonly version: string
}

/** What the API asks of the delivery of events. */
export interface EventDelivery {
  /** Sends one event now, past the queue; throws `TestEventFailed` with the sink's reason. */
  sendTest(accountId: string, destinationId: string): Promise<{ event_id: string }>
  status(accountId: string, destinationId: string): Promise<Record<keyof DestinationStatus, unknown>>
}

/** Recognises browsers that have signed in to the dashboard. */
export interface BrowserAuth {
  /** The principal behind a request without an API key; throws a `Problem` when there is none. */
  authenticate(request: { readonly headers: IncomingHttpHeaders; readonly ip: string }): Promise<Principal>
  /** Ends the sessions of a user or bot that was changed here, if it may no longer have any. */
  revalidate(accountId: string, ownerId: string): Promise<void>
}

/** The parts the API acts through. */
export interface ApiParts {
  readonly auth: Auth
  readonly online: Online
  /** Browsers may call with the cookie of the dashboard's sign-in; only keys count without it. */
  readonly signedIn?: BrowserAuth
  /** Deliveries to event destinations; destinations show no status without it. */
  readonly events?: EventDelivery
  /** Which addresses an account lets use its API; all of them when absent. */
  readonly restrictions?: Pick<IpRestrictions, 'admits'>
}
