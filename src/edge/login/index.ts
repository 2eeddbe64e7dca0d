import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { Secret } from '../../base/secret.ts'
import type { LoginPlace, Logins } from '../modules/login.ts'
import { Broken } from '../modules/world.ts'
import type { HttpEntry } from '../table.ts'
import type { TlsPolicy } from '../tls-policy.ts'
import { createGate, type SessionSettings } from './gate.ts'
import { loginHost, PROVIDER_CALLBACK } from './login-host.ts'
import { createOauthSignIn } from './oauth.ts'
import { type OauthEndpoints, type OauthProviderName, providerNamed } from './oauth-providers.ts'
import { createOidcSignIn } from './oidc.ts'
import { Once } from './once.ts'
import { createSamlPlace, type SamlPlace } from './saml.ts'
import { createSeal } from './seal.ts'
import type { Allowed, SignIn } from './sign-in.ts'

export type { OauthEndpoints } from './oauth-providers.ts'

export interface LoginOptions {
  readonly outbound: Pick<Outbound, 'fetch'>
  /** The same on every node and after every start, so that sessions outlive both. */
  readonly key: Secret<Buffer>
  /** `https://idp.<domain>[:port]`, known once the listener is bound. */
  readonly idpUrl: () => string
  readonly clock: Clock
  readonly oauthEndpoints?: OauthEndpoints
}

/** Sign-in of visitors, with the host that providers send them back to. */
export interface LoginPart extends Logins {
  host(policy: TlsPolicy): HttpEntry
}

const EVERYONE: Allowed = { emails: [], domains: [] }

/** Makes the log-in modules work. */
export function createLogins(options: LoginOptions): LoginPart {
  const { outbound, clock, idpUrl } = options
  const seal = createSeal(options.key)
  const once = new Once(clock)
  const places = new Map<string, SamlPlace>()
  const callbackUrl = () => `${idpUrl()}${PROVIDER_CALLBACK}`

  function gate(place: LoginPlace, settings: SessionSettings, signIn: SignIn, allowed: Allowed) {
    const version = JSON.stringify([settings, allowed])
    return createGate({ seal, once, clock, placeId: place.placeId, settings, version, signIn, allowed })
  }

  return {
    oidc(settings, place) {
      const { issuer, client_id: clientId, client_secret: clientSecret, scopes } = settings
      if (clientSecret === null) throw new Broken('the client secret cannot be read')
      const signIn = createOidcSignIn({ issuer, clientId, clientSecret, scopes, outbound, callbackUrl })
      return gate(place, settings, signIn, place.allowedVisitors ?? EVERYONE)
    },

    oauth(settings, place) {
      const chosen = Object.entries(settings.provider).find(([, value]) => value !== null)
      const [name, given] = chosen ?? []
      if (name === undefined || !given?.client_id || !given.client_secret)
        throw new Broken('the provider has no client id and secret')
      const { teams = [], organizations = [] } = given as { teams?: string[]; organizations?: string[] }
      const signIn = createOauthSignIn({
        provider: providerNamed(name as OauthProviderName, options.oauthEndpoints ?? {}),
        clientId: given.client_id,
        clientSecret: given.client_secret,
        scopes: given.scopes,
        groups: [...teams, ...organizations],
        outbound,
        callbackUrl,
      })
      return gate(place, settings, signIn, { emails: given.email_addresses, domains: given.email_domains })
    },

    saml(settings, place) {
      let signIn: SamlPlace
      try {
        signIn = createSamlPlace({ placeId: place.placeId, settings, seal, once, clock, outbound })
      } catch (error) {
        throw new Broken((error as Error).message)
      }
      places.set(place.placeId, signIn)
      return gate(place, settings, signIn, EVERYONE)
    },

    host: (policy) => loginHost({ policy, seal, places }),
  }
}
