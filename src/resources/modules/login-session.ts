import { type OptionFlag, optionalText, optionalTexts } from '../schema/option.ts'
import { described, flag, InvalidValue, text, uint32, withDefault } from '../schema/value.ts'
import { claimRuleError } from './allow-rules.ts'

// RFC 6265 token characters. The edge sets the __Host- and __Secure- prefixes itself, since browsers enforce them.
const COOKIE_PREFIX = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/

// Document 2: the service's own name followed by a period.
const DEFAULT_PREFIX = 'adit.'

const prefix = text(64, (value) => {
  if (!COOKIE_PREFIX.test(value)) return 'may only hold characters that a cookie name may have.'
  return /^__(host|secure)-/i.test(value) ? 'must not start with __Host- or __Secure-.' : undefined
})

/** Session settings shared by SAML, OIDC and OAuth. */
export const loginSession = {
  options_passthrough: described(flag(false), 'Lets CORS preflight requests pass without signing in.'),
  cookie_prefix: described(
    {
      ...withDefault(prefix, DEFAULT_PREFIX),
      check: (value: string, path: string) => prefix.check(value, path) || DEFAULT_PREFIX,
    },
    'The prefix of its cookie names.',
  ),
  inactivity_timeout: described(
    uint32(0),
    'Seconds of inactivity after which visitors must sign in again; 0 for never.',
  ),
  maximum_duration: described(uint32(0), 'Seconds after which visitors must sign in again; 0 for never.'),
}

/** The longest interval after which a provider is asked again who a visitor is: a year. */
export const MAX_REFRESH_SECONDS = 365 * 86_400

/** The fields that OAuth and OIDC have in common in a message, besides `client_id`. */
export const loginFields = {
  client_secret: optionalText,
  scopes: optionalTexts,
  allow_domains: optionalTexts,
  allow_emails: optionalTexts,
  allow_groups: optionalTexts,
  allow_claims: optionalTexts,
}

/** The flags that say whom OAuth and OIDC admit. */
export const allowFlags = (option: 'oauth' | 'oidc'): OptionFlag[] => [
  {
    name: `${option}-allow-domain`,
    field: 'allow_domains',
    commaSeparated: true,
    help: 'email domains to allow',
  },
  {
    name: `${option}-allow-email`,
    field: 'allow_emails',
    commaSeparated: true,
    help: 'email addresses to allow',
  },
  {
    name: `${option}-allow-group`,
    field: 'allow_groups',
    commaSeparated: true,
    help: 'groups whose members to allow',
  },
  {
    name: `${option}-allow-claim`,
    field: 'allow_claims',
    help: 'claim that visitors must have, as name=value',
  },
]

/** What OAuth and OIDC have in common in the options of a tunnel. */
export interface LoginOption {
  readonly clientId: string
  readonly clientSecret: string
  readonly allowEmails: readonly string[]
  readonly allowDomains: readonly string[]
  readonly allowGroups: readonly string[]
  readonly allowClaims: readonly string[]
  readonly scopes: readonly string[]
}

/** In the agent: what is wrong with the rules that say whom the option admits. */
export function allowError(
  option: string,
  { allow_claims = [] }: { allow_claims?: string[] },
): string | undefined {
  const invalid = allow_claims.find((rule) => claimRuleError(rule) !== undefined)
  return invalid === undefined
    ? undefined
    : `"${option}.allow_claims": "${invalid}" ${claimRuleError(invalid)}`
}

export function decodeLogin(field: {
  client_id?: string
  client_secret?: string
  allow_emails?: string[]
  allow_domains?: string[]
  allow_groups?: string[]
  allow_claims?: string[]
  scopes?: string[]
}): LoginOption {
  const invalid = allowError('login', field)
  if (invalid !== undefined) throw new InvalidValue(undefined, invalid)
  return {
    clientId: field.client_id ?? '',
    clientSecret: field.client_secret ?? '',
    allowEmails: (field.allow_emails ?? []).map((email) => email.toLowerCase()),
    allowDomains: (field.allow_domains ?? []).map((domain) => domain.toLowerCase()),
    allowGroups: field.allow_groups ?? [],
    allowClaims: field.allow_claims ?? [],
    scopes: field.scopes ?? [],
  }
}
