import * as client from 'openid-client'
import type { Outbound } from '../../base/outbound.ts'
import type { Identity, Pending, SignIn } from './sign-in.ts'
import { SignInRefused } from './sign-in.ts'

const CLOCK_SKEW_SECONDS = 60
const REDISCOVER_MS = 60 * 60 * 1000
const CLAIMS_AT_MOST = 1500

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly outbound: Pick<Outbound, 'fetch'>
  /** The one address that is registered at providers. */
  readonly callbackUrl: () => string
}

/** Finds the provider out once, and again from time to time; a failure is not remembered. */
function createDiscovery({ issuer, clientId, clientSecret, outbound }: OidcOptions) {
  let found: { config: Promise<client.Configuration>; at: number } | undefined
  return (): Promise<client.Configuration> => {
    if (found !== undefined && performance.now() - found.at < REDISCOVER_MS) return found.config
    const config = client
      .discovery(
        new URL(issuer),
        clientId,
        { client_secret: clientSecret, [client.clockTolerance]: CLOCK_SKEW_SECONDS },
        undefined,
        {
          [client.customFetch]: outbound.fetch as client.CustomFetch,
          // The guarded client lets plain http through only to hosts the operator listed.
          execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
        },
      )
      .catch((error: unknown) => {
        found = undefined
        throw error
      })
    found = { config, at: performance.now() }
    return config
  }
}

/** Signs visitors in at an OpenID provider: code flow with PKCE, state and nonce, and a verified signature. */
export function createOidcSignIn(options: OidcOptions): SignIn {
  const discover = createDiscovery(options)
  const scopes = [
    ...new Set(['openid', ...(options.scopes.length === 0 ? ['profile', 'email'] : options.scopes)]),
  ]

  return {
    label: options.clientId,
    remember: () => ({ verifier: client.randomPKCECodeVerifier(), nonce: client.randomNonce() }),

    async begin({ memory }: Pending, state: string) {
      const config = await discover().catch(unreachable)
      return client.buildAuthorizationUrl(config, {
        redirect_uri: options.callbackUrl(),
        scope: scopes.join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(memory.verifier!),
        code_challenge_method: 'S256',
        state,
        nonce: memory.nonce!,
      }).href
    },

    async complete(query, { memory }) {
      const config = await discover().catch(unreachable)
      const tokens = await client
        .authorizationCodeGrant(config, new URL(`${options.callbackUrl()}?${query}`), {
          pkceCodeVerifier: memory.verifier!,
          expectedState: query.get('state')!,
          expectedNonce: memory.nonce!,
          idTokenExpected: true,
        })
        .catch(refused)
      const claims = tokens.claims()
      if (claims === undefined) throw new SignInRefused('the provider said nothing about who you are')
      return identityOf(claims)
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
    // The session lives in a cookie, which browsers cut at 4 KiB.
    claims: JSON.stringify(rest).length <= CLAIMS_AT_MOST ? rest : {},
  }
}
