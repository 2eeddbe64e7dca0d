import type { TObject, TSchema } from 'typebox'
import { editable, type Field, moduleMark } from './define.ts'
import type { EndpointOption } from './option.ts'
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
export interface ModuleShape<
  N extends string = string,
  F extends Fields = Fields,
  E extends EndpointOption | undefined = EndpointOption | undefined,
> {
  readonly name: N
  /** How agents and SSH clients set the module on their endpoints, if they can. */
  readonly endpoint: E
  /** The module by itself, as its own API routes write and read it. */
  readonly value: Value<WrittenObject<F>, ReadObject<F>, undefined, false>
}

const enabled = { enabled: flag(true) }

/** Declares a module; every module has `enabled`, true by default. */
export function defineModule<
  const N extends string,
  F extends Fields,
  E extends SettingOption<WrittenObject<F & typeof enabled>> | undefined = undefined,
>(
  name: N,
  fields: F,
  options: {
    rule?: (value: WrittenObject<F & typeof enabled>) => RuleViolation | undefined
    endpoint?: E
  } = {},
): ModuleShape<N, F & typeof enabled, E> {
  const { endpoint, ...rule } = options
  return {
    name,
    endpoint: endpoint as E,
    value: object({ ...enabled, ...fields }, { name: `${name} module`, ...rule }) as ModuleShape<
      N,
      F & typeof enabled
    >['value'],
  }
}

type SettingOption<S> = EndpointOption<
  string,
  string,
  string,
  TObject,
  TSchema,
  unknown,
  Partial<S> | undefined
>

/** A module field of a resource: null while unset. */
export function module<F extends Fields>(shape: Pick<ModuleShape<string, F>, 'value'>) {
  return { ...nullable(shape.value), [moduleMark]: true }
}

/** The fields of a resource that has these modules. */
export function moduleFields<M extends Record<string, Pick<ModuleShape, 'value'>>>(modules: M) {
  return Object.fromEntries(
    Object.entries(modules).map(([name, shape]) => [name, editable(module(shape))]),
  ) as { [N in keyof M]: Field<ReturnType<typeof module<FieldsOf<M[N]>>>, 'editable', false> }
}

type FieldsOf<S> = S extends ModuleShape<string, infer F> ? F : never

/** The settings of a module as records store them. */
export type Settings<S> = S extends ModuleShape<string, infer F> ? WrittenObject<F> : never
