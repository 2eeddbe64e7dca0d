import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { findNearest } from '../../base/values/nearest.ts'
import { InvalidValue } from './value.ts'

/** A flag of an option, for the agent's command line and for SSH clients. */
export interface OptionFlag {
  /** Without hyphens. */
  readonly name: string
  readonly help: string
  /** The field of the option that it sets; absent for an option that is one value. */
  readonly field?: string
  /** True when one flag of the agent may carry several comma-separated values. */
  readonly commaSeparated?: true
}

/**
 * An option that agents and SSH clients set on their endpoint. From this declaration follow the agent's flags and
 * configuration key, the field of a Bind message, the options of SSH clients, and the settings of the edge module.
 */
export interface EndpointOption<
  N extends string = string,
  W extends string = string,
  K extends string = string,
  S extends TObject = TObject,
  C extends TSchema = TSchema,
  V = unknown,
  M = unknown,
> {
  /** Its name in the options of a tunnel, which nodes of a cluster exchange. */
  readonly name: N
  /** Its field in the options of a Bind message, and the schema of that field. */
  readonly field: W
  readonly wire: S
  /** Its key in configuration files, and the schema of that key: the fields of the message, all optional, by default. */
  readonly key: K
  readonly config: C
  /** The kinds of tunnels that can have it. */
  readonly kinds: readonly ('http' | 'tcp' | 'tls')[]
  readonly flags: readonly (OptionFlag & { readonly kind: 'text' | 'bool' | 'list' })[]
  /** Whether SSH clients can set it. */
  readonly ssh: boolean
  /** In the agent: what is wrong with a configuration, as a sentence that names the key. */
  check?(config: Static<C>): string | undefined
  /** In the agent: the field of the message; undefined when the configuration says too little. */
  encode(config: Static<C>): Static<S> | undefined
  /** In the server: validates the field and returns the option; throws `InvalidValue`. */
  decode(field: Static<S>): V
  /** The settings that differ from the module's defaults; absent when the edge builds the option without settings. */
  settings?(option: V): M
}

/** Declares an endpoint option. HTTP endpoints of agents and SSH clients can have it, unless it says otherwise. */
export function defineEndpointOption<
  const N extends string,
  const W extends string,
  const K extends string,
  S extends TObject,
  V,
  C extends TSchema = ReturnType<typeof Type.Partial<S>>,
  M = undefined,
>(option: {
  name: N
  field: W
  key: K
  wire: S
  config?: C
  kinds?: EndpointOption['kinds']
  flags: readonly OptionFlag[]
  ssh?: boolean
  check?: (config: Static<C>) => string | undefined
  encode?: (config: Static<C>) => Static<S> | undefined
  decode: (field: Static<S>) => V
  settings?: (option: V) => M
}): EndpointOption<N, W, K, S, C, V, M> {
  const { wire, config = Type.Partial(wire) as TSchema as C, flags } = option
  const required: readonly string[] = wire.required ?? []
  return {
    kinds: ['http'],
    ssh: true,
    encode: (fields) =>
      required.every((name) => (fields as Record<string, unknown>)[name] !== undefined)
        ? (fields as Static<S>)
        : undefined,
    ...option,
    config,
    flags: flags.map((flag) => ({ ...flag, kind: flagKind(config, flag) })),
  }
}

function flagKind(config: TSchema, { field }: OptionFlag): 'text' | 'bool' | 'list' {
  const { type } = (field === undefined ? config : (config as TObject).properties[field]) as { type?: string }
  return type === 'boolean' ? 'bool' : type === 'array' ? 'list' : 'text'
}

/** The lists that are not empty; undefined when all of them are. */
export function dropEmptyLists<T extends Record<string, string[] | undefined>>(lists: T): T | undefined {
  const nonEmpty = Object.entries(lists).filter(([, list]) => list !== undefined && list.length > 0)
  return nonEmpty.length === 0 ? undefined : (Object.fromEntries(nonEmpty) as T)
}

/** A provider that the option knows, in any case. */
export function requireProvider(what: string, providers: readonly string[], provider: string): string {
  const name = provider.toLowerCase()
  if (providers.includes(name)) return name
  throw new InvalidValue(undefined, describeUnknownProvider(what, providers, provider))
}

/** Says that a provider is unknown, and which one was probably meant. */
export function describeUnknownProvider(
  what: string,
  providers: readonly string[],
  provider: string,
): string {
  const nearest = findNearest(provider, providers)
  const next = nearest === undefined ? `use one of ${providers.join(', ')}.` : `did you mean "${nearest}"?`
  return `"${provider.slice(0, 60)}" is not a provider of ${what}; ${next}`
}

/** Marks a number of seconds that configuration files and flags write as a duration, such as `5m`. */
export const durationMark = 'x-duration'

/** Optional text and an optional list of texts in a message. */
export const optionalText = Type.Optional(Type.String())
export const optionalTexts = Type.Optional(Type.Array(Type.String()))
