import { type Identity, labelOf, SignInError } from './sign-in.ts'

/** Whom a module admits after sign-in. Each list that is not empty has to be met; empty lists admit everyone. */
export interface AllowRules {
  /** In lower case. The visitor has one of these addresses or an address at one of these domains. */
  readonly emails: readonly string[]
  readonly domains: readonly string[]
  /** The visitor is a member of one of them. */
  readonly groups: readonly string[]
  /** `name=value`. For each name the visitor has one of its values. */
  readonly claims: readonly string[]
}

/** Rules that admit everyone who can sign in. */
export const ALLOW_EVERYONE: AllowRules = { emails: [], domains: [], groups: [], claims: [] }

/** Throws `SignInError` unless the rules admit this identity. */
export function requireAllowed(identity: Identity, { emails, domains, groups, claims }: AllowRules): void {
  const person = labelOf(identity)
  if (emails.length + domains.length > 0 && !hasAllowedEmail(identity.email, emails, domains))
    throw new SignInError('person_not_allowed', { person })
  if (groups.length > 0 && !groups.some((group) => identity.groups.includes(group)))
    throw new SignInError('group_not_allowed', { person })
  // An unverified email must not grant access, as a claim neither.
  const known = { ...identity.claims, email: identity.email }
  for (const [name, values] of groupClaims(claims))
    if (!listTexts(readClaim(known, name)).some((value) => values.has(value)))
      throw new SignInError('person_not_allowed', { person })
}

/** The claims that the rules ask for. */
export function listClaims({ emails, domains, groups, claims }: AllowRules): string[] {
  return [
    ...(emails.length + domains.length > 0 ? ['email'] : []),
    ...(groups.length > 0 ? ['groups'] : []),
    ...groupClaims(claims).keys(),
  ]
}

/** A claim by its name, or by the path to it in an object, such as `realm_access.roles`. */
export function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const key of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function hasAllowedEmail(email: string, emails: readonly string[], domains: readonly string[]): boolean {
  const address = email.toLowerCase()
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return address.includes('@') && (emails.includes(address) || domains.includes(domain))
}

function groupClaims(rules: readonly string[]): Map<string, Set<string>> {
  const valuesByName = new Map<string, Set<string>>()
  for (const rule of rules) {
    const end = rule.indexOf('=')
    const name = rule.slice(0, end)
    const values = valuesByName.get(name) ?? new Set()
    valuesByName.set(name, values.add(rule.slice(end + 1)))
  }
  return valuesByName
}

/** The texts of a claim that is one value or a list of values. */
function listTexts(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values
    .filter((entry) => ['string', 'number', 'boolean'].includes(typeof entry))
    .map((entry) => String(entry))
}
