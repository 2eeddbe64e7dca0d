import { defineModule } from '../module.ts'
import { references, required } from '../value.ts'

/** Admits only addresses its IP policies allow. */
export const IpRestriction = defineModule('ip_restriction', {
  ip_policies: required(references(['ipp'], 'ip_policy_ids', { minItems: 1, maxItems: 100 })),
})
