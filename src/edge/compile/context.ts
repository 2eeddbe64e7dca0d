import type { Clock } from '../../base/clock.ts'
import type { Admits } from '../../base/ip-rules.ts'
import type { Balancer } from '../backends/balancer.ts'
import type { Core } from '../core.ts'
import type { TlsPolicies } from '../listeners/tls-policy.ts'
import type { ConnectionStep } from '../module.ts'
import type { ModuleContext } from '../modules/context.ts'
import type { Logins } from '../modules/login.ts'
import type { SigningKeys } from '../modules/sns-keys.ts'
import { authorityCertificates } from './authorities.ts'
import type { CompiledBackends, EdgeVia } from './backends.ts'
import type { CompiledIpPolicies } from './ip-policies.ts'
import { ModuleBuildError } from './module.ts'
import type { ScopedState } from './scoped-state.ts'
import type { Snapshot } from './snapshot.ts'

/** Everything that edges are compiled with. */
export interface CompilerParts {
  readonly core: Core
  readonly snapshot: Snapshot
  readonly ipPolicies: CompiledIpPolicies
  readonly backends: CompiledBackends
  readonly scopedState: ScopedState
  readonly tlsPolicies: TlsPolicies
  readonly logins: Logins | undefined
  readonly signingKeys: SigningKeys | undefined
}

/** Something on an edge that is broken, and why, for its owner. */
export interface BrokenScope {
  readonly placeId: string
  readonly module: string
  readonly reason: string
}

/** One edge while it is compiled. */
export class CompileContext {
  readonly accountId: string
  readonly parts: CompilerParts
  readonly accountAdmission: ConnectionStep
  readonly dependencies = new Set<string>()
  readonly brokenScopes: BrokenScope[] = []

  constructor(parts: CompilerParts, accountId: string) {
    this.parts = parts
    this.accountId = accountId
    this.accountAdmission = parts.ipPolicies.accountAdmission(accountId)
  }

  /** Notes that the edge is made with this object, and has to be made anew when it changes. */
  dependOn(id: string): void {
    this.dependencies.add(id)
  }

  /** What modules on this place may ask. */
  moduleContext(scopeId: string): ModuleContext {
    return new ScopedModuleContext(this, scopeId)
  }

  balancer(backendId: string, via: EdgeVia): Balancer {
    const { balancer, dependencies } = this.parts.backends.get(backendId, this.accountId, via)
    for (const id of dependencies) this.dependOn(id)
    return balancer
  }

  /** Notes what is broken on a place and answers with the name of the module. */
  reportBroken(scopeId: string, error: unknown): string {
    const { module, message } =
      error instanceof ModuleBuildError ? error : new ModuleBuildError('configuration', error)
    this.brokenScopes.push({ placeId: scopeId, module, reason: message })
    this.parts.core.log.warn(
      { id: scopeId, module, reason: message },
      'a module is broken and lets nobody in',
    )
    return module
  }
}

/** What the modules of one place on an edge may ask. */
class ScopedModuleContext implements ModuleContext {
  readonly scopeId: string
  readonly #context: CompileContext

  constructor(context: CompileContext, scopeId: string) {
    this.#context = context
    this.scopeId = scopeId
  }

  get accountId(): string {
    return this.#context.accountId
  }

  get clock(): Clock {
    return this.#context.parts.core.clock
  }

  get logins(): Logins | undefined {
    return this.#context.parts.logins
  }

  get signingKeys(): SigningKeys | undefined {
    return this.#context.parts.signingKeys
  }

  compileIpPolicies(policyIds: readonly string[]): Admits {
    for (const id of policyIds) this.#context.dependOn(id)
    return this.#context.parts.ipPolicies.compile(policyIds)
  }

  readAuthorities(ids: readonly string[]): readonly string[] {
    for (const id of ids) this.#context.dependOn(id)
    return authorityCertificates(this.#context.parts.snapshot, ids)
  }

  getOrCreate<T extends object>(name: string, key: string, create: () => T): T {
    return this.#context.parts.scopedState.getOrCreate(this.scopeId, name, key, create)
  }
}
