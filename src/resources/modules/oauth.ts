import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, optionalText, requireProvider } from '../schema/option.ts'
import {
  described,
  InvalidValue,
  list,
  nullable,
  object,
  required,
  secret,
  text,
  uint32,
} from '../schema/value.ts'
import { claimRules, emailRules, groupRules } from './allow-rules.ts'
import {
  allowError,
  allowFlags,
  decodeLogin,
  type LoginOption,
  loginFields,
  loginSession,
} from './login-session.ts'

const names = list(text(255), { maxItems: 200 })

const credentials = {
  client_id: described(nullable(text(1024)), 'The ID of this application at the provider.', 'your client ID'),
  client_secret: described(
    nullable(secret(text(4096), 'shown')),
    'The secret of this application at the provider.',
    'your client secret',
  ),
  scopes: described(names, 'The scopes to request. OpenID Connect always requests openid.'),
  ...emailRules,
  ...claimRules,
}

function missingCredential({
  client_id,
  client_secret,
}: {
  client_id: string | null
  client_secret: string | null
}) {
  const missing = Object.entries({ client_id, client_secret }).find(([, value]) => !value)
  return missing === undefined
    ? undefined
    : {
        field: missing[0],
        message: 'it is required: this platform has no shared applications at identity providers.',
      }
}

const provider = nullable(object(credentials, { rule: missingCredential }))
const github = nullable(
  object(
    {
      ...credentials,
      teams: described(names, 'Admits members of one of these teams, such as example/platform.'),
      organizations: described(names, 'Admits members of one of these organizations.'),
    },
    { rule: missingCredential },
  ),
)
const gitlab = nullable(object({ ...credentials, ...groupRules }, { rule: missingCredential }))

/** The providers with a built-in log-in; others work through oidc. */
export const OAUTH_PROVIDERS = [
  'amazon',
  'facebook',
  'github',
  'gitlab',
  'google',
  'linkedin',
  'microsoft',
  'twitch',
] as const

const NO_PROVIDER = Object.fromEntries(OAUTH_PROVIDERS.map((name) => [name, null])) as Record<
  (typeof OAUTH_PROVIDERS)[number],
  null
>

/** Requires clients to sign in at an OAuth provider. */
export const Oauth = defineModule(
  'oauth',
  'Requires visitors to sign in at an OAuth provider.',
  {
    ...loginSession,
    auth_check_interval: described(
      uint32(0),
      'Seconds after which the session is checked with the provider again; 0 for never.',
    ),
    provider: described(
      required(
        object(
          {
            amazon: described(provider, 'Sign-in with Amazon.'),
            facebook: described(provider, 'Sign-in with Facebook.'),
            github: described(github, 'Sign-in with GitHub.'),
            gitlab: described(gitlab, 'Sign-in with GitLab.'),
            google: described(provider, 'Sign-in with Google.'),
            linkedin: described(provider, 'Sign-in with LinkedIn.'),
            microsoft: described(provider, 'Sign-in with Microsoft.'),
            twitch: described(provider, 'Sign-in with Twitch.'),
          },
          {
            rule: (providers) =>
              Object.values(providers).filter((value) => value !== null).length === 1
                ? undefined
                : `exactly one provider must be given: ${OAUTH_PROVIDERS.join(', ')}.`,
          },
        ),
      ),
      'The provider at which visitors sign in. Choose exactly one.',
      {
        github: {
          client_id: 'your client ID',
          client_secret: 'your client secret',
          organizations: ['example'],
        },
      },
    ),
  },
  {
    endpoint: defineEndpointOption({
      name: 'oauth',
      field: 'OAuth',
      key: 'oauth',
      wire: Type.Object({ provider: Type.String(), client_id: optionalText, ...loginFields }),
      flags: [
        { name: 'oauth', field: 'provider', help: 'ask visitors to sign in with this provider' },
        ...allowFlags('oauth'),
        {
          name: 'oauth-scope',
          field: 'scopes',
          commaSeparated: true,
          help: 'scopes to request from the provider',
        },
        { name: 'oauth-client-id', field: 'client_id', help: 'client id at the provider' },
        { name: 'oauth-client-secret', field: 'client_secret', help: 'client secret at the provider' },
      ],
      check: ({ provider, client_id, client_secret, ...fields }) => {
        const { allow_groups = [] } = fields
        if (!provider) return '"oauth" needs a "provider"'
        if (allow_groups.length > 0 && !isProviderWithGroups(provider))
          return `"oauth.allow_groups": ${NO_GROUPS}`
        return client_id && client_secret
          ? allowError('oauth', fields)
          : `"oauth" needs your own application at ${provider}: create one there, then add "oauth.client_id" and "oauth.client_secret"`
      },
      decode: (field): { readonly provider: string } & LoginOption => ({
        provider: requireProvider('OAuth sign-ins', OAUTH_PROVIDERS, field.provider),
        ...decodeLogin(field),
      }),
      settings: (option) => ({ provider: providerSettings(option) }),
    }),
  },
)

const NO_GROUPS =
  'only github and gitlab tell the groups of a visitor; allow email addresses or domains instead'

const isProviderWithGroups = (provider: string) => ['github', 'gitlab'].includes(provider.toLowerCase())

function providerSettings(option: { readonly provider: string } & LoginOption) {
  const chosen = OAUTH_PROVIDERS.find((name) => name === option.provider)
  if (chosen === undefined) throw new InvalidValue(undefined, `${option.provider} is not a known provider`)
  if (option.allowGroups.length > 0 && !isProviderWithGroups(chosen))
    throw new InvalidValue(undefined, `${NO_GROUPS}.`)
  return {
    ...NO_PROVIDER,
    [chosen]: {
      client_id: option.clientId,
      client_secret: option.clientSecret,
      scopes: [...option.scopes],
      email_addresses: [...option.allowEmails],
      email_domains: [...option.allowDomains],
      authorized_claims: [...option.allowClaims],
      // A team is organization/team.
      teams: option.allowGroups.filter((group) => group.includes('/')),
      organizations: option.allowGroups.filter((group) => !group.includes('/')),
      authorized_groups: [...option.allowGroups],
    },
  }
}
