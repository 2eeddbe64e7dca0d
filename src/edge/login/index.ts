/**
 * Sign-in of visitors for the OAuth, OpenID Connect and SAML modules. `login-guard.ts` is the step on a protected route:
 * it admits requests with a valid session cookie and sends the others to the provider. `login-host.ts` serves the host
 * that providers redirect back to; `tickets.ts` carries the result to the guard. `oauth.ts`, `oidc.ts` and `saml.ts`
 * implement one protocol each (XML of others is parsed in worker threads, `saml-pool.ts`); `revocations.ts`,
 * `replay-guard.ts` and `login-store.ts` hold what must outlive a request, and `session-renewals.ts` asks providers again
 * while a session lasts. The folder may use the contracts of the edge, `message`, and of `modules` only `context.ts` and
 * `login.ts`. Begin with `createLogins` below, then `login-guard.ts`.
 */

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
import type { LoginContext, Logins, PolicySignInSettings } from '../services/logins.ts'
import { createCallbackLimit } from './guard/callback-limit.ts'
import { createLoginGuard, type LoginGuard } from './guard/login-guard.ts'
import { createLoginHost } from './guard/login-host.ts'
import { versionedSettings } from './guard/settings-version.ts'
import { createOauthSignIn } from './oauth/oauth.ts'
import { getProvider, type OauthEndpoints, type OauthProviderName } from './oauth/oauth-providers.ts'
import { BackchannelLogout } from './oidc/backchannel-logout.ts'
import { CLOCK_SKEW_SECONDS, createOidcSignIn } from './oidc/oidc.ts'
import { type FailedSignIn, FailureLog, type OnFailedSignIn } from './provider/failure-log.ts'
import { PROVIDER_TIMEOUT_MS } from './provider/provider-fetch.ts'
import { createSamlServiceProvider, type SamlServiceProvider } from './saml/saml.ts'
import { createSamlWorkers } from './saml/saml-pool.ts'
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
import { createTickets } from './sessions/tickets.ts'
import type { SignIn } from './sign-in.ts'

export type { OauthEndpoints } from './oauth/oauth-providers.ts'
export type { FailedSignIn } from './provider/failure-log.ts'
export type { LoginStore } from './sessions/login-store.ts'
export type { Revocation } from './sessions/revocations.ts'
export type { Locate } from './sessions/session-details.ts'

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

/** The login service with its host, where providers redirect visitors back to. */
export interface LoginService extends Logins {
  host(tlsPolicy: TlsPolicy): HttpHost
  /** Applies revocations of this and other nodes. */
  applyRevocations(endings: readonly Revocation[]): void
  /** The last failed sign-ins at the routes and endpoints of an account, on all nodes; the latest first. */
  failuresOf(accountId: string): FailedSignIn[]
  /** Stops the worker threads that parse provider messages. */
  close(): Promise<void>
}

