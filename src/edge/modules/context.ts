import type { Clock } from '../../base/values/clock.ts'
import type { AddressFilter } from '../../base/values/ip-rules.ts'
import type { EdgeServices } from '../services/services.ts'

/** What a module can resolve while it is built. Everything else comes from its settings. */
export interface ModuleContext {
  readonly accountId: string
  /** The route, edge or endpoint the module belongs to. */
  readonly scopeId: string
  readonly clock: Clock
  readonly services: EdgeServices
  /** Compiles the rules of these policies together. Throws `ModuleConfigError` when one is missing. */
  compileIpPolicies(policyIds: readonly string[]): AddressFilter
  /** The certificates of these authorities in PEM. Throws `ModuleConfigError` when one is missing or unreadable. */
  readAuthorities(ids: readonly string[]): readonly string[]
  /** State that survives recompiles: returns the existing value while `key` is unchanged. */
  getOrCreate<T extends object>(name: string, key: string, create: () => T): T
}

/**
 * Something a module depends on is missing or unreadable, so the module denies all traffic (P36). The message is shown
 * to the owner.
 */
export class ModuleConfigError extends Error {
  override name = 'ModuleConfigError'
}
