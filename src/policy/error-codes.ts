import type { ErrorExplanation } from '../base/text/error-explanation.ts'

const file =
  'Correct the policy at the place that the message names; the server reports all errors in a policy at once.'

/** The mistakes of traffic policies. The numbers are those of the original service. */
export const policyErrors = {
  invalid_expression: {
    code: 2200,
    cause: 'An expression in a traffic policy is not valid CEL, or its result is not a boolean.',
    next: file,
  },
  unknown_action: { code: 2201, cause: 'A traffic policy names an action that does not exist.', next: file },
  wrong_phase: {
    code: 2202,
    cause: 'An action of a traffic policy cannot be used in its phase.',
    next: file,
  },
  unknown_field: {
    code: 2203,
    cause: 'The configuration of an action has a field that the action does not have.',
    next: file,
  },
  wrong_type: { code: 2204, cause: 'A value in a traffic policy has the wrong type.', next: file },
  wrong_protocol: {
    code: 2205,
    cause: 'An action cannot be used with the protocol of the endpoint.',
    next: file,
  },
  no_action: { code: 2206, cause: 'A rule of a traffic policy has no action.', next: file },
  unreachable_action: {
    code: 2207,
    cause: 'An action is never reached, because the action before it always ends the rule.',
    next: file,
  },
  invalid_header_name: { code: 2208, cause: 'A header in a traffic policy has an invalid name.', next: file },
  reserved_header: {
    code: 2209,
    cause: 'A traffic policy changes a header that only the server may change.',
    next: file,
  },
  invalid_header_value: {
    code: 2210,
    cause: 'A header in a traffic policy has an invalid value.',
    next: file,
  },
  too_many_entries: { code: 2212, cause: 'An action has too many headers or entries.', next: file },
  out_of_range: { code: 2215, cause: 'A number in a traffic policy is out of range.', next: file },
  unknown_ip_policy: {
    code: 2216,
    cause: 'A traffic policy names an IP policy by a value that is not an ID.',
    next: file,
  },
  invalid_cidr: {
    code: 2217,
    cause: 'An address range in a traffic policy is not in CIDR notation.',
    next: file,
  },
  list_too_long: { code: 2218, cause: 'A list in a traffic policy has too many entries.', next: file },
  text_too_long: { code: 2221, cause: 'A text in a traffic policy is too long.', next: file },
  unknown_value: {
    code: 2222,
    cause: 'A value in a traffic policy is not one of the allowed values.',
    next: file,
  },
  empty_value: { code: 2223, cause: 'A value in a traffic policy is empty.', next: file },
  invalid_interpolation: {
    code: 2224,
    cause: 'A text in a traffic policy contains an invalid expression.',
    next: file,
  },
  invalid_duration: {
    code: 2225,
    cause: 'A duration in a traffic policy is not valid, or is out of range.',
    next: file,
  },
  invalid_url: { code: 2226, cause: 'A URL in a traffic policy is not valid.', next: file },
  phase_of_other_protocol: {
    code: 2230,
    cause: 'The protocol of the endpoint does not have this phase.',
    next: file,
  },
  duplicate_entry: { code: 2231, cause: 'A list in a traffic policy has the same entry twice.', next: file },
  missing_field: { code: 2234, cause: 'The configuration of an action lacks a field.', next: file },
  unended_request: {
    code: 2235,
    cause: 'The traffic policy of a cloud endpoint does not end every request.',
    next: 'Add a rule without expressions whose action ends the request, such as `custom-response`, `deny` or `forward-internal`.',
  },
  malformed_document: {
    code: 2236,
    cause: 'A traffic policy is not YAML or JSON in the expected form.',
    next: file,
  },
  invalid_password: {
    code: 2237,
    cause: 'A password in a traffic policy is too short or too long.',
    next: file,
  },
  several_sign_ins: {
    code: 2239,
    cause: 'A traffic policy signs visitors in with more than one action.',
    next: file,
  },
  incomplete_certificate: {
    code: 2240,
    cause: 'A traffic policy has a certificate without its key, or a key without its certificate.',
    next: file,
  },
  foreign_cookie_domain: {
    code: 2241,
    cause:
      'A cookie domain in a traffic policy does not contain the endpoint, or does not belong to its account.',
    next: 'Reserve the domain or a wildcard below it, and use it on endpoints at or below that domain.',
  },
  invalid_domain: { code: 2243, cause: 'A domain in a traffic policy is not valid.', next: file },
  invalid_parameter: { code: 2244, cause: 'A query parameter in a traffic policy is not valid.', next: file },
  phase_not_of_routes: { code: 2248, cause: 'Routes of HTTPS edges do not have this phase.', next: file },
  invalid_variable: { code: 2250, cause: 'A variable in a traffic policy is not valid.', next: file },
  nested_too_deeply: {
    code: 2252,
    cause: 'A variable in a traffic policy is nested too deeply.',
    next: file,
  },
  too_many_actions: { code: 2255, cause: 'A rule of a traffic policy has too many actions.', next: file },
  invalid_credential: {
    code: 2257,
    cause: 'A credential in a traffic policy is not of the form user:password.',
    next: file,
  },
  invalid_realm: {
    code: 2258,
    cause: 'The realm of a basic-auth action contains characters that are not allowed.',
    next: file,
  },
  invalid_pattern: {
    code: 2261,
    cause: 'A regular expression in a traffic policy does not have RE2 syntax.',
    next: file,
  },
  too_many_rules: { code: 2264, cause: 'A traffic policy has too many rules.', next: file },
  too_many_expressions: {
    code: 2265,
    cause: 'A rule of a traffic policy has too many expressions.',
    next: file,
  },
} satisfies Record<string, ErrorExplanation & { readonly code: number }>

/** The names of the mistakes of traffic policies. */
export type PolicyErrorName = keyof typeof policyErrors

/** What is wrong with a text. */
export type PolicyFault = readonly [error: PolicyErrorName, message: string]
