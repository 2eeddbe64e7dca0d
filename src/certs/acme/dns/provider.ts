import { setTimeout as delay } from 'node:timers/promises'
import type { Outbound } from '../../../base/outbound/outbound.ts'

/** A zone that the credentials may change. */
export interface ProviderZone {
  /** How the provider's API names it. */
  readonly id: string
  readonly name: string
}

/**
 * Publishes TXT records at a DNS provider. Adding a value that is there already and removing one that is not both succeed,
 * and values of others at the same name stay: an interrupted job repeats its last step.
 */
export interface DnsProvider {
  /** The closest zone above a name; undefined when the credentials give access to none. */
  findZone(name: string): Promise<ProviderZone | undefined>
  addTxt(zone: ProviderZone, name: string, values: readonly string[]): Promise<void>
  removeTxt(zone: ProviderZone, name: string, values: readonly string[]): Promise<void>
}

/** A credential or option of a provider, read from the environment or the credentials file. */
export interface ProviderVariable {
  /** The names it is known by; the first one is the documented one. */
  readonly names: readonly [string, ...string[]]
  readonly fallback?: string
  /** Without a fallback, whether the provider works without it. */
  readonly optional?: true
}

/** What providers call other machines with. */
export interface ProviderContext {
  /** The guarded client. */
  readonly outbound: Outbound
  /** Ends retries when the server stops or the job loses its lease. */
  readonly signal: AbortSignal
}

type Values<V extends Record<string, ProviderVariable>> = {
  readonly [K in keyof V]: V[K] extends { optional: true } ? string | undefined : string
}

/** A provider as declared: its name for people, its variables, and how to open it. */
export interface ProviderDefinition {
  readonly title: string
  readonly variables: Readonly<Record<string, ProviderVariable>>
  open(values: Readonly<Record<string, string | undefined>>, context: ProviderContext): DnsProvider
}

/** Declares a provider; `open` throws a sentence for a value that cannot be used. */
export function defineProvider<const V extends Record<string, ProviderVariable>>(definition: {
  title: string
  variables: V
  open(values: Values<V>, context: ProviderContext): DnsProvider
}): ProviderDefinition {
  const { title, variables, open } = definition
  // `readVariables` has checked that every required value is there.
  return { title, variables, open: (values, context) => open(values as Values<V>, context) }
}

/** A provider rejected a call or could not be reached. The message names the provider and what it said. */
export class DnsProviderError extends Error {
  override name = 'DnsProviderError'
  /** Whether the same call may succeed in a moment. */
  readonly transient: boolean
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    options: { transient?: boolean; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.transient = options.transient ?? false
    this.retryAfterMs = options.retryAfterMs
  }
}

const MAX_ATTEMPTS = 4
const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/** Repeats a call for a few seconds while it fails transiently; the backoff of the job covers longer outages. */
export async function retryTransient<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof DnsProviderError) || !error.transient || attempt === MAX_ATTEMPTS) throw error
      const wait = error.retryAfterMs ?? MIN_RETRY_MS * 2 ** (attempt - 1)
      if (wait > MAX_RETRY_MS) throw error
      await delay(wait, undefined, { signal })
    }
  }
}

/** The TTL of challenge records, the lowest that all providers accept. */
export const CHALLENGE_TTL = 60

/** The names of the zones that could hold a name, the closest first. */
function zoneCandidates(name: string): string[] {
  const labels = name.split('.')
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'))
}

/** Finds the first candidate that `lookUp` returns a zone for. */
export async function findClosestZone(
  name: string,
  lookUp: (candidate: string) => Promise<ProviderZone | undefined>,
): Promise<ProviderZone | undefined> {
  for (const candidate of zoneCandidates(name)) {
    const zone = await lookUp(candidate)
    if (zone !== undefined) return zone
  }
  return undefined
}

/** A name relative to its zone, `@` for the zone itself. */
export function relativeName(name: string, zone: ProviderZone): string {
  return name === zone.name ? '@' : name.slice(0, -zone.name.length - 1)
}

/** A TXT value as a quoted character string. Challenge values contain nothing to escape. */
export function quote(value: string): string {
  return `"${value}"`
}

export function unquote(text: string): string {
  return text.replace(/^"(.*)"$/, '$1')
}
