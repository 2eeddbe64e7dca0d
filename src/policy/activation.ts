import type { X509Certificate } from 'node:crypto'
import type { RequestPath } from '../base/http/request-path.ts'
import type { Budget, MapValue, Meter, Value } from '../cel/index.ts'
import type { IpFacts } from './ip-data/ip-data.ts'

/** The client connection, as `conn` reads it. */
export interface ConnectionSource {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  readonly region: string
  /** Wall-clock milliseconds. */
  readonly startedAt: number
  /** Received and sent so far; undefined where that is not counted. */
  readonly bytesIn: number | undefined
  readonly bytesOut: number | undefined
  /** Undefined for a plain connection. */
  readonly tls: TlsSource | undefined
  /** The pod in a Kubernetes cluster that connected; undefined for other clients. */
  readonly pod?: PodSource | undefined
  /** What is known about an address, if anything is. */
  ipFacts(address: string): IpFacts | undefined
}

/** A pod, as its cluster names it. */
export interface PodSource {
  readonly id: string
  readonly name: string
  readonly namespace: string
  readonly annotations: ReadonlyMap<string, string>
}

/** What is not negotiated yet, or not here, is undefined. */
export interface TlsSource {
  readonly sni: string | undefined
  /** Such as `TLSv1.3`. */
  readonly version: string | undefined
  readonly cipher: string | undefined
  readonly alpn: string | undefined
  readonly ja4: string | undefined
  readonly clientCertificate: X509Certificate | undefined
  readonly serverCertificate: X509Certificate | undefined
}

/** The header fields of a message, as the actions before have left them. */
export interface MessageSource {
  readonly headers: MapValue
  /** The values of one header by its lower-case name, in order: most expressions need no more. */
  header(name: string): readonly string[]
  /**
   * What a function reads from the message: run once until an action changes the message, however often expressions ask.
   * It charges for what it parses.
   */
  once<T>(read: (message: this, meter: Meter) => T): T
}

/** The request, as `req` reads it. */
export interface RequestSource extends MessageSource {
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  /** The host with the port that the client sent, if any. */
  readonly authority: string
  /** Path and query. */
  readonly target: string
  /** The path of the target. Reading one that has no single meaning rejects the request. */
  readonly path: RequestPath
  /** `HTTP/1.1` */
  readonly version: string
  /** -1 when it is not known or there is no body. */
  readonly contentLength: number
  /** Wall-clock milliseconds. */
  readonly receivedAt: number
}

/** The response, as `res` reads it. */
export interface ResponseSource extends MessageSource {
  readonly status: number
  /** -1 when it is not known. */
  readonly contentLength: number
}

/** The endpoint or edge that the policy is attached to. */
export interface EndpointSource {
  readonly id: string
  readonly protocol: string
  readonly host: string
  readonly port: number
  /** `host:port` */
  readonly addr: string
  readonly url: string
}

/** What expressions of a policy read. */
export interface Activation {
  /** For everything that is evaluated in this run of a phase. */
  readonly budget: Budget
  readonly conn: ConnectionSource
  readonly endpoint: EndpointSource
  /** Undefined before a request has arrived. */
  readonly req: RequestSource | undefined
  /** Undefined before the response has. */
  readonly res: ResponseSource | undefined
  /** What `set-vars` has set in this phase. */
  readonly vars: Map<string, Value>
  /** What the last execution of each action found out, by its name with underscores. */
  readonly results: Record<string, ActionResult>
  /** What `retry_condition` reads; undefined elsewhere. */
  readonly retry: RetrySource | undefined
  /** Wall-clock milliseconds. */
  now(): number
  /** The value of a secret; undefined when there is none. */
  secret(vault: string, name: string): string | undefined
}

/** The calls that an `http-request` has made so far. */
export interface RetrySource {
  readonly attempts: number
  readonly lastAttempt: ActionResult
}

/** Values by the names that the action declares; objects are nested results. */
export type ActionResult = Readonly<Record<string, unknown>>