/** Creates the login service behind the OAuth, OIDC and SAML modules. */
export function createLogins(options: LoginOptions): LoginService {
  const { outbound, clock, idpUrl, store, providerTimeoutMs = PROVIDER_TIMEOUT_MS } = options
  const seal = createSeal(options.key)
  const replayGuard = new ReplayGuard(clock)
  const revocations = new Revocations()
  const liveSessions = new LiveSessions()
  const log = options.log ?? silentLog
  const tickets = createTickets({ seal, clock, log })
  const failures = new FailureLog({ clock, log, onFailed: options.onFailed ?? (() => {}) })
  const waitMs = options.renewalWaitMs ?? RENEWAL_WAIT_MS
  const shared = {
    seal,
    tickets,
    replayGuard,
    store,
    revocations,
    clock,
    log,
    providerTimeoutMs,
    liveSessions,
    renewals: new SessionRenewals({ clock, log, store, providerTimeoutMs, waitMs }),
    locate: options.locate ?? (() => undefined),
    cookieCache: new SessionCookieCache(seal),
  }
  // Weak, so that guards are collected together with their routes.
  const guards = new WeakMap<RequestStep, LoginGuard>()
  const samlProviders = new WeakMap<RequestStep, SamlServiceProvider>()
  const workers = createSamlWorkers()
  const limit = createCallbackLimit({ perMinute: options.callbackLimit ?? 0, clock })

  /**
   * Creates the guard of one module. Unrelated changes of the edge keep its sign-in and the cached provider documents.
   */
  function protect<S extends SignIn>(
    context: LoginContext,
    settings: SessionSettings & PolicySignInSettings & { readonly userinfo_refresh_interval?: number },
    /** The application at its provider. */
    client: readonly string[],
    createSignIn: (version: string) => S,
  ) {
    const key = JSON.stringify(settings)
    const version = hash('sha256', JSON.stringify(versionedSettings(settings))).slice(0, 16)
    const { accountId, scopeId } = context
    const signIn = context.getOrCreate('login', key, () => createSignIn(version))
    // A policy has one name for all its kinds of sign-in.
    const recheckSeconds = settings.auth_check_interval ?? settings.userinfo_refresh_interval ?? 0
    const requiredTokens = settings.required_tokens ?? []
    const guard = createLoginGuard({
      ...shared,
      accountId,
      scopeId,
      settings,
      shared: shareSessions(context, settings, { client, idpUrl }),
      recheckSeconds,
      requiredTokens,
      version,
      signIn,
      failures: context.getOrCreate('failed sign-ins', '', () => failures.ofScope(accountId, scopeId)),
    })
    guards.set(guard.step, guard)
    return { signIn, step: guard.step }
  }

  function toRequestKey(settings: Parameters<Logins['saml']>[0], accountId: string): LoadRequestKey {
    const { request_signing_certificate_pem: certificatePem, request_signing_key_pem: keyPem } = settings
    if (settings.sign_requests) {
      const { requestKey } = options
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

  return {
    oidc(settings, context) {
      const { issuer, client_id: clientId, client_secret: clientSecret, scopes } = settings
      const { authz_url_params: parameters = {} } = settings
      if (clientSecret === null) throw new ModuleConfigError('the client secret cannot be read')
      if (issuer.includes('/.well-known/'))
        throw new ModuleConfigError('the issuer has to be the base URL, without /.well-known/')
      const allow = {
        emails: settings.email_addresses,
        domains: settings.email_domains,
        groups: settings.authorized_groups,
        claims: settings.authorized_claims,
      }
      const lifetime = createLifetime(settings, 0)
      return protect(context, settings, ['oidc', issuer, clientId], () =>
        createOidcSignIn({
          issuer,
          clientId,
          clientSecret,
          tokenAuthMethod: settings.token_endpoint_auth_method,
          scopes,
          parameters,
          allow,
          outbound,
          idpUrl,
          clock,
          backchannelLogout: new BackchannelLogout({
            accountId: context.accountId,
            issuer,
            clientId,
            store,
            replayGuard,
            revocations,
            clock,
            clockSkewSeconds: CLOCK_SKEW_SECONDS,
            maxSeconds: Math.max(lifetime.maxSeconds, MAX_SESSION_SECONDS),
          }),
        }),
      ).step
    },

    oauth(settings, context) {
      const configured = Object.entries(settings.provider).find(([, value]) => value !== null)
      const [name, provider] = configured ?? []
      if (name === undefined || !provider?.client_id || !provider.client_secret)
        throw new ModuleConfigError('the provider has no client id and secret')
      const { client_id: clientId, client_secret: clientSecret, scopes } = provider
      const allow = {
        emails: provider.email_addresses,
        domains: provider.email_domains,
        groups: listGroups(provider),
        claims: provider.authorized_claims,
      }
      return protect(context, settings, ['oauth', name, clientId], () =>
        createOauthSignIn({
          name: name as OauthProviderName,
          provider: getProvider(name as OauthProviderName, options.oauthEndpoints ?? {}),
          clientId,
          clientSecret,
          scopes,
          parameters: settings.authz_url_params ?? {},
          allow,
          outbound,
          idpUrl,
        }),
      ).step
    },

    saml(settings, context, serviceName) {
      const name = serviceName ?? context.scopeId
      const { accountId, scopeId } = context
      const urls = () => (serviceName === undefined ? settings : samlUrls(idpUrl(), serviceName))
      try {
        const requestKey = toRequestKey(settings, accountId)
        const dependencies = {
          tickets,
          replayGuard,
          store,
          revocations,
          clock,
          outbound,
          workers,
          requestKey,
        }
        const { signIn, step } = protect(context, settings, [], (version) =>
          createSamlServiceProvider({ ...dependencies, accountId, scopeId, version, settings, name, urls }),
        )
        samlProviders.set(step, signIn)
        return step
      } catch (error) {
        throw new ModuleConfigError(errorMessage(error))
      }
    },

    applyRevocations(peerRevocations) {
      const now = clock.now()
      for (const revocation of peerRevocations) revocations.add(revocation, now)
      liveSessions.recheck()
    },

    failuresOf: (accountId) => failures.of(accountId),

    close: () => workers.close(),

    host: (tlsPolicy) =>
      createLoginHost({
        tlsPolicy,
        tickets,
        replayGuard,
        guards,
        samlProviders,
        limit,
        providerTimeoutMs,
      }),
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

/** The groups that a provider's settings admit: GitHub has teams and organizations, GitLab groups. */
function listGroups(provider: object): string[] {
  const lists = provider as Partial<Record<'teams' | 'organizations' | 'authorized_groups', string[]>>
  return [lists.teams, lists.organizations, lists.authorized_groups]
    .flatMap((groups) => groups ?? [])
    .map((group) => group.toLowerCase())
}
