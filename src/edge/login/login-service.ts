import { hash } from 'node:crypto'
import type { Outbound } from '../../base/outbound/outbound.ts'
import { type Logger, silentLog } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import { isWithin } from '../../base/values/domain.ts'
import { Secret } from '../../base/values/secret.ts'
import type { KeyedCertificate } from '../../certs/index.ts'
import { samlUrls } from '../../resources/index.ts'
import type { RequestStep } from '../contracts/module.ts'
import type { HttpHost } from '../contracts/table.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError } from '../modules/context.ts'
import { createPlatformHost } from '../platform-host.ts'
import type { LoginContext, Logins, PolicySignInSettings } from '../services/logins.ts'
import type { AllowRules } from './allow-rules.ts'
import { createCallbackLimit } from './guard/callback-limit.ts'
import type { GuardDependencies } from './guard/guard-options.ts'
import { LoginGuard } from './guard/login-guard.ts'
import { LoginHost } from './guard/login-host.ts'
import { versionedSettings } from './guard/settings-version.ts'
import { OauthSignIn } from './oauth/oauth.ts'
import { getProvider, type OauthEndpoints, type OauthProviderName } from './oauth/oauth-providers.ts'
import { BackchannelLogout } from './oidc/backchannel-logout.ts'
import { CLOCK_SKEW_SECONDS, OidcSignIn } from './oidc/oidc.ts'
import { type FailedSignIn, FailureLog, type OnFailedSignIn } from './provider/failure-log.ts'
import { PROVIDER_TIMEOUT_MS } from './provider/provider-fetch.ts'
import { SamlServiceProvider } from './saml/saml.ts'
import { SamlWorkers } from './saml/saml-pool.ts'
import type { LoadRequestKey } from './saml/saml-writer.ts'
import { createSeal } from './seal.ts'
import { LiveSessions } from './sessions/live-sessions.ts'
import type { LoginStore } from './sessions/login-store.ts'
import { ReplayGuard } from './sessions/replay-guard.ts'
import { type Revocation, Revocations } from './sessions/revocations.ts'
import {
  createLifetime,
  MAX_SESSION_SECONDS,
  type SessionSettings,
  type SharedSessions,
} from './sessions/session.ts'
import { SessionCookieCache } from './sessions/session-cookie-cache.ts'
import type { Locate } from './sessions/session-details.ts'
import { RENEWAL_WAIT_MS, SessionRenewals } from './sessions/session-renewals.ts'
import { Tickets } from './sessions/tickets.ts'
import type { SignIn } from './sign-in.ts'

export interface LoginOptions {
  readonly outbound: Pick<Outbound, 'fetch'>
  /** The same on every node and across restarts, so that sessions survive both. */
  readonly key: Secret<Buffer>
  /** `https://idp.<domain>[:port]`, known once the listener is bound. */
  readonly idpUrl: () => string
  readonly clock: Clock
  readonly store: LoginStore
  readonly log?: Logger
  /** Where visitors are; nothing is known without it. */
  readonly locate?: Locate
  readonly oauthEndpoints?: OauthEndpoints
  /** Invalid messages per client and minute that the login host accepts; 0 for no limit. */
  readonly callbackLimit?: number
  /** How long a visitor waits for a provider. */
  readonly providerTimeoutMs?: number
  /** How long a request waits until its tokens are renewed. */
  readonly renewalWaitMs?: number
  readonly onFailed?: OnFailedSignIn
  /** The key that signs SAML requests of an account's policies, the same on every node. */
  readonly requestKey?: (accountId: string) => Promise<KeyedCertificate>
}

/** The login service behind the OAuth, OIDC and SAML modules, with its host, where providers redirect visitors back to. */
export class LoginService implements Logins {
  readonly #options: LoginOptions
  readonly #dependencies: GuardDependencies
  readonly #failures: FailureLog
  readonly #workers = new SamlWorkers()
  // Weak, so that guards are collected together with their routes.
  readonly #guards = new WeakMap<RequestStep, LoginGuard>()

