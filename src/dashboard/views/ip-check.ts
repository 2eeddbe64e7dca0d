import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { fieldProblem, requirePrincipal } from '../../api/index.ts'
import { parseAddress } from '../../base/values/cidr.ts'
import { compileRules, type IpRule, plainAddress } from '../../base/values/ip-rules.ts'
import type { Store } from '../../store/index.ts'
import type { AddressCheck, IpVerdict } from '../page-data.ts'
import { scanAll } from './scan.ts'

const MAX_POLICIES = 100

/**
 * `GET /dashboard/api/ip_policies/check?policies=a,b&address=...`: whether the address is allowed, decided by the
 * function that the edge uses. Includes the account's own restrictions, which apply first.
 */
export function mountIpCheck(
  http: FastifyInstance,
  { authenticate, store }: { authenticate: onRequestHookHandler; store: Store },
): void {
  http.get<{ Querystring: { policies?: unknown; address?: unknown } }>(
    '/dashboard/api/ip_policies/check',
    { onRequest: authenticate },
    async (request): Promise<AddressCheck> => {
      const { query } = request
      const account = requirePrincipal(request).accountId
      const address = plainAddress(String(query.address ?? '').trim())
      if (parseAddress(address) === undefined)
        throw fieldProblem(
          'address',
          'invalid_field',
          address === ''
            ? 'address: name the address to try, such as 203.0.113.7.'
            : `address: "${address}" is not an IPv4 or IPv6 address.`,
        )
      const policies = String(query.policies ?? '')
        .split(',')
        .filter((id) => id !== '')
      if (policies.length > MAX_POLICIES)
        throw fieldProblem(
          'policies',
          'invalid_field',
          `policies: at most ${MAX_POLICIES} can be tried at once.`,
        )
      for (const id of policies)
        if ((await store.get('ip_policies', account, id)) === undefined)
          throw fieldProblem(
            'policies',
            'invalid_field',
            `policies: there is no IP policy with the id ${id}.`,
          )
      const rules = await scanAll(store, 'ip_policy_rules', account)
      const rulesOf = (ids: readonly string[]) =>
        rules.filter(({ data }) => ids.includes(data.ip_policy_id)).map(({ data }) => data)
      const restrictions = await scanAll(store, 'ip_restrictions', account)
      const existing = new Set((await scanAll(store, 'ip_policies', account)).map(({ id }) => id))
      const evaluateRestriction = (ids: readonly string[]): IpVerdict => {
        const missing = ids.find((id) => !existing.has(id))
        return missing === undefined
          ? evaluateRules(rulesOf(ids), address)
          : { allowed: false, because: `The IP policy ${missing} is missing, so no address is allowed.` }
      }
      return {
        address,
        ...(policies.length > 0 && evaluateRules(rulesOf(policies), address)),
        restrictions: restrictions.map(({ id, data }) => ({
          id,
          type: data.type,
          enforced: data.enforced === true,
          ...evaluateRestriction(data.ip_policy_ids),
        })),
      }
    },
  )
}

/** Evaluates the rules for an address. */
export function evaluateRules(rules: readonly IpRule[], address: string): IpVerdict {
  const allowed = compileRules(rules)(address)
  const matchingRules = rules.filter(({ cidr }) => compileRules([{ cidr, action: 'allow' }])(address))
  const denyRule = matchingRules.find(({ action }) => action === 'deny')
  if (denyRule !== undefined)
    return { allowed, because: `The rule for ${denyRule.cidr} denies it, and a deny always wins.` }
  if (allowed)
    return { allowed, because: `The rule for ${matchingRules[0]!.cidr} allows it, and no rule denies it.` }
  return {
    allowed,
    because:
      rules.length === 0
        ? 'There are no rules yet, and without rules no address is allowed.'
        : 'No rule allows it, and an address that is not allowed is denied.',
  }
}
