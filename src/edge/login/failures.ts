/** One way in which a sign-in fails. */
interface FailureKind {
  /** The error that the visitor gets. */
  readonly error: 'login_denied' | 'login_failed' | 'login_misconfigured' | 'login_provider_unavailable'
  /** What happened, for the log, the dashboard and the documents. */
  readonly cause: string
  /** What the visitor reads, where the error has a reason: the end of a sentence, in which `{person}` stands for them. */
  readonly visitor?: string
  /** What the owner can change; names the setting. */
  readonly owner: string
  /** How it is logged; what concerns its visitor alone is not, and is no event. */
  readonly log: 'warn' | 'info' | 'none'
}

const INVALID_RESPONSE = 'the response from the identity provider was not valid'
const OPEN_AGAIN = 'Nothing; opening the page again starts a new sign-in.'
const COMPARE_SETTINGS = 'Compare the settings of the sign-in with those of the application at the provider.'

const kinds = {
  // The provider knows the visitor, who may not enter.
  person_not_allowed: {
    error: 'login_denied',
    cause: 'No rule allows the person.',
    visitor: 'no rule of this page allows {person}',
    owner:
      'Change `email_addresses`, `email_domains` or `authorized_claims`. An address that the provider calls unverified does not count.',
    log: 'info',
  },
  group_not_allowed: {
    error: 'login_denied',
    cause: 'The person is not a member of any group with access.',
    visitor: 'you are not a member of a group with access to this page',
    owner:
      'Compare `authorized_groups` (`teams`, `organizations`) with the groups that the provider sends; they must match exactly.',
    log: 'info',
  },
  rule_denied: {
    error: 'login_denied',
    cause: 'A rule of the traffic policy denies the person, who has signed in.',
    visitor: 'no rule of this page allows {person}',
    owner: 'Change the rule with `deny` in the traffic policy.',
    log: 'none',
  },
  cancelled: {
    error: 'login_failed',
    cause: 'The person cancelled the sign-in at the provider, or the provider did not allow it.',
    visitor: 'it was cancelled at the identity provider',
    owner: 'If the person did not cancel it, give them access to the application at the provider.',
    log: 'info',
  },
  interaction_required: {
    error: 'login_failed',
    cause: 'The provider needs to prompt the person, but the request forbids prompts.',
    visitor: 'the identity provider has to ask you to sign in there first',
    owner: 'Remove `prompt=none` from `authz_url_params`.',
    log: 'info',
  },

  // The sign-in does not belong to this browser, this page or this moment.
  expired: {
    error: 'login_failed',
    cause: 'The person took longer than ten minutes, or opened the address again later.',
    visitor: 'it took too long',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  completed: {
    error: 'login_failed',
    cause: 'The sign-in was already completed.',
    visitor: 'it has already been completed',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  other_browser: {
    error: 'login_failed',
    cause: 'The sign-in was started in another browser, or the browser keeps no cookies.',
    visitor: 'it was started in another browser, or this one does not keep cookies',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  other_page: {
    error: 'login_failed',
    cause: 'The sign-in is for another page.',
    visitor: 'it is for another page',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  settings_changed: {
    error: 'login_failed',
    cause: 'The settings of the page have changed since the sign-in began.',
    visitor: 'the page has changed since it began',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  not_started_here: {
    error: 'login_failed',
    cause: 'The response of a provider does not belong to any sign-in of this platform.',
    visitor: 'it was not started here',
    owner: OPEN_AGAIN,
    log: 'none',
  },
  wrong_port: {
    error: 'login_failed',
    cause: 'The page was opened on a port on which the platform does not serve it.',
    visitor: 'it is not possible on this port of the host; open the page on its usual port',
    owner: 'If a proxy in front of the server changes the port, set `--public-https-port`.',
    log: 'none',
  },
  response_invalid: {
    error: 'login_failed',
    cause: 'The response is not valid, or was modified in transit.',
    visitor: INVALID_RESPONSE,
    owner: `${COMPARE_SETTINGS} The reason in the log names what was wrong.`,
    log: 'warn',
  },
  idp_initiated_off: {
    error: 'login_failed',
    cause: 'The provider started the sign-in, which the page does not accept.',
    visitor: 'it has to start at the page itself',
    owner: 'Set `allow_idp_initiated`, or open the page instead of the link at the provider.',
    log: 'warn',
  },
  page_unknown: {
    error: 'login_failed',
    cause: 'The provider started the sign-in and named no page of this route in `RelayState`.',
    visitor: 'the identity provider did not say which page to open',
    owner: 'Set the https address of a page of this route as `RelayState` at the provider.',
    log: 'warn',
  },
  logout_invalid: {
    error: 'login_failed',
    cause: 'A sign-out message of the provider is not signed, not valid, or was used before.',
    visitor: 'the sign-out message was not valid; it has to be signed and can be used once',
    owner:
      'Configure a SAML provider to sign its sign-out messages. For OpenID, compare `issuer` and `client_id`, and set the clocks of this server and of the provider (NTP).',
    log: 'warn',
  },

  // Set up wrongly.
  client_rejected: {
    error: 'login_misconfigured',
    cause: 'The provider rejects the client.',
    owner:
      'Compare `client_id` and `client_secret` with those at the provider, and `token_endpoint_auth_method` with how the client is registered to authenticate.',
    log: 'warn',
  },
  code_rejected: {
    error: 'login_failed',
    cause: 'The provider rejects the authorization code: it is for another client, was used, or expired.',
    visitor: INVALID_RESPONSE,
    owner:
      'Compare `client_id` with the application at the provider, and check that codes stay valid for a few seconds and that PKCE with S256 is allowed there.',
    log: 'warn',
  },
  scope_rejected: {
    error: 'login_misconfigured',
    cause: 'The provider does not know a scope, or does not grant it to this client.',
    owner: 'Remove the scope from `scopes`, or allow it for the client at the provider.',
    log: 'warn',
  },
  request_rejected: {
    error: 'login_misconfigured',
    cause: 'The provider rejects the request.',
    owner:
      'The error of the provider says why. Pushed authorization requests (PAR) and request objects must not be required for this client; SAML requests may have to be signed (`sign_requests` of a policy).',
    log: 'warn',
  },
  discovery_failed: {
    error: 'login_misconfigured',
    cause: "The provider's metadata cannot be used.",
    owner:
      'Open `<issuer>/.well-known/openid-configuration` in a browser and correct `issuer`; for SAML check `idp_metadata_url`, whose metadata needs a `SingleSignOnService` with the HTTP-Redirect binding.',
    log: 'warn',
  },
  issuer_mismatch: {
    error: 'login_misconfigured',
    cause: 'The provider identifies itself with another issuer.',
    owner:
      "Copy `issuer` from the provider's metadata exactly, including a trailing slash. For SAML, import the metadata again.",
    log: 'warn',
  },
  algorithm_unsupported: {
    error: 'login_misconfigured',
    cause: 'The ID token is not signed with a supported public-key algorithm.',
    owner:
      'Configure the provider to sign ID tokens of this client with RS256, PS256, ES256 or EdDSA, not HS256.',
    log: 'warn',
  },
  token_encrypted: {
    error: 'login_misconfigured',
    cause: 'The ID token is encrypted.',
    owner: 'Switch off the encryption of ID tokens for this client at the provider.',
    log: 'warn',
  },
  signature_mismatch: {
    error: 'login_misconfigured',
    cause: 'The signature matches no key that the provider publishes.',
    owner:
      "If the provider has new keys, import its metadata again as `idp_metadata`, or use `idp_metadata_url`, which is refreshed automatically. OpenID keys are read from the provider's `jwks_uri`.",
    log: 'warn',
  },
  clock_wrong: {
    error: 'login_misconfigured',
    cause: 'The response is not valid at this time: a clock is wrong.',
    owner: 'Set the clocks of this server and of the provider (NTP); a difference of 60 seconds is allowed.',
    log: 'warn',
  },
  token_invalid: {
    error: 'login_failed',
    cause: 'The token is for another client, from another issuer, or does not identify a person.',
    visitor: INVALID_RESPONSE,
    owner: 'Compare `client_id` and `issuer` with those of the application at the provider.',
    log: 'warn',
  },
  userinfo_rejected: {
    error: 'login_misconfigured',
    cause: 'The UserInfo endpoint of the provider gives no valid response.',
    owner:
      'Check that the scopes of the client allow UserInfo, and that its response is not signed or encrypted.',
    log: 'warn',
  },
  identity_too_large: {
    error: 'login_misconfigured',
    cause: 'The id of the person is too long for a cookie.',
    owner: 'Configure the provider to send a shorter `sub` or `NameID`.',
    log: 'warn',
  },
  assertion_unsigned: {
    error: 'login_misconfigured',
    cause: 'Neither the SAML response nor its assertion is signed.',
    owner: 'Configure the provider to sign assertions or responses.',
    log: 'warn',
  },
  signature_weak: {
    error: 'login_misconfigured',
    cause: 'The signature uses an algorithm that is not accepted, such as SHA-1.',
    owner: 'Configure the provider to sign with RSA and SHA-256, SHA-384 or SHA-512.',
    log: 'warn',
  },
  assertion_encrypted: {
    error: 'login_misconfigured',
    cause: 'The assertion is encrypted.',
    owner: 'Switch off the encryption of assertions for this service provider.',
    log: 'warn',
  },
  audience_mismatch: {
    error: 'login_failed',
    cause: 'The assertion is for another service provider.',
    visitor: INVALID_RESPONSE,
    owner: 'Compare `entity_id` with the entity id (audience) of the service provider at the provider.',
    log: 'warn',
  },
  provider_untrusted: {
    error: 'login_misconfigured',
    cause: 'The TLS certificate of the provider is not trusted.',
    owner:
      'If your own authority issued it, the operator of the server can add that with `--outbound-ca`; otherwise renew the certificate of the provider.',
    log: 'warn',
  },
  provider_forbidden: {
    error: 'login_misconfigured',
    cause:
      'The server may not call the provider: it is not on the public Internet, or is not served over HTTPS on port 443.',
    owner: 'The operator of the server has to allow the address with `--outbound-allow`.',
    log: 'warn',
  },

  provider_down: {
    error: 'login_provider_unavailable',
    cause: 'The provider cannot be reached, takes too long, or reports an internal error.',
    owner: 'Check that the provider is running and that the server can reach it.',
    log: 'warn',
  },
} as const satisfies Record<string, FailureKind>

/** A way in which a sign-in fails. */
export type FailureName = keyof typeof kinds

/** Every way in which a sign-in fails, for the documents too. */
export const failureKinds: Readonly<Record<FailureName, FailureKind>> = kinds