  constructor(options: LoginOptions) {
    const { clock, store, log = silentLog, providerTimeoutMs = PROVIDER_TIMEOUT_MS } = options
    const seal = createSeal(options.key)
    const waitMs = options.renewalWaitMs ?? RENEWAL_WAIT_MS
    this.#options = options
    this.#dependencies = {
      seal,
      tickets: new Tickets({ seal, clock, log }),
      replayGuard: new ReplayGuard(clock),
      store,
      revocations: new Revocations(),
      clock,
      log,
      providerTimeoutMs,
      liveSessions: new LiveSessions(),
      renewals: new SessionRenewals({ clock, log, store, providerTimeoutMs, waitMs }),
      locate: options.locate ?? (() => undefined),
      cookieCache: new SessionCookieCache(seal),
    }
    this.#failures = new FailureLog({ clock, log, onFailed: options.onFailed ?? (() => {}) })
  }

  oidc(settings: Parameters<Logins['oidc']>[0], context: LoginContext): RequestStep {
    const { issuer, client_id: clientId, client_secret: clientSecret } = settings
    if (clientSecret === null) throw new ModuleConfigError('the client secret cannot be read')
    if (issuer.includes('/.well-known/'))
      throw new ModuleConfigError('the issuer has to be the base URL, without /.well-known/')
    const { outbound, idpUrl, clock } = this.#options
    const { maxSeconds } = createLifetime(settings, 0)
    const createSignIn = () =>
      new OidcSignIn({
        issuer,
        clientId,
        clientSecret,
        tokenAuthMethod: settings.token_endpoint_auth_method,
        scopes: settings.scopes,
        parameters: settings.authz_url_params ?? {},
        allow: toAllowRules(settings, settings.authorized_groups),
        outbound,
        idpUrl,
        clock,
        backchannelLogout: new BackchannelLogout({
          ...this.#dependencies,
          accountId: context.accountId,
          issuer,
          clientId,
          clockSkewSeconds: CLOCK_SKEW_SECONDS,
          maxSeconds: Math.max(maxSeconds, MAX_SESSION_SECONDS),
        }),
      })
    return this.#protect(context, settings, ['oidc', issuer, clientId], createSignIn)
  }

  oauth(settings: Parameters<Logins['oauth']>[0], context: LoginContext): RequestStep {
    const configured = Object.entries(settings.provider).find(([, value]) => value !== null)
    const [name = '', provider] = configured ?? []
    if (!provider?.client_id || !provider.client_secret)
      throw new ModuleConfigError('the provider has no client id and secret')
    const { client_id: clientId, client_secret: clientSecret, scopes } = provider
    const { outbound, idpUrl, oauthEndpoints = {} } = this.#options
    const createSignIn = () =>
      new OauthSignIn({
        name: name as OauthProviderName,
        provider: getProvider(name as OauthProviderName, oauthEndpoints),
        clientId,
        clientSecret,
        scopes,
        parameters: settings.authz_url_params ?? {},
        allow: toAllowRules(provider, listGroups(provider)),
        outbound,
        idpUrl,
      })
    return this.#protect(context, settings, ['oauth', name, clientId], createSignIn)
  }

  saml(settings: Parameters<Logins['saml']>[0], context: LoginContext, serviceName?: string): RequestStep {
    const { outbound, idpUrl } = this.#options
    const { accountId, scopeId } = context
    try {
      const requestKey = this.#toRequestKey(settings, accountId)
      const createSignIn = (version: string) =>
        new SamlServiceProvider({
          ...this.#dependencies,
          outbound,
          workers: this.#workers,
          requestKey,
          accountId,
          scopeId,
          version,
          settings,
          name: serviceName ?? scopeId,
          urls: () => (serviceName === undefined ? settings : samlUrls(idpUrl(), serviceName)),
        })
      return this.#protect(context, settings, [], createSignIn)
    } catch (error) {
      throw new ModuleConfigError(errorMessage(error))
    }
  }

  host(tlsPolicy: TlsPolicy): HttpHost {
    const { clock, callbackLimit: perMinute = 0 } = this.#options
    const limit = createCallbackLimit({ perMinute, clock })
    const { step } = new LoginHost({ ...this.#dependencies, guards: this.#guards, limit })
    return createPlatformHost('login', tlsPolicy, { steps: [step], backend: () => undefined })
  }

  /** Applies revocations of this and other nodes. */
  applyRevocations(peerRevocations: readonly Revocation[]): void {
    const { clock, revocations, liveSessions } = this.#dependencies
    const now = clock.now()
    for (const revocation of peerRevocations) revocations.add(revocation, now)
    liveSessions.recheck()
  }

  /** The last failed sign-ins at the routes and endpoints of an account, on all nodes; the latest first. */
  failuresOf(accountId: string): FailedSignIn[] {
    return this.#failures.of(accountId)
  }

  /** Stops the worker threads that parse provider messages. */
  close(): Promise<void> {
    return this.#workers.close()
  }

  /**
   * Creates the guard of one module. Unrelated changes of the edge keep its sign-in and the cached provider documents.
   * `client` is the application at its provider.
   */
  #protect(
    context: LoginContext,
    settings: SessionSettings & PolicySignInSettings & { readonly userinfo_refresh_interval?: number },
    client: readonly string[],
    createSignIn: (version: string) => SignIn,
  ): RequestStep {
    const key = JSON.stringify(settings)
    const version = hash('sha256', JSON.stringify(versionedSettings(settings))).slice(0, 16)
    const { accountId, scopeId } = context
    const guard = new LoginGuard({
      ...this.#dependencies,
      accountId,
      scopeId,
      settings,
      shared: shareSessions(context, settings, { client, idpUrl: this.#options.idpUrl }),
      // A policy has one name for all its kinds of sign-in.
      recheckSeconds: settings.auth_check_interval ?? settings.userinfo_refresh_interval ?? 0,
      requiredTokens: settings.required_tokens ?? [],
      version,
      signIn: context.getOrCreate('login', key, () => createSignIn(version)),
      failures: context.getOrCreate('failed sign-ins', '', () => this.#failures.ofScope(accountId, scopeId)),
    })
    this.#guards.set(guard.step, guard)
    return guard.step
  }

  #toRequestKey(settings: Parameters<Logins['saml']>[0], accountId: string): LoadRequestKey {
    const { request_signing_certificate_pem: certificatePem, request_signing_key_pem: keyPem } = settings
    if (settings.sign_requests) {
      const { requestKey } = this.#options
      if (requestKey === undefined) throw new Error('this edge has no keys that sign requests')
      return () =>
        requestKey(accountId).catch(() => {
          throw edgeError('login_unavailable')
        })
    }
    // A key that cannot be read must not be taken for none.
    const key = keyPem === '' ? undefined : { certificatePem, privateKeyPem: new Secret(keyPem ?? '') }
    return async () => key
  }
}

/** Endpoints of an account share sessions for the same cookie domain, name of the cookies and application. */
function shareSessions(
  { accountId, ownsDomain }: LoginContext,
  { auth_cookie_domain: domain, cookie_prefix: prefix }: SessionSettings & PolicySignInSettings,
  { client, idpUrl }: { readonly client: readonly string[]; readonly idpUrl: () => string },
): SharedSessions | undefined {
  if (domain === undefined) return undefined
  return {
    domain,
    scopeId: `shared ${hash('sha256', JSON.stringify([accountId, domain, prefix, client]))}`,
    // Never the domain of the platform, below which all accounts have names.
    isOwned: () => ownsDomain?.(domain) === true && !isWithin(new URL(idpUrl()).hostname, domain),
  }
}

function toAllowRules(
  settings: Record<'email_addresses' | 'email_domains' | 'authorized_claims', readonly string[]>,
  groups: readonly string[],
): AllowRules {
  const { email_addresses: emails, email_domains: domains, authorized_claims: claims } = settings
  return { emails, domains, groups, claims }
}

/** The groups that a provider's settings admit: GitHub has teams and organizations, GitLab groups. */
function listGroups(provider: object): string[] {
  const lists = provider as Partial<Record<'teams' | 'organizations' | 'authorized_groups', string[]>>
  return [lists.teams, lists.organizations, lists.authorized_groups]
    .flatMap((groups) => groups ?? [])
    .map((group) => group.toLowerCase())
}
