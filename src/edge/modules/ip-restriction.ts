import { IpRestrictionModule, type Settings } from '../../resources/index.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import type { ModuleContext } from './context.ts'

/** Admits a connection only from the addresses its IP policies allow. */
export const ipRestriction = implementModule(IpRestrictionModule, {
  phase: 'connection',
  build({ ip_policy_ids }: Settings<typeof IpRestrictionModule>, context: ModuleContext) {
    const admits = context.compileIpPolicies(ip_policy_ids)

    return ({ remoteAddress }) => {
      if (!admits(remoteAddress)) throw edgeError('address_denied', remoteAddress)
    }
  },
})

/** Records the admission in the request event: a denied client never gets this far. */
export const noteAdmitted: RequestStep = (exchange) => {
  exchange.annotate('ip_policy.decision', 'allow')
  return undefined
}
