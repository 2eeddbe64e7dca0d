import { defineModule } from '../module.ts'
import { list, nullable, object, parsed, required, secret, text, uint32 } from '../value.ts'
import { loginSession } from './login-session.ts'

const names = list(text(255), { maxItems: 200 })
const lowercaseEntries = list(
  parsed(255, (value) => {
    if (value.trim() === '') throw new Error('an entry must not be empty.')
    return value.trim().toLowerCase()
  }),
  {
    maxItems: 500,
    rule: (items) => (new Set(items).size === items.length ? undefined : 'holds the same entry twice.'),
  },
)

const credentials = {
  client_id: nullable(text(1024)),
  client_secret: nullable(secret(text(4096), 'shown')),
  scopes: names,
  email_addresses: lowercaseEntries,
  email_domains: lowercaseEntries,
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
  object({ ...credentials, teams: names, organizations: names }, { rule: missingCredential }),
)

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

/** Requires clients to sign in at an OAuth provider. */
export const Oauth = defineModule('oauth', {
  ...loginSession,
  auth_check_interval: uint32(0),
  provider: required(
    object(
      {
        amazon: provider,
        facebook: provider,
        github,
        gitlab: provider,
        google: provider,
        linkedin: provider,
        microsoft: provider,
        twitch: provider,
      },
      {
        rule: (providers) =>
          Object.values(providers).filter((value) => value !== null).length === 1
            ? undefined
            : `exactly one provider must be given: ${OAUTH_PROVIDERS.join(', ')}.`,
      },
    ),
  ),
})
