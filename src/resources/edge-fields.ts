import { Type } from 'typebox'
import { reverseLabels } from '../base/values/domain.ts'
import type { UniqueName } from './schema/define.ts'
import { described, plain } from './schema/value.ts'

/** `policies` of edges: null in every response, as the API documents. */
export const noPolicies = described(plain<null>(Type.Null(), null), 'Reserved; always null.')

/** The unique names of an edge: one edge at a time serves a hostport. */
export function hostportClaims(hostports: readonly string[] | null): UniqueName[] {
  return (hostports ?? []).map((name) => ({
    within: 'platform',
    scope: 'hostport',
    name: `${reverseLabels(name.slice(0, name.lastIndexOf(':')))}${name.slice(name.lastIndexOf(':'))}`,
    conflict: `${name} is served by another edge already.`,
  }))
}

type Login = { readonly enabled: boolean } | null | undefined

/** What is wrong with modules of which several sign visitors in. */
export function oneSignIn({
  oauth,
  saml,
  oidc,
}: {
  readonly oauth: Login
  readonly saml: Login
  readonly oidc: Login
}): { field: string; message: string } | undefined {
  const [, second] = Object.entries({ oauth, saml, oidc }).filter(([, login]) => login?.enabled)
  return second === undefined
    ? undefined
    : { field: second[0], message: 'Only one of oauth, saml and oidc can be enabled, not several.' }
}
