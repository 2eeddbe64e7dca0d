import { Type } from 'typebox'
import { httpUrl } from '../schema/formats.ts'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, durationMark, optionalText } from '../schema/option.ts'
import {
  choice,
  described,
  InvalidValue,
  integer,
  list,
  nonEmpty,
  required,
  secret,
  text,
} from '../schema/value.ts'
import { claimRules, emailRules, groupRules } from './allow-rules.ts'
import {
  allowError,
  allowFlags,
  decodeLogin,
  type LoginOption,
  loginFields,
  loginSession,
  MAX_REFRESH_SECONDS,
} from './login-session.ts'

/** How applications authenticate to the token endpoint of their provider, as OpenID Connect names the methods. */
export const TOKEN_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const
export type TokenAuthMethod = (typeof TOKEN_AUTH_METHODS)[number]

/** Why a method cannot be used with this secret. */
export function tokenAuthError(method: string, clientSecret: string): string | undefined {
  const isUsable = method === '' || method === 'none' || clientSecret !== ''
  return isUsable ? undefined : `it is required for ${method}.`
}

function missingSecret({
  client_secret,
  token_endpoint_auth_method,
}: {
  client_secret: string
  token_endpoint_auth_method: string
}) {
  const message = tokenAuthError(token_endpoint_auth_method, client_secret)
  return message === undefined ? undefined : { field: 'client_secret', message }
}

/** Requires clients to sign in at an OpenID provider. */
export const Oidc = defineModule(
  'oidc',
  'Requires visitors to sign in at an OpenID Connect provider.',
  {
    ...loginSession,
    issuer: described(
      required(httpUrl(255)),
      'The URL of the provider, such as https://login.example.com.',
      'https://login.example.com',
    ),
    client_id: described(
      required(nonEmpty(1024)),
      'The ID of this application at the provider.',
      'your client ID',
    ),
    client_secret: described(
      secret(text(4096), 'shown'),
      'The secret of this application at the provider; empty for a public client.',
      'your client secret',
    ),
    token_endpoint_auth_method: described(
      choice(['', ...TOKEN_AUTH_METHODS], ''),
      'How this application authenticates to the provider, as it is registered there; empty to use what the provider announces, and the other method where that is rejected.',
    ),
    scopes: described(
      list(text(255), { maxItems: 50 }),
      'The scopes to request. OpenID Connect always requests openid.',
    ),
    ...emailRules,
    email_domains: { ...emailRules.email_domains, example: ['example.com'] },
    ...groupRules,
    ...claimRules,
    userinfo_refresh_interval: described(
      integer(0, MAX_REFRESH_SECONDS, 0),
      'Seconds after which the provider is asked again who the visitor is, without a redirect where it gave a refresh token; 0 for never.',
    ),
  },
  {
    rule: missingSecret,
    endpoint: defineEndpointOption({
      name: 'oidc',
      field: 'OIDC',
      key: 'oidc',
      ssh: false,
      wire: Type.Object({
        issuer_url: Type.String(),
        client_id: Type.String(),
        ...loginFields,
        token_endpoint_auth_method: optionalText,
        userinfo_refresh_interval: Type.Optional(
          Type.Number({ minimum: 0, maximum: MAX_REFRESH_SECONDS, [durationMark]: true }),
        ),
      }),
      flags: [
        { name: 'oidc', field: 'issuer_url', help: 'ask visitors to sign in with this OpenID issuer' },
        { name: 'oidc-client-id', field: 'client_id', help: 'client id at the issuer' },
        {
          name: 'oidc-client-secret',
          field: 'client_secret',
          help: 'client secret at the issuer; none for a public client',
        },
        {
          name: 'oidc-token-auth-method',
          field: 'token_endpoint_auth_method',
          help: `how the client is registered to authenticate: ${TOKEN_AUTH_METHODS.join(', ')}`,
        },
        ...allowFlags('oidc'),
        {
          name: 'oidc-scope',
          field: 'scopes',
          commaSeparated: true,
          help: 'scopes to request from the issuer',
        },
        {
          name: 'oidc-userinfo-refresh-interval',
          field: 'userinfo_refresh_interval',
          help: 'check the visitor with the issuer again after this time, such as 5m',
        },
      ],
      check: ({ issuer_url, client_id, ...fields }) =>
        issuer_url && client_id
          ? (methodError(fields, '"oidc.client_secret": ') ?? allowError('oidc', fields))
          : '"oidc" needs "issuer_url" and "client_id"',
      decode(field): OidcOption {
        const invalid = methodError(field, 'the client secret: ')
        if (invalid !== undefined) throw new InvalidValue(undefined, invalid)
        return {
          issuerUrl: field.issuer_url,
          ...decodeLogin(field),
          // Absent by default: sessions are bound to what an option says.
          ...(field.token_endpoint_auth_method && {
            tokenAuthMethod: field.token_endpoint_auth_method as TokenAuthMethod,
          }),
          ...(field.userinfo_refresh_interval && {
            refreshSeconds: Math.ceil(field.userinfo_refresh_interval),
          }),
        }
      },
      settings: ({
        issuerUrl,
        clientId,
        clientSecret,
        tokenAuthMethod,
        refreshSeconds = 0,
        scopes,
        ...allow
      }) => ({
        issuer: issuerUrl,
        client_id: clientId,
        client_secret: clientSecret,
        ...(tokenAuthMethod !== undefined && { token_endpoint_auth_method: tokenAuthMethod }),
        scopes: [...scopes],
        email_addresses: [...allow.allowEmails],
        email_domains: [...allow.allowDomains],
        authorized_groups: [...allow.allowGroups],
        authorized_claims: [...allow.allowClaims],
        userinfo_refresh_interval: refreshSeconds,
      }),
    }),
  },
)

export interface OidcOption extends LoginOption {
  readonly issuerUrl: string
  readonly tokenAuthMethod?: TokenAuthMethod
  readonly refreshSeconds?: number
}

/** What is wrong with how an option says that its client authenticates. */
function methodError(
  option: { client_secret?: string; token_endpoint_auth_method?: string },
  secretName: string,
): string | undefined {
  const { client_secret = '', token_endpoint_auth_method: method = '' } = option
  if (method !== '' && !TOKEN_AUTH_METHODS.some((known) => known === method))
    return `"${method.slice(0, 60)}" is no way to authenticate; use one of ${TOKEN_AUTH_METHODS.join(', ')}`
  const missing = tokenAuthError(method, client_secret)
  return missing && `${secretName}${missing}`
}
