import { IpRestrictionModule, type Settings } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import { defineModule, type RequestStep } from '../module.ts'
import type { ModuleContext } from './context.ts'

/** Admits a connection only from the addresses its IP policies allow. */
export const ipRestriction = defineModule(IpRestrictionModule, {
  phase: 'connection',
  build({ ip_policy_ids }: Settings<typeof IpRestrictionModule>, context: ModuleContext) {
    const admits = context.compileIpPolicies(ip_policy_ids)

    return ({ remoteAddress }) => {
      if (!admits(remoteAddress)) throw refusal('address_denied', remoteAddress)
    }
  },
})

/** Records the admission in the request event: a denied client never gets this far. */
export const noteAdmitted: RequestStep = (exchange) => {
  exchange.note('ip_policy.decision', 'allow')
  return undefined
}
