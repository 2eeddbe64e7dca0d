import type { Connection } from './connection.ts'

/** A finished request, with what the event `http_request_complete` can tell of it. */
export interface RequestEvent {
  readonly accountId: string
  /** Tunnel or edge, and the route on it. */
  readonly entryId: string
  readonly routeId: string
  /** The tunnel that was asked, empty when none was: an edge may spread its requests over several. */
  readonly tunnelId: string
  readonly connection: Connection
  /** Wall-clock milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
  readonly method: string
  readonly host: string
  /** As sent to the upstream: path and query. */
  readonly target: string
  /** Field lines as received, each ended by CRLF, without those that belong to one hop. */
  readonly requestFields: string
  readonly requestBodyLength: number
  readonly status: number
  readonly responseFields: string
  readonly responseBodyLength: number
  readonly connectionReused: boolean
  /** What modules decided, such as `ip_policy.decision`; keys are those of the event. */
  readonly notes: Readonly<Record<string, string | number>>
  /** The code of the refusal, when it was one. */
  readonly refusal: string | undefined
  /** False when the response could not be delivered whole. */
  readonly complete: boolean
}

/** A finished raw connection, with what the event `tcp_connection_closed` can tell of it. */
export interface ConnectionEvent {
  readonly accountId: string
  readonly entryId: string
  readonly connection: Connection
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly notes: Readonly<Record<string, string | number>>
  readonly errorCode: string | undefined
}

/** Whoever is told of finished traffic. It is asked first, so that nothing is gathered when nobody listens. */
export interface Observer {
  wantsRequests(accountId: string): boolean
  onRequest(event: RequestEvent): void
  wantsConnections(accountId: string): boolean
  onConnection(event: ConnectionEvent): void
}

/** What is gathered about one request while somebody wants to be told of it. */
export interface RequestTrace {
  readonly startedAt: number
  requestBodyLength: number
  responseBodyLength: number
  responseFields: string
  connectionReused: boolean
  tunnelId: string
  readonly notes: Record<string, string | number>
}
