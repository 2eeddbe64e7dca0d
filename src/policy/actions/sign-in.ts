import { errorMessage } from '../../base/text/error-message.ts'
import { parseDomain } from '../../base/values/domain.ts'
import { BOOL, listOf as listType, STRING } from '../../cel/index.ts'
import {
  MAX_REFRESH_SECONDS,
  metadataError,
  NAMEID_FORMATS,
  OAUTH_PROVIDERS,
  TOKEN_AUTH_METHODS,
  tokenAuthError,
  wantsSignedRequests,
} from '../../resources/endpoint-options.ts'
import {
  type ConfigField,
  choice,
  described,
  duration,
  flag,
  listOf,
  mapOf,
  named,
  object,
  optional,
  strictTemplate,
  text,
  withDefault,
} from '../config.ts'
import { literalTemplate } from '../template.ts'
import { plain } from '../variables/shape.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const YEAR = 365 * 86_400

const session = {
  max_session_duration: described(
    optional(duration(1, YEAR)),
    'after this time the visitor has to sign in again',
  ),
  allow_cors_preflight: described(withDefault(flag, false), 'true: OPTIONS requests pass'),
}

const domainText = text({
  minLength: 1,
  maxLength: 254,
  check(domain) {
    try {
      if (normalizeCookieDomain(domain).includes('.')) return undefined
      return ['invalid_domain', `${domain} has no dot`]
    } catch (error) {
      return ['invalid_domain', `it is not a domain: ${errorMessage(error)}`]
    }
  },
})

/** The domain of a cookie in lower case, without the dot in front that older documents write. */
const cookieDomain: ConfigField<string> = {
  ...domainText,
  read: (value, context) => {
    const domain = domainText.read(value, context)
    try {
      return normalizeCookieDomain(domain)
    } catch {
      // Reported already.
      return ''
    }
  },
}

function normalizeCookieDomain(text: string): string {
  const domain = parseDomain(text.replace(/^\./, ''))
  if (domain.startsWith('*')) throw new Error('a wildcard is not the domain of a cookie.')
  return domain
}

const client = {
  auth_id: described(
    optional(
      text({
        minLength: 1,
        maxLength: 48,
        check: (id) => (/^[\w-]+$/.test(id) ? undefined : 'it may contain letters, digits, - and _ only'),
      }),
    ),
    'names the sign-in in its cookies: adit.<auth_id>.session in place of adit.session',
  ),
  auth_cookie_domain: described(
    optional(cookieDomain),
    'endpoints of the account below this domain share their sessions; it must be reserved by the account',
  ),
  client_id: described(strictTemplate({ minLength: 1, maxLength: 1024 }), 'the application at the provider'),
  client_secret: described(strictTemplate({ minLength: 1, maxLength: 4096 }), 'its secret'),
  scopes: described(withDefault(listOf(text({ maxLength: 255 }), { maxItems: 50 }), []), 'what is asked for'),
}

/** What the server itself sends. */
const RESERVED_PARAMS: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'code_challenge', 'code_challenge_method', 'nonce'],
  ...['redirect_uri', 'request', 'request_uri', 'response_mode', 'response_type', 'scope', 'state'],
])

const refresh = {
  userinfo_refresh_interval: described(
    optional(duration(1, MAX_REFRESH_SECONDS)),
    'after this time the provider is asked again who the visitor is, without a redirect where it gave a refresh token',
  ),
}

const idleTimeout = described(optional(duration(1, YEAR)), 'a session without requests ends after this')

const parameters = {
  authz_url_params: described(
    withDefault(
      mapOf(text({ maxLength: 2048 }), {
        maxItems: 10,
        checkName: (name) => {
          if (name === '' || name.length > 128)
            return ['invalid_parameter', 'a parameter has 1 to 128 characters']
          return RESERVED_PARAMS.has(name) ? ['invalid_parameter', `${name} is set by the server`] : undefined
        },
      }),
      [],
      {},
    ),
    "added to the URL of the provider's sign-in page, such as prompt or login_hint",
  ),
}

const identity = { id: STRING, email: STRING, name: STRING, provider_user_id: STRING }
const sessionResults = {
  error: errorResult,
  expires_at: STRING,
  session_timed_out: BOOL,
  session_max_duration_reached: BOOL,
}
const clientResults = {
  ...sessionResults,
  access_token: STRING,
  refresh_token: STRING,
  userinfo_refreshed: BOOL,
}

