import type { Policy } from './validate.ts'

/** The results of a sign-in that hold what the provider gave for the visitor. */
const TOKEN_RESULTS = ['access_token', 'refresh_token', 'identity_token'] as const

/** The tokens that a policy names. Those that it does not name are not stored. */
export function listRequiredTokens({ phases }: Policy): (typeof TOKEN_RESULTS)[number][] {
  const texts = JSON.stringify(
    Object.values(phases).flatMap((rules) =>
      rules.map(({ expressions, actions }) => [expressions, actions.map(({ source }) => source)]),
    ),
  )
  return TOKEN_RESULTS.filter((name) => texts.includes(name))
}
