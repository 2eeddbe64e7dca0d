import type { Clock } from '../../base/clock.ts'
import type { Admits } from '../../base/ip-rules.ts'
import type { Choice } from '../backends/balancer.ts'
import type { Core } from '../core.ts'
import type { TlsPolicies } from '../listeners/tls-policy.ts'
import type { ConnectionStep } from '../module.ts'
import type { World } from '../modules/context.ts'
import type { Logins } from '../modules/login.ts'
import type { SigningKeys } from '../modules/sns-keys.ts'
import { authorityCertificates } from './authorities.ts'
import type { Choices, EdgeVia } from './backends.ts'
import type { RuleSets } from './ip-policies.ts'
import { BrokenModule } from './module.ts'
import type { PlaceStates } from './scoped-state.ts'
import type { Snapshot } from './snapshot.ts'

/** Everything that edges are compiled with. */
export interface CompilerParts {
  readonly core: Core
  readonly snapshot: Snapshot
  readonly rules: RuleSets
  readonly choices: Choices
  readonly states: PlaceStates
  readonly policies: TlsPolicies
  readonly logins: Logins | undefined
  readonly signingKeys: SigningKeys | undefined
}

/** Something on an edge that is broken, and why, for its owner. */
export interface BrokenPlace {
  readonly placeId: string
  readonly module: string
  readonly reason: string
}

/** One edge while it is compiled. */
export class Making {
  readonly accountId: string
  readonly parts: CompilerParts
  readonly accountAdmission: ConnectionStep
  readonly uses = new Set<string>()
  readonly broken: BrokenPlace[] = []

  constructor(parts: CompilerParts, accountId: string) {
    this.parts = parts
    this.accountId = accountId
    this.accountAdmission = parts.rules.accountAdmission(accountId)
  }

  /** Notes that the edge is made with this object, and has to be made anew when it changes. */
  use(id: string): void {
    this.uses.add(id)
  }

  /** What modules on this place may ask. */
  world(placeId: string): World {
    return new PlaceWorld(this, placeId)
  }

  choice(backendId: string, via: EdgeVia): Choice {
    const { choice, uses } = this.parts.choices.get(backendId, this.accountId, via)
    for (const id of uses) this.use(id)
    return choice
  }

  /** Notes what is broken on a place and answers with the name of the module. */
  report(placeId: string, error: unknown): string {
    const { module, message } =
      error instanceof BrokenModule ? error : new BrokenModule('configuration', error)
    this.broken.push({ placeId, module, reason: message })
    this.parts.core.log.warn(
      { id: placeId, module, reason: message },
      'a module is broken and lets nobody in',
    )
    return module
  }
}

/** What the modules of one place on an edge may ask. */
class PlaceWorld implements World {
  readonly placeId: string
  readonly #making: Making

  constructor(making: Making, placeId: string) {
    this.#making = making
    this.placeId = placeId
  }

  get accountId(): string {
    return this.#making.accountId
  }

  get clock(): Clock {
    return this.#making.parts.core.clock
  }

  get logins(): Logins | undefined {
    return this.#making.parts.logins
  }

  get signingKeys(): SigningKeys | undefined {
    return this.#making.parts.signingKeys
  }

  admits(policyIds: readonly string[]): Admits {
    for (const id of policyIds) this.#making.use(id)
    return this.#making.parts.rules.admits(policyIds)
  }

  authorities(ids: readonly string[]): readonly string[] {
    for (const id of ids) this.#making.use(id)
    return authorityCertificates(this.#making.parts.snapshot, ids)
  }

  keep<T extends object>(name: string, key: string, make: () => T): T {
    return this.#making.parts.states.keep(this.placeId, name, key, make)
  }
}
