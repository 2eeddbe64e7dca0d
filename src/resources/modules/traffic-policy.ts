import { defineModule } from '../module.ts'
import { described, required, secret, text } from '../value.ts'

/** The largest policy, in bytes. */
export const MAX_POLICY_BYTES = 256 * 1024

/**
 * Runs the rules of a traffic policy. Its text is checked by the API, which knows the language and where the policy is
 * attached. It may contain passwords and client secrets, so it is a secret itself.
 */
export const TrafficPolicy = defineModule('traffic_policy', 'Runs the rules of a traffic policy.', {
  value: described(
    required(
      secret(
        text(MAX_POLICY_BYTES, (value) =>
          value.trim() === '' ? 'is empty; delete the module to have no policy.' : undefined,
        ),
        'shown',
      ),
    ),
    'The traffic policy, in YAML or JSON. Its rules run in order, after the modules.',
    'on_http_request:\n  - actions:\n      - type: custom-response\n        config:\n          status_code: 503\n',
  ),
})
