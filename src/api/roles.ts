import type { Principal } from '../auth/index.ts'
import { GUARDS, type Guard, hasRole, IpRestriction } from '../resources/index.ts'
import type { Transaction } from '../store/index.ts'
import type { ApiCall } from './call.ts'
import { type Problem, problem } from './problems.ts'
import { type ApiRoute, actionOf } from './routes.ts'

type Body = Readonly<Record<string, unknown>>
type TransactionCall = ApiCall & { tx: Transaction }

// An account has at most one of each type.
const MAX_RESTRICTIONS = 10

/** The problem if the caller's role does not allow the operation. */
export function roleProblem({ role }: Principal, { requires, method }: ApiRoute): Problem | undefined {
  if (hasRole(role, requires.role)) return undefined
  return problem(role === 'read_only' && method !== 'GET' ? 'read_only' : 'admins_only')
}

/** Whether a guard applies to a record. */
const GUARD_CHECKS: Record<Guard, (record: Body, call: TransactionCall) => boolean | Promise<boolean>> = {
  owner: ({ owner_id }, { principal }) => owner_id !== principal.ownerId,
  restriction: async ({ ip_policy_id }, call) =>
    (await restrictionsUsing(ip_policy_id as string, call)).length > 0,
}

/** Rejects a change of a record whose guard requires a higher role. Runs inside the transaction of the change. */
export async function requireGuardRole(record: Body, call: TransactionCall): Promise<void> {
  const { guard } = call.operation.requires
  if (guard === undefined || hasRole(call.principal.role, GUARDS[guard].role)) return
  if (!(await GUARD_CHECKS[guard](record, call))) return
  throw guard === 'owner' && actionOf(call.operation) === 'create'
    ? problem('other_owner')
    : problem('guarded', GUARDS[guard].when)
}

/** The account's restrictions that use a policy. */
export async function restrictionsUsing(policyId: string, { tx, principal }: TransactionCall) {
  const rows = await tx.list(IpRestriction.kind, principal.accountId, { limit: MAX_RESTRICTIONS })
  return rows
    .map(({ id, data }) => ({ id, restriction: data }))
    .filter(({ restriction }) => restriction.ip_policy_ids.includes(policyId))
}
