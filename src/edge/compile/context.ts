import type { Clock } from '../../base/values/clock.ts'
import type { AddressFilter } from '../../base/values/ip-rules.ts'
import type { Balancer } from '../backends/balancer.ts'
import type { ConnectionStep } from '../contracts/module.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { Snapshot } from '../contracts/snapshot.ts'
import type { HttpRoute, TcpHost } from '../contracts/table.ts'
import type { TlsPolicies } from '../contracts/tls-policy.ts'
import type { InternalAddress } from '../contracts/tunnels.ts'
import type { ModuleContext } from '../modules/context.ts'
import type { EdgeServices } from '../services/services.ts'
import type { CountExchange } from '../stats/shared-counts.ts'
import { authorityCertificates } from './authorities.ts'
import type { CompiledBackends, EdgeVia } from './backends.ts'
import type { CompiledIpPolicies } from './ip-policies.ts'
import { ModuleBuildError } from './module.ts'
import type { PolicyStates } from './policy-states.ts'
import type { ScopedState } from './scoped-state.ts'

/** What the compiler needs besides the edge itself. */
export interface CompilerDependencies {
  readonly runtime: EdgeRuntime
  readonly services: EdgeServices
  readonly snapshot: Snapshot
  readonly ipPolicies: CompiledIpPolicies
  readonly backends: CompiledBackends
  readonly scopedState: ScopedState
  readonly policyStates: PolicyStates
  readonly countExchange: Pick<CountExchange, 'share'>
  readonly tlsPolicies: TlsPolicies
  readonly internalEndpoints: InternalEndpoints
}

/** Finds internal endpoints of an account; undefined when none is online. */
export interface InternalEndpoints {
  /** The route for one request. */
  http(accountId: string, address: InternalAddress): HttpRoute | undefined
  /** The host for one TCP connection. */
  tcp(accountId: string, address: InternalAddress): TcpHost | undefined
}

/** A route or edge that denies all traffic, and the reason shown to its owner. */
export interface BrokenScope {
  readonly scopeId: string
  readonly module: string
  readonly reason: string
}

/** Compiles one edge: collects its dependencies and its broken scopes. */
export class CompileContext {
  readonly accountId: string
  readonly dependencies: CompilerDependencies
  readonly accountRestriction: ConnectionStep
  readonly dependencyIds = new Set<string>()
  readonly brokenScopes: BrokenScope[] = []

  constructor(dependencies: CompilerDependencies, accountId: string) {
    this.dependencies = dependencies
    this.accountId = accountId
    this.accountRestriction = dependencies.ipPolicies.accountRestriction(accountId)
  }

  /** Registers a dependency: the edge is recompiled when the object with this id changes. */
  dependOn(id: string): void {
    this.dependencyIds.add(id)
  }

  /** The context that modules of this route or edge are built with. */
  moduleContext(scopeId: string): ModuleContext {
    return new ScopedModuleContext(this, scopeId)
  }

  balancer(backendId: string, via: EdgeVia): Balancer {
    const { balancer, dependencyIds } = this.dependencies.backends.get(backendId, this.accountId, via)
    for (const id of dependencyIds) this.dependOn(id)
    return balancer
  }

  /** Records a scope that could not be compiled and returns the name of the failing module. */
  reportBroken(scopeId: string, error: unknown): string {
    const { module, message } =
      error instanceof ModuleBuildError ? error : new ModuleBuildError('configuration', error)
    this.brokenScopes.push({ scopeId, module, reason: message })
    this.dependencies.runtime.log.warn(
      { id: scopeId, module, reason: message },
      'module broken: denying all traffic',
    )
    return module
  }
}

/** Gives modules access to the snapshot and registers whatever they read as a dependency of the edge. */
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
    return this.#context.dependencies.runtime.clock
  }

  get services(): EdgeServices {
    return this.#context.dependencies.services
  }

  compileIpPolicies(policyIds: readonly string[]): AddressFilter {
    for (const id of policyIds) this.#context.dependOn(id)
    return this.#context.dependencies.ipPolicies.compile(policyIds)
  }

  readAuthorities(ids: readonly string[]): readonly string[] {
    for (const id of ids) this.#context.dependOn(id)
    return authorityCertificates(this.#context.dependencies.snapshot, ids)
  }

  getOrCreate<T extends object>(name: string, key: string, create: () => T): T {
    return this.#context.dependencies.scopedState.getOrCreate(this.scopeId, name, key, create)
  }
}
