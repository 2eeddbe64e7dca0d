import * as client from 'openid-client'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'
import { createProviderDocuments } from './provider-documents.ts'
import { type Identity, type Pending, type SignIn, SignInRefused } from './sign-in.ts'

const CLOCK_SKEW_SECONDS = 60

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly outbound: Pick<Outbound, 'fetch'>
  /** The one address that is registered at providers. */
  readonly callbackUrl: () => string
  readonly clock: Clock
}

/** Signs visitors in at an OpenID provider: code flow with PKCE, state and nonce, and a verified signature. */
export function createOidcSignIn(options: OidcOptions): SignIn {
  const { clientId, clientSecret, clock } = options
  const issuer = new URL(options.issuer)
  const documents = createProviderDocuments(options)
  const scopes = [
    ...new Set(['openid', ...(options.scopes.length === 0 ? ['profile', 'email'] : options.scopes)]),
  ]

  /** Anew for each sign-in, from documents that are kept. */
  const configuration = () =>
    client
      .discovery(
        issuer,
        clientId,
        { client_secret: clientSecret, [client.clockTolerance]: CLOCK_SKEW_SECONDS },
        undefined,
        {
          [client.customFetch]: documents() as client.CustomFetch,
          // The guarded client lets plain http through only to hosts the operator listed.
          execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
        },
      )
      .catch(unreachable)

  return {
    label: clientId,
    remember: () => ({ verifier: client.randomPKCECodeVerifier(), nonce: client.randomNonce() }),

    async begin({ memory }: Pending, state: string) {
      return client.buildAuthorizationUrl(await configuration(), {
        redirect_uri: options.callbackUrl(),
        scope: scopes.join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(memory.verifier!),
        code_challenge_method: 'S256',
        state,
        nonce: memory.nonce!,
      }).href
    },

    async complete(query, { memory }) {
      const tokens = await client
        .authorizationCodeGrant(await configuration(), new URL(`${options.callbackUrl()}?${query}`), {
          pkceCodeVerifier: memory.verifier!,
          expectedState: query.get('state')!,
          expectedNonce: memory.nonce!,
          idTokenExpected: true,
        })
        .catch(refused)
      const claims = tokens.claims()
      if (claims === undefined) throw new SignInRefused('the provider said nothing about who you are')
      if (claims.iat > clock.now() / 1000 + CLOCK_SKEW_SECONDS)
        refused(new Error('the token comes from the future'))
      if (claims.azp !== undefined && claims.azp !== clientId)
        refused(new Error('the token was given to somebody else'))
      return identityOf(claims)
    },

    async logoutUrl() {
      const config = await configuration()
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      return client.buildEndSessionUrl(config, {}).href
    },
  }
}

function unreachable(): never {
  throw new SignInRefused('the identity provider cannot be reached right now; try again in a moment')
}

/** What went wrong at the provider, in words that give nothing away. */
function refused(error: unknown): never {
  const given = error instanceof client.AuthorizationResponseError ? error.error : undefined
  throw new SignInRefused(
    given === 'access_denied'
      ? 'the sign-in was cancelled'
      : 'the answer of the identity provider was not valid',
    { cause: error },
  )
}

/** Claims that only serve the protocol. */
const PROTOCOL_CLAIMS = new Set([
  'iss',
  'aud',
  'exp',
  'iat',
  'nonce',
  'at_hash',
  'c_hash',
  's_hash',
  'auth_time',
  'azp',
  'jti',
])

function identityOf(claims: Readonly<Record<string, unknown>>): Identity {
  const text = (name: string) => (typeof claims[name] === 'string' ? (claims[name] as string) : '')
  // An address nobody has checked must not open doors that an address opens.
  const email = claims.email_verified === false ? '' : text('email')
  const rest = Object.fromEntries(Object.entries(claims).filter(([name]) => !PROTOCOL_CLAIMS.has(name)))
  return {
    id: text('sub'),
    name: text('name') || text('preferred_username'),
    email,
    groups: Array.isArray(claims.groups) ? claims.groups.filter((group) => typeof group === 'string') : [],
    claims: rest,
  }
}
