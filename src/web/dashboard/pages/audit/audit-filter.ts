/** What the audit log is limited to; an empty text means everything. */
export interface AuditFilter {
  readonly period: string
  readonly person: string
  readonly action: string
  readonly outcome: string
}

export const NO_FILTER: AuditFilter = { period: '', person: '', action: '', outcome: '' }

export const PERIODS: readonly (readonly [string, string])[] = [
  ['', 'All time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
]

/** Actions on modules end with the verb: `oidc.replace`. */
const ACTIONS: Readonly<Record<string, string>> = {
  create: "obj.action.endsWith('create')",
  update: "(obj.action.endsWith('update') || obj.action.endsWith('replace'))",
  delete: "obj.action.endsWith('delete')",
  sign_in: "obj.action in ['sign_in', 'sign_in_with_recovery_code']",
}

/** The filter expression of the API. */
export function toFilterExpression({ period, person, action, outcome }: AuditFilter): string {
  return [
    period && `obj.at > timestamp(time.now).subtract('${period}')`,
    person && `obj.principal == '${person}'`,
    ACTIONS[action],
    outcome && `obj.outcome == '${outcome}'`,
  ]
    .filter(Boolean)
    .join(' && ')
}
