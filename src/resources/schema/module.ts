import type { TObject, TSchema } from 'typebox'
import { editable, moduleMark } from './define.ts'
import type { EndpointOption } from './option.ts'
import {
  type DescribedFields,
  described,
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
  F extends DescribedFields = DescribedFields,
  E extends EndpointOption | undefined = EndpointOption | undefined,
> {
  readonly name: N
  /** What it does, in one sentence of the reference. */
  readonly description: string
  /** How agents and SSH clients set the module on their endpoints, if they can. */
  readonly endpoint: E
  /** The module by itself, as its own API routes write and read it. */
  readonly value: Value<WrittenObject<F>, ReadObject<F>, undefined, false>
}

const enabled = { enabled: described(flag(true), 'Whether the module applies to traffic.') }

/** Declares a module; every module has `enabled`, true by default. */
export function defineModule<
  const N extends string,
  F extends DescribedFields,
  E extends SettingOption<WrittenObject<F & typeof enabled>> | undefined = undefined,
>(
  name: N,
  description: string,
  fields: F,
  options: {
    rule?: (value: WrittenObject<F & typeof enabled>) => RuleViolation | undefined
    endpoint?: E
  } = {},
): ModuleShape<N, F & typeof enabled, E> {
  const { endpoint, ...rule } = options
  return {
    name,
    description,
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

/** The field of a resource that has this module: null while unset. */
export function moduleField<F extends DescribedFields>({
  value,
  description,
}: Pick<ModuleShape<string, F>, 'value' | 'description'>) {
  return editable({ ...nullable(value), [moduleMark]: true }, description)
}

/** The fields of a resource that has these modules. */
export function moduleFields<M extends Record<string, Pick<ModuleShape, 'value' | 'description'>>>(
  modules: M,
) {
  return Object.fromEntries(Object.entries(modules).map(([name, shape]) => [name, moduleField(shape)])) as {
    [N in keyof M]: ReturnType<typeof moduleField<FieldsOf<M[N]>>>
  }
}

type FieldsOf<S> = S extends ModuleShape<string, infer F> ? F : never

/** The settings of a module as records store them. */
export type Settings<S> = S extends ModuleShape<string, infer F> ? WrittenObject<F> : never
