import { InvalidValue } from '../../resources/index.ts'
import type { ConnectionStep } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError, type ModuleContext } from '../modules/context.ts'
import { type ModuleName, modules } from '../modules/index.ts'

type ModuleBuilder<N extends ModuleName> = (typeof modules)[N]['build']

/** A module could not be built, so its route or edge denies all traffic (P36). */
export class ModuleBuildError extends Error {
  override name = 'ModuleBuildError'
  readonly module: string

  constructor(module: string, cause: unknown) {
    const explained = cause instanceof ModuleConfigError || cause instanceof InvalidValue
    super(explained ? cause.message : 'its settings cannot be read', { cause })
    this.module = module
  }
}

/** Builds a module; throws `ModuleBuildError` with its name. */
export function buildModule<N extends ModuleName>(
  name: N,
  settings: Parameters<ModuleBuilder<N>>[0],
  context: ModuleContext,
): ReturnType<ModuleBuilder<N>> {
  try {
    return (modules[name].build as (...args: unknown[]) => ReturnType<ModuleBuilder<N>>)(settings, context)
  } catch (error) {
    throw new ModuleBuildError(name, error)
  }
}

/** Rejects every connection because of a broken module. */
export function denyAll(module: string): ConnectionStep {
  return () => {
    throw edgeError('module_broken', module)
  }
}
