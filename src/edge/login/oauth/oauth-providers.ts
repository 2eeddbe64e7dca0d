import type { OAUTH_PROVIDERS } from '../../../resources/index.ts'

export type OauthProviderName = (typeof OAUTH_PROVIDERS)[number]

/** The JSON responses of a provider, by the keys of `about`. */
export type ProfileResponses = Readonly<Record<string, unknown>>

/** An OAuth provider as data: its URLs, scopes, and how to read an identity from its responses. */
export interface OauthProvider {
  readonly authorize: string
  readonly token: string
  /** URLs to fetch with the access token; the first one identifies the user. */
  readonly about: Readonly<Record<string, string>>
  readonly scopes: readonly string[]
  /**
   * Set when the provider also accepts redirect URIs that only start with the registered one or differ in their query.
   * An attacker could then pass its response off as another provider's, so it gets a path of its own.
   */
  readonly dedicatedCallback?: true
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  readIdentity(fetched: ProfileResponses): { id: string; name: string; email: string; groups: string[] }
}

type Json = Record<string, unknown>

const toText = (value: unknown) =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
export const toObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {}

/** Reads a standard OpenID userinfo response. An email without `email_verified` is ignored. */
function readUserinfo({ user }: ProfileResponses) {
  const profile = toObject(user)
  const verified = profile.email_verified === true || profile.email_verified === 'true'
  return {
    id: toText(profile.sub),
    name: toText(profile.name) || toText(profile.preferred_username),
    email: verified ? toText(profile.email) : '',
    groups: Array.isArray(profile.groups) ? profile.groups.map((group) => toText(group).toLowerCase()) : [],
  }
}

/** Reads a profile of a provider that returns only confirmed emails, without a flag. */
function readConfirmedProfile({ user }: ProfileResponses) {
  const profile = toObject(user)
  return {
    id: toText(profile.user_id ?? profile.id),
    name: toText(profile.name),
    email: toText(profile.email),
    groups: [],
  }
}

/** The supported OAuth providers. URLs can be overridden for tests and proxies. */
export const oauthProviders: Record<OauthProviderName, OauthProvider> = {
  amazon: {
    authorize: 'https://www.amazon.com/ap/oa',
    token: 'https://api.amazon.com/auth/o2/token',
    about: { user: 'https://api.amazon.com/user/profile' },
    scopes: ['profile'],
    readIdentity: readConfirmedProfile,
  },
  facebook: {
    authorize: 'https://www.facebook.com/v21.0/dialog/oauth',
    token: 'https://graph.facebook.com/v21.0/oauth/access_token',
    about: { user: 'https://graph.facebook.com/v21.0/me?fields=id,name,email' },
    scopes: ['email', 'public_profile'],
    readIdentity: readConfirmedProfile,
  },
  github: {
    authorize: 'https://github.com/login/oauth/authorize',
    dedicatedCallback: true,
    token: 'https://github.com/login/oauth/access_token',
    about: {
      user: 'https://api.github.com/user',
      emails: 'https://api.github.com/user/emails',
      orgs: 'https://api.github.com/user/orgs?per_page=100',
      teams: 'https://api.github.com/user/teams?per_page=100',
    },
    scopes: ['read:user', 'user:email', 'read:org'],
    readIdentity({ user, emails, orgs, teams }) {
      const profile = toObject(user)
      const addresses = Array.isArray(emails) ? emails.map(toObject) : []
      const primary = addresses.find(
        ({ primary: isPrimary, verified }) => isPrimary === true && verified === true,
      )
      const organizations = (Array.isArray(orgs) ? orgs : []).map((org) =>
        toText(toObject(org).login).toLowerCase(),
      )
      const memberOf = (Array.isArray(teams) ? teams : [])
        .map(toObject)
        .flatMap((team) => [
          `${toText(toObject(team.organization).login)}/${toText(team.slug)}`.toLowerCase(),
          toText(team.id),
        ])
      return {
        id: toText(profile.id),
        name: toText(profile.name) || toText(profile.login),
        email: toText(primary?.email),
        groups: [...organizations, ...memberOf],
      }
    },
  },
  gitlab: {
    authorize: 'https://gitlab.com/oauth/authorize',
    dedicatedCallback: true,
    token: 'https://gitlab.com/oauth/token',
    about: { user: 'https://gitlab.com/oauth/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    readIdentity: readUserinfo,
  },
  google: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    about: { user: 'https://openidconnect.googleapis.com/v1/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    readIdentity: readUserinfo,
  },
  linkedin: {
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    dedicatedCallback: true,
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    about: { user: 'https://api.linkedin.com/v2/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    readIdentity: readUserinfo,
  },
  microsoft: {
    authorize: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    about: { user: 'https://graph.microsoft.com/v1.0/me' },
    scopes: ['openid', 'profile', 'email', 'User.Read'],
    readIdentity({ user }) {
      const profile = toObject(user)
      // Anyone can set any address as `mail`; only a principal name has a verified domain.
      const principal = toText(profile.userPrincipalName)
      return {
        id: toText(profile.id),
        name: toText(profile.displayName),
        email: principal.includes('#') ? '' : principal,
        groups: [],
      }
    },
  },
  twitch: {
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
    about: { user: 'https://id.twitch.tv/oauth2/userinfo' },
    scopes: ['openid', 'user:read:email'],
    // Returns nothing but the id unless asked.
    parameters: {
      claims: JSON.stringify({ userinfo: { email: null, email_verified: null, preferred_username: null } }),
    },
    readIdentity: readUserinfo,
  },
}

/** URL overrides by provider name. */
export type OauthEndpoints = Readonly<
  Partial<Record<OauthProviderName, Partial<Pick<OauthProvider, 'authorize' | 'token' | 'about'>>>>
>

/** A provider with the operator's URL overrides applied. */
export function getProvider(name: OauthProviderName, endpoints: OauthEndpoints): OauthProvider {
  const provider = oauthProviders[name]
  const overrides = endpoints[name]
  return overrides === undefined
    ? provider
    : { ...provider, ...overrides, about: { ...provider.about, ...overrides.about } }
}
