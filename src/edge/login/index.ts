import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'
import type { Secret } from '../../base/secret.ts'
import type { TlsPolicy } from '../listeners/tls-policy.ts'
import type { RequestStep } from '../module.ts'
import { ModuleConfigError } from '../modules/context.ts'
import type { LoginContext, Logins } from '../modules/login.ts'
import type { HttpEntry } from '../table.ts'
import { createCallbackLimit } from './callback-limit.ts'
import { createGate, type Gate } from './gate.ts'
import { OpenSessions } from './live-sessions.ts'
import { loginHost } from './login-host.ts'
import type { LoginLedger } from './login-store.ts'
import { createOauthSignIn } from './oauth.ts'
import { type OauthEndpoints, type OauthProviderName, providerNamed } from './oauth-providers.ts'
import { createOidcSignIn } from './oidc.ts'
import { MAX_PROVIDER_MS } from './provider-fetch.ts'
import { Once } from './replay-guard.ts'
import { type Ending, Endings } from './revocations.ts'
import { createSamlPlace, type SamlPlace } from './saml.ts'
import { createSamlThread } from './saml-pool.ts'
import { createSeal } from './seal.ts'
import type { SessionSettings } from './session.ts'
import { OpenedSessions } from './session-cookie-cache.ts'
import type { Allowed, SignIn } from './sign-in.ts'
import { createHandOver } from './tickets.ts'

export type { LoginLedger } from './login-store.ts'
export type { OauthEndpoints } from './oauth-providers.ts'
export type { Ending } from './revocations.ts'

export interface LoginOptions {
  readonly outbound: Pick<Outbound, 'fetch'>
  /** The same on every node and after every start, so that sessions outlive both. */
  readonly key: Secret<Buffer>
  /** `https://idp.<domain>[:port]`, known once the listener is bound. */
  readonly idpUrl: () => string
  readonly clock: Clock
  readonly ledger: LoginLedger
  readonly oauthEndpoints?: OauthEndpoints
  /** Messages to the login host that one source may send in vain in a minute; 0 for no limit. */
  readonly callbackLimit?: number
  /** How long a visitor waits for a provider. */
  readonly maxProviderMs?: number
}

/** Sign-in of visitors, with the host that providers send them back to. */
export interface LoginPart extends Logins {
  host(policy: TlsPolicy): HttpEntry
  /** Told of sessions that were ended, here or on another node. */
  hear(endings: readonly Ending[]): void
  /** Ends the threads that read messages of providers. */
  close(): Promise<void>
}

const EVERYONE: Allowed = { emails: [], domains: [] }

/** Makes the log-in modules work. */
export function createLogins(options: LoginOptions): LoginPart {
  const { outbound, clock, idpUrl, ledger, maxProviderMs = MAX_PROVIDER_MS } = options
  const seal = createSeal(options.key)
  const once = new Once(clock)
  const endings = new Endings()
  const sessions = { open: new OpenSessions(), opened: new OpenedSessions(seal) }
  const handOver = createHandOver({ seal, clock })
  const shared = { seal, handOver, once, ledger, endings, clock, maxProviderMs, ...sessions }
  // Weakly, so that gates go with the routes they stand on.
  const gates = new WeakMap<RequestStep, Gate>()
  const samlPlaces = new WeakMap<RequestStep, SamlPlace>()
  const thread = createSamlThread()
  const limit = createCallbackLimit({ perMinute: options.callbackLimit ?? 0, clock })

  /** A change elsewhere on the edge keeps the sign-in and what it has learned of its provider. */
  function gate<S extends SignIn>(
    place: LoginContext,
    settings: SessionSettings & { readonly auth_check_interval?: number },
    allowed: Allowed,
    make: (version: string) => S,
  ) {
    const key = JSON.stringify([settings, allowed])
    const version = hash('sha256', key).slice(0, 16)
    const { scopeId } = place
    const signIn = place.getOrCreate('login', key, () => make(version))
    const checkEvery = settings.auth_check_interval ?? 0
    const made = createGate({ ...shared, placeId: scopeId, settings, checkEvery, version, signIn, allowed })
    gates.set(made.step, made)
    return { signIn, step: made.step }
  }

  return {
    oidc(settings, place) {
      const { issuer, client_id: clientId, client_secret: clientSecret, scopes } = settings
      if (clientSecret === null) throw new ModuleConfigError('the client secret cannot be read')
      if (issuer.includes('/.well-known/'))
        throw new ModuleConfigError('the issuer has to be the base URL, without /.well-known/')
      return gate(place, settings, place.allowedIdentities ?? EVERYONE, () =>
        createOidcSignIn({ issuer, clientId, clientSecret, scopes, outbound, idpUrl, clock }),
      ).step
    },

    oauth(settings, place) {
      const chosen = Object.entries(settings.provider).find(([, value]) => value !== null)
      const [name, given] = chosen ?? []
      if (name === undefined || !given?.client_id || !given.client_secret)
        throw new ModuleConfigError('the provider has no client id and secret')
      const { client_id: clientId, client_secret: clientSecret, scopes } = given
      const { teams = [], organizations = [] } = given as { teams?: string[]; organizations?: string[] }
      const allowed = { emails: given.email_addresses, domains: given.email_domains }
      return gate(place, settings, allowed, () =>
        createOauthSignIn({
          name: name as OauthProviderName,
          provider: providerNamed(name as OauthProviderName, options.oauthEndpoints ?? {}),
          clientId,
          clientSecret,
          scopes,
          groups: [...teams, ...organizations],
          outbound,
          idpUrl,
        }),
      ).step
    },

    saml(settings, place) {
      const { scopeId } = place
      try {
        const parts = { handOver, once, ledger, endings, clock, outbound, thread }
        const { signIn, step } = gate(place, settings, EVERYONE, (version) =>
          createSamlPlace({ ...parts, placeId: scopeId, version, settings }),
        )
        samlPlaces.set(step, signIn)
        return step
      } catch (error) {
        throw new ModuleConfigError((error as Error).message)
      }
    },

    hear(heard) {
      const now = clock.now()
      for (const ending of heard) endings.add(ending, now)
    },

    close: () => thread.close(),

    host: (policy) => loginHost({ policy, handOver, once, gates, samlPlaces, limit, maxProviderMs }),
  }
}
