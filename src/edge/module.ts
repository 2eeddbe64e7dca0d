import type { HttpBackend } from './backend.ts'
import type { Connection } from './connection.ts'
import type { Exchange } from './exchange.ts'
import type { TlsSettings } from './listeners/tls-policy.ts'
import type { Answer } from './response.ts'

/** Decides about a connection before anything else; throws a refusal to turn it away. */
export type ConnectionStep = (connection: Connection) => void

/**
 * Acts on one request: throws a refusal, returns an answer of its own, changes the request's fields, or asks to be told
 * of the response. A promise holds the request until it settles.
 */
export type RequestStep = (exchange: Exchange) => Answer | undefined | Promise<Answer | undefined>

/** Stands between the steps and whoever answers, for modules that change how the upstream is spoken to. */
export type BackendStep = (backend: HttpBackend) => HttpBackend

/** What a module of each phase compiles to: a decision per connection or request, or settings for the handshake. */
export interface PhaseResult {
  connection: ConnectionStep
  tls: Partial<TlsSettings>
  request: RequestStep
  backend: BackendStep
}

export type Phase = keyof PhaseResult

/** A step on the way in. `build` runs once per configuration change; what it returns runs per connection or request. */
export interface EdgeModule<Settings, Context, P extends Phase = Phase> {
  readonly name: string
  readonly phase: P
  /** Works out whatever can be worked out early. Throwing means that the module denies everything (P36). */
  build(settings: Settings, context: Context): PhaseResult[P]
}

/** Gives a module's shape its behaviour. */
export function defineModule<Settings, Context, P extends Phase>(
  shape: { readonly name: string },
  module: { phase: P; build(settings: Settings, context: Context): PhaseResult[P] },
): EdgeModule<Settings, Context, P> {
  return { name: shape.name, ...module }
}
