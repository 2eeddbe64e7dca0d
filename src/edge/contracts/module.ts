import type { EdgeError } from '../errors.ts'
import type { EdgeResponse } from '../response/response.ts'
import type { HttpBackend } from './backend.ts'
import type { ClientConnection } from './connection.ts'
import type { Exchange } from './exchange.ts'
import type { HttpRoute, TcpHost } from './table.ts'
import type { TlsSettings } from './tls-policy.ts'

/**
 * Admits a connection before anything else runs; throws an `EdgeError` to reject it. `forward` is there once for each raw
 * connection: without it a step only says whether the connection may stay.
 */
export type ConnectionStep = (connection: ClientConnection, forward?: ForwardConnection) => void

/** Continues a TCP connection on an internal endpoint; returns why that cannot be reached. */
export type ForwardConnection = (target: TcpHost) => EdgeError | undefined

/** Max internal endpoints that one request or connection passes one after another. */
export const MAX_FORWARDS = 10

/** What ends the steps of a route: a response, or another route that the request continues on. */
export type StepResult = EdgeResponse | HttpRoute

/**
 * Acts on one request: throws an `EdgeError`, returns what ends the steps, changes the request's fields or registers a
 * response step. A promise holds the request until it settles.
 */
export type RequestStep = (exchange: Exchange) => StepResult | undefined | Promise<StepResult | undefined>

/** Wraps the backend, for modules that change how the upstream is reached. */
export type BackendStep = (backend: HttpBackend) => HttpBackend

/** What a module compiles to in each phase: a step per connection or request, or settings of the TLS handshake. */
export interface PhaseResult {
  connection: ConnectionStep
  tls: Partial<TlsSettings>
  request: RequestStep
  backend: BackendStep
}

export type Phase = keyof PhaseResult

/** A module. `build` runs once per configuration change; the step it returns runs per connection or request. */
export interface EdgeModule<Settings, Context, P extends Phase = Phase> {
  readonly name: string
  readonly phase: P
  /** Compiles the settings. When it throws, the module denies everything (P36). */
  build(settings: Settings, context: Context): PhaseResult[P]
}

/** Adds the behaviour of a module to its declared shape. */
export function implementModule<Settings, Context, P extends Phase>(
  { name, value }: { readonly name: string; readonly value: { complete?(stored: Settings): Settings } },
  { phase, build }: { phase: P; build(settings: Settings, context: Context): PhaseResult[P] },
): EdgeModule<Settings, Context, P> {
  return { name, phase, build: (stored, context) => build(value.complete?.(stored) ?? stored, context) }
}