const checkUrl = (url: string) =>
  /^https?:\/\//.test(url) && URL.canParse(url) ? undefined : (['invalid_url', 'it is not a URL'] as const)

export const oauth = defineAction({
  type: 'oauth',
  description:
    'Requires visitors to sign in at an OAuth provider. Who may pass is written as a later rule on actions.ngrok.oauth.identity.',
  example: { provider: 'github', client_id: 'app', client_secret: "${secrets.get('sign-in', 'github')}" },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: () => true,
  signsIn: true,
  config: object({
    provider: described(choice(...OAUTH_PROVIDERS), 'where visitors have their accounts'),
    ...client,
    ...parameters,
    ...session,
    ...refresh,
    idle_session_timeout: idleTimeout,
  }),
  results: {
    identity: plain('identity', { ...identity, current_provider_session_id: STRING }),
    ...clientResults,
  },
})

export const openidConnect = defineAction({
  type: 'openid-connect',
  aliases: ['oidc'],
  description: 'Requires visitors to sign in at an OpenID Connect provider.',
  example: {
    issuer_url: 'https://login.example.com',
    client_id: 'shop',
    client_secret: "${secrets.get('sign-in', 'provider')}",
  },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: () => true,
  signsIn: true,
  config: object(
    {
      issuer_url: described(text({ maxLength: 255, check: checkUrl }), 'the issuer of the provider'),
      ...client,
      client_secret: described(
        withDefault(strictTemplate({ maxLength: 4096 }), literalTemplate(''), ''),
        'its secret; without one it is a public client',
      ),
      token_endpoint_auth_method: described(
        optional(choice(...TOKEN_AUTH_METHODS)),
        'how the application authenticates, as it is registered at the provider; by default what the provider announces, and the other method where that is rejected',
      ),
      ...parameters,
      ...session,
      ...refresh,
      idle_session_duration: named(idleTimeout, 'idle_session_timeout'),
    },
    ({ client_secret, token_endpoint_auth_method: method = '' }, context) => {
      const missing =
        client_secret.literal === undefined ? undefined : tokenAuthError(method, client_secret.literal)
      if (missing !== undefined) context.report('missing_field', `client_secret: ${missing}`)
    },
  ),
  resultName: 'oidc',
  results: {
    identity: plain('identity', { ...identity, current_session_id: STRING }),
    ...clientResults,
    identity_token: STRING,
  },
})

const attributeName = withDefault(text({ maxLength: 256 }), '')

export const saml = defineAction({
  type: 'saml',
  description:
    'Requires visitors to sign in at a SAML identity provider. Who may pass is written as a later rule on actions.ngrok.saml.identity.',
  example: { idp_metadata: 'https://idp.example.com/metadata' },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: () => true,
  warningOf: ({ idp_metadata, sign_requests }) =>
    !sign_requests && !idp_metadata.startsWith('http') && wantsSignedRequests(idp_metadata)
      ? 'the identity provider wants signed requests, as its metadata says (WantAuthnRequestsSigned); set sign_requests and import the metadata of the service provider there again'
      : undefined,
  signsIn: true,
  config: object({
    idp_metadata: described(
      named(
        text({
          minLength: 1,
          maxLength: 262_144,
          check: (metadata) => (metadata.startsWith('http') ? checkUrl(metadata) : metadataError(metadata)),
        }),
        'idp_metadata_url',
      ),
      'the metadata XML of the identity provider, or the URL at which it is published',
    ),
    nameid_format: described(
      withDefault(choice(...NAMEID_FORMATS), NAMEID_FORMATS[0]),
      'the format of the name that the identity provider sends',
    ),
    force_authn: described(withDefault(flag, false), 'true: visitors enter their password at every sign-in'),
    allow_idp_initiated: described(
      withDefault(flag, true),
      'false: sign-ins that start at the identity provider are rejected',
    ),
    sign_requests: described(
      withDefault(flag, false),
      'true: requests to the identity provider are signed, with a key whose certificate is in the metadata of the service provider',
    ),
    email_attribute: described(
      attributeName,
      'the attribute that contains the email address; empty: the usual ones',
    ),
    name_attribute: described(attributeName, 'the attribute that contains the name; empty: the usual ones'),
    groups_attribute: described(
      attributeName,
      'the attribute that contains the groups; empty: the usual ones',
    ),
    ...session,
    idle_session_timeout: idleTimeout,
  }),
  results: {
    identity: plain('identity', { ...identity, current_session_id: STRING, groups: listType(STRING) }),
    ...sessionResults,
  },
})
