/** What users may do, from least to most: each role may do everything that the ones before it may. */
export const ROLES = ['read_only', 'developer', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** True when someone with the role `given` may do what needs `required`. */
export function hasRole(actual: Role, required: Role): boolean {
  return ROLES.indexOf(actual) >= ROLES.indexOf(required)
}

/** Objects whose changes need a higher role than others of their kind (decision 134). */
export const GUARDS = {
  owner: { role: 'admin', when: 'it belongs, or is to belong, to another user or bot' },
  restriction: { role: 'admin', when: 'an IP restriction uses its IP policy' },
} as const satisfies Record<string, { role: Role; when: string }>
export type Guard = keyof typeof GUARDS

/** The role that an operation needs. */
export interface RequiredRole {
  readonly role: Role
  /** Objects of the operation that need more. */
  readonly guard?: Guard
}
