import { Oauth, Oidc, Saml, type Settings } from '../../resources/index.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** What the login service needs of a module's context. */
export type LoginContext = Pick<ModuleContext, 'accountId' | 'scopeId' | 'clock' | 'getOrCreate'> & {
  /** Whether the account owns a name with all names below it; only policies ask. */
  ownsDomain?(name: string): boolean
}

/** Settings of a sign-in that only policies have for every kind. */
export interface PolicySignInSettings {
  /** Seconds after which the provider is asked again; 0 for never. */
  readonly auth_check_interval?: number
  /** Added to the URL of the provider's sign-in page. */
  readonly authz_url_params?: Readonly<Record<string, string>>
  /** Hosts of this domain share their sessions; undefined where a session belongs to one host. */
  readonly auth_cookie_domain?: string
  /** The tokens of the provider that a policy reads; the others are not stored. */
  readonly required_tokens?: readonly ProviderTokenName[]
}

/** A token of a provider, by the name that policies read it with. */
export type ProviderTokenName = 'access_token' | 'refresh_token' | 'identity_token'

/** The login service. Declared here, by its users; implemented in `login` and passed to the edge. */
export interface Logins {
  oauth(settings: Settings<typeof Oauth> & PolicySignInSettings, context: LoginContext): RequestStep
  oidc(settings: Settings<typeof Oidc> & PolicySignInSettings, context: LoginContext): RequestStep
  /**
   * `serviceName` names the service provider where its settings have no URLs. An empty key signs no requests, unless
   * `sign_requests` asks for the key of the account.
   */
  saml(
    settings: Settings<typeof Saml> & { readonly sign_requests?: boolean },
    context: LoginContext,
    serviceName?: string,
  ): RequestStep
}

/** The login service. Throws `ModuleConfigError` for an edge without one. */
export function requireLogins({ logins }: ModuleContext): Logins {
  // An edge without a login service denies all traffic (P36).
  if (logins === undefined) throw new ModuleConfigError('this edge cannot sign visitors in')
  return logins
}

/** Requires sign-in with an account at an OAuth provider. */
export const oauth = implementModule(Oauth, {
  phase: 'request',
  build: (settings: Settings<typeof Oauth>, context: ModuleContext) =>
    requireLogins(context).oauth(settings, context),
})

/** Requires sign-in at an OpenID Connect provider. */
export const oidc = implementModule(Oidc, {
  phase: 'request',
  build: (settings: Settings<typeof Oidc>, context: ModuleContext) =>
    requireLogins(context).oidc(settings, context),
})

/** Requires sign-in at a SAML identity provider. */
export const saml = implementModule(Saml, {
  phase: 'request',
  build: (settings: Settings<typeof Saml>, context: ModuleContext) =>
    requireLogins(context).saml(settings, context),
})
