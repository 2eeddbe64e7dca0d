import { type Api, problem, requirePrincipal } from '../../api/index.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { hasRole, User } from '../../resources/index.ts'
import type { Store } from '../../store/index.ts'
import type { ListFacts } from '../page-data.ts'
import type { BrowserSessions } from '../sign-in/browser-sessions.ts'
import { scanPages } from './scan.ts'

/**
 * What lists show beside the fields of their resources: `GET /dashboard/api/list_facts/ip_policies` and
 * `GET /dashboard/api/list_facts/users`.
 */
export function mountListFacts(
  { http, authenticate }: Api,
  { store, sessions }: { store: Store; sessions: Pick<BrowserSessions, 'lastSignIns'> },
): void {
  http.get('/dashboard/api/list_facts/ip_policies', { onRequest: authenticate }, async (request) =>
    countRules(store, requirePrincipal(request).accountId),
  )

  http.get('/dashboard/api/list_facts/users', { onRequest: authenticate }, async (request) => {
    const { accountId, role } = requirePrincipal(request)
    if (!hasRole(role, User.roles.read.role)) throw problem('admins_only')
    const signIns = await sessions.lastSignIns(accountId)
    const facts: ListFacts = Object.fromEntries(
      [...signIns].map(([id, at]) => [id, { last_sign_in: formatTimestamp(at) }]),
    )
    return facts
  })
}

async function countRules(store: Store, account: string): Promise<ListFacts> {
  const counts = new Map<string, number>()
  for await (const rules of scanPages(store, 'ip_policy_rules', account))
    for (const { data } of rules) counts.set(data.ip_policy_id, (counts.get(data.ip_policy_id) ?? 0) + 1)
  return Object.fromEntries([...counts].map(([id, rules]) => [id, { rules }]))
}
