import type { Clock } from '../../base/values/clock.ts'
import type { Oauth, Oidc, Saml, Settings } from '../../resources/index.ts'
import type { RequestStep } from '../contracts/module.ts'
import type { HttpHost } from '../contracts/table.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'

/** What the login service needs of the context of a module or policy. */
export interface LoginContext {
  readonly accountId: string
  /** The route, edge or endpoint that visitors sign in to. */
  readonly scopeId: string
  readonly clock: Clock
  /** State that survives recompiles: returns the existing value while `key` is unchanged. */
  getOrCreate<T extends object>(name: string, key: string, create: () => T): T
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

/** The login service. Implemented in `login` and passed to the edge. */
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
  /** The platform's own host that providers redirect visitors back to. */
  host(tlsPolicy: TlsPolicy): HttpHost
}
