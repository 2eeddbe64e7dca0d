import { defineModule } from '../module.ts'
import { required, secret, text } from '../value.ts'

/** The largest policy, in bytes. */
export const MAX_POLICY_BYTES = 256 * 1024

/**
 * Runs the rules of a traffic policy. Its text is checked by the API, which knows the language and where the policy is
 * attached. It may contain passwords and client secrets, so it is a secret itself.
 */
export const TrafficPolicy = defineModule('traffic_policy', {
  value: required(
    secret(
      text(MAX_POLICY_BYTES, (value) =>
        value.trim() === '' ? 'is empty; delete the module to have no policy.' : undefined,
      ),
      'shown',
    ),
  ),
})
