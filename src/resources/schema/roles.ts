/** The roles of users in ascending order: each includes the permissions of those before it. */
export const ROLES = ['read_only', 'developer', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whether the role `actual` includes the role `required`. */
export function hasRole(actual: Role, required: Role): boolean {
  return ROLES.indexOf(actual) >= ROLES.indexOf(required)
}

/** Objects whose changes require a higher role than others of their kind (decision 134). */
export const GUARDS = {
  owner: { role: 'admin', when: 'it belongs, or is to belong, to another user or bot' },
  restriction: { role: 'admin', when: 'an IP restriction uses its IP policy' },
} as const satisfies Record<string, { role: Role; when: string }>
export type Guard = keyof typeof GUARDS

/** The role that an operation requires. */
export interface RequiredRole {
  readonly role: Role
  /** Objects of the operation that require a higher role. */
  readonly guard?: Guard
}
