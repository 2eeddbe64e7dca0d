import type { Type } from '../../cel/index.ts'
import type { ConfigField } from '../config.ts'
import type { PhaseName, PolicyProtocol } from '../phases.ts'
import { errorResult } from './results.ts'

/** An action of the policy language. The validator, the reference page and the edge use the same declaration. */
export interface Action<N extends string = string, C = unknown, P extends PhaseName = PhaseName> {
  readonly type: N
  /** Older names of the type. */
  readonly aliases: readonly string[]
  /** What it does, in one or two sentences. */
  readonly description: string
  /** A configuration for the reference page and for editors. */
  readonly example: Readonly<Record<string, unknown>>
  readonly phases: readonly P[]
  /** The protocols it works with, where not all that have its phases. */
  readonly protocols: readonly PolicyProtocol[] | undefined
  /** Whether it ends the phase: `always`, or `sometimes` as guards do when they reject. */
  readonly ends: 'always' | 'sometimes' | 'never'
  /** Whether an action that ends the phase lets it go on with this configuration. */
  continues(config: C): boolean
  /** Whether it keeps someone out with this configuration. */
  rejects(config: C): boolean
  /** What may not work as expected with this configuration. */
  warningOf(config: C): string | undefined
  /** An endpoint has one action at most that signs visitors in. */
  readonly signsIn: boolean
  /** It applies to all connections: its rule has no expressions, and a policy has one at most. */
  readonly appliesToAll: boolean
  readonly config: ConfigField<C>
  /** Its name below `actions.ngrok`, and the types of its results. */
  readonly resultName: string
  readonly results: Readonly<Record<string, Type>>
  /** Results that are empty, not absent, when it ran without having one. */
  readonly emptyResults: readonly string[]
}

type Defaults =
  | 'aliases'
  | 'protocols'
  | 'ends'
  | 'continues'
  | 'rejects'
  | 'warningOf'
  | 'signsIn'
  | 'appliesToAll'
  | 'resultName'
  | 'results'
  | 'emptyResults'

export function defineAction<const N extends string, C, const P extends PhaseName>(
  action: Omit<Action<N, C, P>, Defaults> & Partial<Pick<Action<N, C, P>, Defaults>>,
): Action<N, C, P> {
  return {
    aliases: [],
    protocols: undefined,
    ends: 'never',
    continues: () => false,
    rejects: () => false,
    warningOf: () => undefined,
    signsIn: false,
    appliesToAll: false,
    resultName: action.type.replaceAll('-', '_'),
    results: {},
    ...action,
    emptyResults: ['error', ...(action.emptyResults ?? [])],
    // The original declares it for every action that has results, also for those that never fail here.
    ...(action.results !== undefined && { results: { error: errorResult, ...action.results } }),
  }
}

/** The configuration of an action once it is read. */
export type ConfigOf<A> = A extends { readonly config: ConfigField<infer C> } ? C : never
