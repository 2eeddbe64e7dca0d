import { moduleMark } from './define.ts'
import {
  type Fields,
  flag,
  nullable,
  object,
  type ReadObject,
  type RuleViolation,
  type Value,
  type WrittenObject,
} from './value.ts'

/** The shape of an edge module: what requests write, records store and responses return. Its behaviour is in `src/edge/modules`. */
export interface ModuleShape<N extends string = string, F extends Fields = Fields> {
  readonly name: N
  /** The module by itself, as its own API routes write and read it. */
  readonly value: Value<WrittenObject<F>, ReadObject<F>, undefined, false>
}

const enabled = { enabled: flag(true) }

/** Declares a module; every module has `enabled`, true by default. */
export function defineModule<const N extends string, F extends Fields>(
  name: N,
  fields: F,
  options: { rule?: (value: WrittenObject<F & typeof enabled>) => RuleViolation | undefined } = {},
): ModuleShape<N, F & typeof enabled> {
  return {
    name,
    value: object({ ...enabled, ...fields }, { name: `${name} module`, ...options }) as ModuleShape<
      N,
      F & typeof enabled
    >['value'],
  }
}

/** A module field of a resource: null while unset. */
export function module<F extends Fields>(shape: ModuleShape<string, F>) {
  return { ...nullable(shape.value), [moduleMark]: true }
}

/** The settings of a module as records store them. */
export type Settings<S> = S extends ModuleShape<string, infer F> ? WrittenObject<F> : never
