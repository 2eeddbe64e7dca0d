import { refusal } from '../errors.ts'
import type { ConnectionStep } from '../module.ts'
import { Broken, type World } from '../modules/context.ts'
import { type ModuleName, modules } from '../modules/index.ts'

type Build<N extends ModuleName> = (typeof modules)[N]['build']

/** A module that cannot be built, so that whatever it stands on denies everything (P36). */
export class BrokenModule extends Error {
  override name = 'BrokenModule'
  readonly module: string

  constructor(module: string, cause: unknown) {
    super(cause instanceof Broken ? cause.message : 'its settings cannot be read', { cause })
    this.module = module
  }
}

/** Builds a module, or says which one is broken. */
export function buildModule<N extends ModuleName>(
  name: N,
  settings: Parameters<Build<N>>[0],
  world: World,
): ReturnType<Build<N>> {
  try {
    return (modules[name].build as (...given: unknown[]) => ReturnType<Build<N>>)(settings, world)
  } catch (error) {
    throw new BrokenModule(name, error)
  }
}

/** Turns everyone away because of a broken module. */
export function denyAll(module: string): ConnectionStep {
  return () => {
    throw refusal('module_broken', module)
  }
}
