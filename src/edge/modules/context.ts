import type { Clock } from '../../base/clock.ts'
import type { Admits } from '../../base/ip-rules.ts'
import type { Logins } from './login.ts'
import type { SigningKeys } from './sns-keys.ts'

/** What a module may ask while it is built. Everything else it knows from its settings. */
export interface ModuleContext {
  readonly accountId: string
  /** The route or tunnel the module stands on. */
  readonly scopeId: string
  readonly clock: Clock
  /** Sign-in of visitors, where this edge has it. */
  readonly logins: Logins | undefined
  /** Public keys that senders of webhooks publish, where this edge may fetch them. */
  readonly signingKeys: SigningKeys | undefined
  /** Set when only these may pass after they signed in, whatever the settings of the module allow. */
  readonly allowedIdentities?: { readonly emails: readonly string[]; readonly domains: readonly string[] }
  /** Whom the rules of these policies admit, all taken together. Throws `Broken` when one is missing. */
  compileIpPolicies(policyIds: readonly string[]): Admits
  /** The certificates of these authorities in PEM, each readable. Throws `Broken` when one is missing. */
  readAuthorities(ids: readonly string[]): readonly string[]
  /** State that outlives changes elsewhere: the same as before while `key` stays the same. */
  getOrCreate<T extends object>(name: string, key: string, create: () => T): T
}

/** Something a module needs is missing or unreadable, so it denies everything (P36). The message is for the owner. */
export class ModuleConfigError extends Error {
  override name = 'ModuleConfigError'
}
