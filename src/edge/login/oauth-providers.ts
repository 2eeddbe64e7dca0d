import type { OAUTH_PROVIDERS } from '../../resources/index.ts'

export type OauthProviderName = (typeof OAUTH_PROVIDERS)[number]

/** What is fetched of a person after signing in, keyed as the addresses are. */
export type Fetched = Readonly<Record<string, unknown>>

/** A provider as data: its addresses, what to ask for, and how to read its answers. */
export interface OauthProvider {
  readonly authorize: string
  readonly token: string
  /** Addresses to fetch with the access token; the first one says who it is. */
  readonly about: Readonly<Record<string, string>>
  readonly scopes: readonly string[]
  /**
   * Set when it sends visitors also to addresses that only begin like the registered one, or differ in their query. Whoever
   * can add parameters can pass its answer off as another provider's, so it does not share an address with others.
   */
  readonly ownCallback?: true
  /** What else its sign-in page is asked with. */
  readonly parameters?: Readonly<Record<string, string>>
  read(fetched: Fetched): { id: string; name: string; email: string; groups: string[] }
}

type Json = Record<string, unknown>

const text = (value: unknown) =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
const json = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

/** The usual answer of an OpenID userinfo endpoint; an address that is not said to be verified is none. */
function userinfo({ user }: Fetched) {
  const about = json(user)
  const verified = about.email_verified === true || about.email_verified === 'true'
  return {
    id: text(about.sub),
    name: text(about.name) || text(about.preferred_username),
    email: verified ? text(about.email) : '',
    groups: [],
  }
}

/** The answer of a provider that only tells addresses it has confirmed, and does not say so each time. */
function confirmed({ user }: Fetched) {
  const about = json(user)
  return {
    id: text(about.user_id ?? about.id),
    name: text(about.name),
    email: text(about.email),
    groups: [],
  }
}

/** The providers with a log-in of their own. Addresses can be overridden, so that tests and proxies can stand in. */
export const oauthProviders: Record<OauthProviderName, OauthProvider> = {
  amazon: {
    authorize: 'https://www.amazon.com/ap/oa',
    token: 'https://api.amazon.com/auth/o2/token',
    about: { user: 'https://api.amazon.com/user/profile' },
    scopes: ['profile'],
    read: confirmed,
  },
  facebook: {
    authorize: 'https://www.facebook.com/v21.0/dialog/oauth',
    token: 'https://graph.facebook.com/v21.0/oauth/access_token',
    about: { user: 'https://graph.facebook.com/v21.0/me?fields=id,name,email' },
    scopes: ['email', 'public_profile'],
    read: confirmed,
  },
  github: {
    authorize: 'https://github.com/login/oauth/authorize',
    ownCallback: true,
    token: 'https://github.com/login/oauth/access_token',
    about: {
      user: 'https://api.github.com/user',
      emails: 'https://api.github.com/user/emails',
      orgs: 'https://api.github.com/user/orgs?per_page=100',
      teams: 'https://api.github.com/user/teams?per_page=100',
    },
    scopes: ['read:user', 'user:email', 'read:org'],
    read({ user, emails, orgs, teams }) {
      const about = json(user)
      const addresses = Array.isArray(emails) ? emails.map(json) : []
      const primary = addresses.find(({ primary: main, verified }) => main === true && verified === true)
      const organizations = (Array.isArray(orgs) ? orgs : []).map((org) =>
        text(json(org).login).toLowerCase(),
      )
      const memberOf = (Array.isArray(teams) ? teams : [])
        .map(json)
        .flatMap((team) => [
          `${text(json(team.organization).login)}/${text(team.slug)}`.toLowerCase(),
          text(team.id),
        ])
      return {
        id: text(about.id),
        name: text(about.name) || text(about.login),
        email: text(primary?.email),
        groups: [...organizations, ...memberOf],
      }
    },
  },
  gitlab: {
    authorize: 'https://gitlab.com/oauth/authorize',
    ownCallback: true,
    token: 'https://gitlab.com/oauth/token',
    about: { user: 'https://gitlab.com/oauth/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    read: userinfo,
  },
  google: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    about: { user: 'https://openidconnect.googleapis.com/v1/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    read: userinfo,
  },
  linkedin: {
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    ownCallback: true,
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    about: { user: 'https://api.linkedin.com/v2/userinfo' },
    scopes: ['openid', 'profile', 'email'],
    read: userinfo,
  },
  microsoft: {
    authorize: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    about: { user: 'https://graph.microsoft.com/v1.0/me' },
    scopes: ['openid', 'profile', 'email', 'User.Read'],
    read({ user }) {
      const about = json(user)
      // Anybody can write any address into `mail`; only a principal name has a domain that was verified.
      const principal = text(about.userPrincipalName)
      return {
        id: text(about.id),
        name: text(about.displayName),
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
    // It tells nothing but the id unless asked.
    parameters: {
      claims: JSON.stringify({ userinfo: { email: null, email_verified: null, preferred_username: null } }),
    },
    read: userinfo,
  },
}

/** Other addresses for some providers, by name. */
export type OauthEndpoints = Readonly<
  Partial<Record<OauthProviderName, Partial<Pick<OauthProvider, 'authorize' | 'token' | 'about'>>>>
>

/** A provider with the operator's addresses in place of the well-known ones. */
export function providerNamed(name: OauthProviderName, endpoints: OauthEndpoints): OauthProvider {
  const known = oauthProviders[name]
  const other = endpoints[name]
  return other === undefined ? known : { ...known, ...other, about: { ...known.about, ...other.about } }
}
