import { OAUTH_PROVIDERS } from '../../resources/endpoint-options.ts'
import { STRING } from '../cel/types.ts'
import {
  choice,
  described,
  duration,
  flag,
  listOf,
  mapOf,
  named,
  object,
  optional,
  template,
  text,
  withDefault,
} from '../config.ts'
import { plain } from '../variables/shape.ts'
import { defineAction } from './define.ts'

const YEAR = 365 * 86_400

const session = {
  max_session_duration: described(
    optional(duration(1, YEAR)),
    'after this time the visitor has to sign in again',
  ),
  userinfo_refresh_interval: described(
    optional(duration(1, YEAR)),
    'after this time the provider is asked again whether the visitor may sign in',
  ),
  allow_cors_preflight: described(withDefault(flag, false), 'true: OPTIONS requests pass'),
}

const client = {
  client_id: described(template({ minLength: 1, maxLength: 1024 }), 'the application at the provider'),
  client_secret: described(template({ minLength: 1, maxLength: 4096 }), 'its secret'),
  scopes: described(withDefault(listOf(text({ maxLength: 255 }), { maxItems: 50 }), []), 'what is asked for'),
}

/** What the server itself sends. */
const RESERVED_PARAMS: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'code_challenge', 'code_challenge_method', 'nonce'],
  ...['redirect_uri', 'request', 'request_uri', 'response_mode', 'response_type', 'scope', 'state'],
])

const parameters = {
  authz_url_params: described(
    withDefault(
      mapOf(text({ maxLength: 2048 }), {
        maxItems: 10,
        checkName: (name) => {
          if (name === '' || name.length > 128) return [2244, 'a parameter has 1 to 128 characters']
          return RESERVED_PARAMS.has(name) ? [2244, `${name} is set by the server`] : undefined
        },
      }),
      [],
      {},
    ),
    "added to the URL of the provider's sign-in page, such as prompt or login_hint",
  ),
}

const results = {
  identity: plain('identity', { id: STRING, email: STRING, name: STRING, provider_user_id: STRING }),
}

export const oauth = defineAction({
  type: 'oauth',
  description:
    'Requires visitors to sign in at an OAuth provider. Who may pass is written as a later rule on actions.ngrok.oauth.identity.',
  phases: ['on_http_request'],
  ends: 'sometimes',
  signsIn: true,
  config: object({
    provider: described(choice(...OAUTH_PROVIDERS), 'where visitors have their accounts'),
    ...client,
    ...parameters,
    ...session,
    idle_session_timeout: described(
      optional(duration(1, YEAR)),
      'a session without requests ends after this',
    ),
  }),
  results,
})

export const openidConnect = defineAction({
  type: 'openid-connect',
  aliases: ['oidc'],
  description: 'Requires visitors to sign in at an OpenID Connect provider.',
  phases: ['on_http_request'],
  ends: 'sometimes',
  signsIn: true,
  config: object({
    issuer_url: described(
      text({
        maxLength: 255,
        check: (url) =>
          /^https?:\/\//.test(url) && URL.canParse(url) ? undefined : [2226, 'it is not a URL'],
      }),
      'the issuer of the provider',
    ),
    ...client,
    ...parameters,
    ...session,
    idle_session_duration: described(
      named(optional(duration(1, YEAR)), 'idle_session_timeout'),
      'a session without requests ends after this',
    ),
  }),
  resultName: 'oidc',
  results,
})
