import { defineModule } from '../schema/module.ts'
import { described, matching, required, secret } from '../schema/value.ts'

/** The largest policy, in bytes. */
export const MAX_POLICY_BYTES = 256 * 1024

const define = (example: string) =>
  defineModule('traffic_policy', 'Runs the rules of a traffic policy.', {
    value: described(
      required(
        secret(
          matching(MAX_POLICY_BYTES, /\S/, () => 'is empty; delete the module to have no policy.'),
          'shown',
        ),
      ),
      'The traffic policy, in YAML or JSON. Its rules run in order, after the modules.',
      example,
    ),
  })

/**
 * Runs the rules of a traffic policy. Its text is checked by the API, which knows the language and where the policy is
 * attached. It may contain passwords and client secrets, so it is a secret itself.
 */
export const TrafficPolicy = define(
  'on_http_request:\n  - actions:\n      - type: custom-response\n        config:\n          status_code: 503\n',
)

/** The same where there are connections and no requests. */
export const ConnectionPolicy = define(
  'on_tcp_connect:\n  - actions:\n      - type: restrict-ips\n        config:\n          deny: [203.0.113.0/24]\n',
)
