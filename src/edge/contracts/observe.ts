import type { ClientConnection } from './connection.ts'

/** A finished request, with the content of the event `http_request_complete`. */
export interface RequestEvent {
  readonly accountId: string
  /** The tunnel or edge, and its route. */
  readonly hostId: string
  readonly routeId: string
  /** The tunnel the request was sent to, empty when none was: an edge may balance its requests over several. */
  readonly tunnelId: string
  readonly connection: ClientConnection
  /** Wall-clock milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
  readonly method: string
  readonly host: string
  /** As sent to the upstream: path and query. */
  readonly target: string
  /** Field lines as received, each terminated by CRLF, without hop-by-hop fields. */
  readonly requestFields: string
  readonly requestBodyLength: number
  readonly status: number
  readonly responseFields: string
  readonly responseBodyLength: number
  readonly connectionReused: boolean
  /** Decisions of modules, such as `ip_policy.decision`; the keys are those of the event. */
  readonly annotations: Readonly<Record<string, string | number>>
  /** What `log` actions of a policy recorded, in order. */
  readonly logs?: readonly Readonly<Record<string, string>>[] | undefined
  /** The code of the error the edge responded with, if any. */
  readonly errorCode: string | undefined
  /** False when the client did not get the complete response. */
  readonly complete: boolean
}

/** A finished TCP connection, with the content of the event `tcp_connection_closed`. */
export interface ConnectionEvent {
  readonly accountId: string
  readonly hostId: string
  readonly connection: ClientConnection
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly annotations: Readonly<Record<string, string | number>>
  /** What `log` actions of a policy recorded, in order. */
  readonly logs?: readonly Readonly<Record<string, string>>[] | undefined
  readonly errorCode: string | undefined
}

/** Receives finished traffic. The edge checks `wants...` first and gathers nothing for accounts without a listener. */
export interface Observer {
  wantsRequests(accountId: string): boolean
  onRequest(event: RequestEvent): void
  wantsConnections(accountId: string): boolean
  onConnection(event: ConnectionEvent): void
}

/** What the edge records about one request for an observer. */
export interface RequestTrace {
  readonly startedAt: number
  requestBodyLength: number
  responseBodyLength: number
  responseFields: string
  connectionReused: boolean
  tunnelId: string
  readonly annotations: Record<string, string | number>
  logs?: Readonly<Record<string, string>>[]
}
