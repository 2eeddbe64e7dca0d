import type { Choice } from './backends/choice.ts'
import { authorityCertificates } from './compile-authorities.ts'
import type { Choices, EdgeVia } from './compile-backends.ts'
import { BrokenModule } from './compile-module.ts'
import type { RuleSets } from './compile-rules.ts'
import type { PlaceStates } from './compile-states.ts'
import type { Core } from './core.ts'
import type { ConnectionStep } from './module.ts'
import type { Logins } from './modules/login.ts'
import type { World } from './modules/world.ts'
import type { Snapshot } from './snapshot.ts'
import type { TlsPolicies } from './tls-policy.ts'

/** Everything that edges are compiled with. */
export interface CompilerParts {
  readonly core: Core
  readonly snapshot: Snapshot
  readonly rules: RuleSets
  readonly choices: Choices
  readonly states: PlaceStates
  readonly policies: TlsPolicies
  readonly logins: Logins | undefined
}

/** Something on an edge that is broken, and why, for its owner. */
export interface BrokenPlace {
  readonly placeId: string
  readonly module: string
  readonly reason: string
}

/** One edge while it is compiled. */
export class Making {
  readonly uses = new Set<string>()
  readonly broken: BrokenPlace[] = []
  readonly accountAdmission: ConnectionStep
  readonly #parts: CompilerParts
  readonly #accountId: string

  constructor(parts: CompilerParts, accountId: string) {
    this.#parts = parts
    this.#accountId = accountId
    this.accountAdmission = parts.rules.accountAdmission(accountId)
  }

  /** What modules on this place may ask. */
  world(placeId: string): World {
    const { core, snapshot, rules, states, logins } = this.#parts
    return {
      accountId: this.#accountId,
      placeId,
      clock: core.clock,
      logins,
      admits: (ids) => {
        for (const id of ids) this.uses.add(id)
        return rules.admits(ids)
      },
      authorities: (ids) => {
        for (const id of ids) this.uses.add(id)
        return authorityCertificates(snapshot, ids)
      },
      keep: (name, key, make) => states.keep(placeId, name, key, make),
    }
  }

  choice(backendId: string, via: EdgeVia): Choice {
    const { choice, uses } = this.#parts.choices.get(backendId, this.#accountId, via)
    for (const id of uses) this.uses.add(id)
    return choice
  }

  /** Notes what is broken on a place and answers with the name of the module. */
  report(placeId: string, error: unknown): string {
    const { module, message } =
      error instanceof BrokenModule ? error : new BrokenModule('configuration', error)
    this.broken.push({ placeId, module, reason: message })
    this.#parts.core.log.warn(
      { id: placeId, module, reason: message },
      'a module is broken and lets nobody in',
    )
    return module
  }
}
