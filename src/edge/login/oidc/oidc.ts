import * as client from 'openid-client'
import type { Clock } from '../../../base/values/clock.ts'
import type { TokenAuthMethod } from '../../../resources/index.ts'
import { listClaims, readClaim, requireAllowed } from '../allow-rules.ts'
import { issuerCallbackPath, SHARED_CALLBACK } from '../callback-paths.ts'
import { ClientAuthentication } from '../provider/client-authentication.ts'
import type { CodeFlowOptions } from '../provider/code-flow.ts'
import { ProviderDocuments } from '../provider/provider-documents.ts'
import { rejectRenewal, rejectResponse } from '../provider/provider-errors.ts'
import { readGrant, type TokenGrant } from '../provider-tokens.ts'
import { toProviderSessionSubject } from '../sessions/revocations.ts'
import {
  type CompletedSignIn,
  GrantRevoked,
  type Identity,
  type ProviderResponse,
  recall,
  type SignIn,
  SignInError,
  type SignInMemory,
  type SignOut,
} from '../sign-in.ts'
import type { BackchannelLogout } from './backchannel-logout.ts'
import { keyIdOf, type LogoutToken, verifyLogoutToken } from './logout-token.ts'

export const CLOCK_SKEW_SECONDS = 60

export interface OidcOptions extends CodeFlowOptions {
  readonly issuer: string
  /** Empty where the provider's metadata decides. */
  readonly tokenAuthMethod: TokenAuthMethod | ''
  readonly clock: Clock
  readonly backchannelLogout: BackchannelLogout
}

/** Signs visitors in at an OpenID provider: code flow with PKCE, state and nonce, and a verified signature. */
export class OidcSignIn implements SignIn {
  readonly label: string
  readonly provider: string
  readonly revocationScope: string
  readonly #options: OidcOptions
  readonly #issuer: URL
  readonly #authentication: ClientAuthentication
  readonly #documents: ProviderDocuments
  readonly #scopes: readonly string[]

  constructor(options: OidcOptions) {
    const { issuer, clientId, clientSecret, tokenAuthMethod, scopes, backchannelLogout } = options
    this.label = clientId
    this.provider = issuer
    this.revocationScope = backchannelLogout.scopeId
    this.#options = options
    this.#issuer = new URL(issuer)
    this.#authentication = new ClientAuthentication(clientSecret, tokenAuthMethod)
    this.#documents = new ProviderDocuments(options)
    this.#scopes = [...new Set(['openid', ...(scopes.length === 0 ? ['profile', 'email'] : scopes)])]
  }

  async describeProvider() {
    return { name: this.#issuer.hostname, url: this.provider }
  }

  createMemory() {
    return { verifier: client.randomPKCECodeVerifier(), nonce: client.randomNonce() }
  }

  async begin(memory: SignInMemory, state: string, switchesAccount = false): Promise<string> {
    const config = await this.#loadConfiguration()
    const code_challenge = await client.calculatePKCECodeChallenge(recall(memory, 'verifier'))
    try {
      return client.buildAuthorizationUrl(config, {
        ...this.#options.parameters,
        redirect_uri: this.#redirectUri(config),
        scope: this.#scopes.join(' '),
        code_challenge,
        code_challenge_method: 'S256',
        state,
        nonce: recall(memory, 'nonce'),
        ...(switchesAccount && { prompt: selectPrompt(config.serverMetadata()) }),
      }).href
    } catch (error) {
      return this.#rejectDiscovery(error)
    }
  }

  async complete({ path, query, state }: ProviderResponse, memory: SignInMemory): Promise<CompletedSignIn> {
    const config = await this.#loadConfiguration()
    if (path !== this.#callbackPath(config)) throw new SignInError('response_invalid')
    const url = new URL(`${this.#redirectUri(config)}?${query}`)
    const checks = {
      pkceCodeVerifier: recall(memory, 'verifier'),
      expectedState: state,
      expectedNonce: recall(memory, 'nonce'),
      idTokenExpected: true,
    }
    const tokens = await this.#authentication
      .send(async (authenticate) =>
        client.authorizationCodeGrant(await this.#loadConfiguration(authenticate), url, checks),
      )
      .catch(rejectResponse('token'))
    const claims = tokens.claims()
    if (claims === undefined || claims.sub === '') throw new SignInError('token_invalid')
    this.#verifyClaims(claims)
    const identity = toIdentity({
      ...(await this.#fetchMissingClaims(config, tokens.access_token, claims)),
      ...claims,
    })
    requireAllowed(identity, this.#options.allow)
    const endsSessions = config.serverMetadata().end_session_endpoint !== undefined
    const grant = readGrant(tokens)
    const { sid } = claims
    return {
      identity: {
        ...identity,
        ...(typeof sid === 'string' && { atProvider: { session: toProviderSessionSubject(sid) } }),
      },
      grant: { ...grant, ...(endsSessions && tokens.id_token && { logoutHint: tokens.id_token }) },
    }
  }

  async renew(refreshToken: string, { id }: Identity): Promise<TokenGrant> {
    const tokens = await this.#authentication
      .send(async (authenticate) =>
        client.refreshTokenGrant(await this.#loadConfiguration(authenticate), refreshToken),
      )
      .catch(rejectRenewal)
    const claims = tokens.claims()
    if (claims !== undefined) {
      // OpenID Connect Core section 12.2.
      if (claims.sub !== id) throw new SignInError('token_invalid')
      this.#verifyClaims(claims)
    }
    return readGrant(tokens)
  }

  async identify({ tokens, claims }: TokenGrant, identity: Identity): Promise<Identity> {
    const config = await this.#loadConfiguration()
    if (config.serverMetadata().userinfo_endpoint === undefined)
      throw new GrantRevoked('the provider has no UserInfo endpoint')
    const userinfo = await client
      .fetchUserInfo(config, tokens.access_token, identity.id)
      .catch(rejectResponse('userinfo'))
    const confirmed = confirmClaims(identity, { ...claims, ...userinfo })
    requireAllowed(confirmed, this.#options.allow)
    return { ...confirmed, ...(identity.atProvider && { atProvider: identity.atProvider }) }
  }

  async logoutUrl(_identity: Identity, { idToken, state }: SignOut): Promise<string | undefined> {
    const config = await this.#loadConfiguration()
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined
    return client.buildEndSessionUrl(config, {
      ...(idToken !== undefined && { id_token_hint: idToken }),
      // The same address as for the sign-in, so that there is one to register.
      post_logout_redirect_uri: this.#redirectUri(config),
      state,
    }).href
  }

  signedOutSince(identity: Identity, since: number): boolean {
    return this.#options.backchannelLogout.hasEnded(identity, since)
  }

  async endSessions(token: string): Promise<void> {
    const logoutToken = await this.#readLogoutToken(token).catch(rejectLogout)
    await this.#options.backchannelLogout.end(logoutToken)
  }

  /** Created for each sign-in from the cached documents. Only the token endpoint asks for authentication. */
  #loadConfiguration(authenticate = client.None()): Promise<client.Configuration> {
    const metadata = { [client.clockTolerance]: CLOCK_SKEW_SECONDS }
    return client
      .discovery(this.#issuer, this.label, metadata, authenticate, {
        [client.customFetch]: this.#documents.fetchForSignIn() as client.CustomFetch,
        // The guarded client allows plain http only to hosts the operator listed.
        execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
      })
      .catch((error: unknown) => this.#rejectDiscovery(error))
  }

  /** The discovery document is unusable: endpoints missing, not http(s), or of another issuer. */
  #rejectDiscovery(error: unknown): never {
    this.#documents.invalidateDiscovery()
    return rejectResponse('metadata')(error)
  }

  #redirectUri(config: client.Configuration): string {
    return `${this.#options.idpUrl()}${this.#callbackPath(config)}`
  }

  /**
   * A provider that identifies itself in each response (RFC 9207) shares a redirect URI. Any other has its own, so that
   * a code that arrives there was issued by it.
   */
  #callbackPath(config: client.Configuration): string {
    return config.serverMetadata().authorization_response_iss_parameter_supported === true
      ? SHARED_CALLBACK
      : issuerCallbackPath(this.#issuer)
  }

  /**
   * OpenID Connect Core section 5.4: claims of scopes come from the UserInfo endpoint, though many providers include
   * them in the token.
   */
  async #fetchMissingClaims(
    config: client.Configuration,
    accessToken: string,
    claims: client.IDToken,
  ): Promise<Readonly<Record<string, unknown>>> {
    const isMissing =
      this.#scopes.some((scope) => CLAIMS_BY_SCOPE.get(scope)?.every((name) => claims[name] === undefined)) ||
      listClaims(this.#options.allow).some((name) => readClaim(claims, name) === undefined)
    if (!isMissing || config.serverMetadata().userinfo_endpoint === undefined) return {}
    return client.fetchUserInfo(config, accessToken, claims.sub).catch(rejectResponse('userinfo'))
  }

  /** Verifies what the library does not; the token is valid. */
  #verifyClaims({ iat, azp }: client.IDToken): void {
    if (iat > this.#options.clock.now() / 1000 + CLOCK_SKEW_SECONDS)
      throw new SignInError('clock_wrong', { cause: new Error('the ID token was issued in the future') })
    if (azp !== undefined && azp !== this.label)
      throw new SignInError('token_invalid', {
        cause: new Error('the ID token was issued to another client'),
      })
  }

  async #readLogoutToken(token: string): Promise<LogoutToken> {
    const kid = keyIdOf(token)
    const { issuer, jwks_uri = '', ...server } = (await this.#loadConfiguration()).serverMetadata()
    return verifyLogoutToken(token, {
      issuer,
      clientId: this.label,
      keys: await this.#documents.loadKeys(jwks_uri, kid),
      announced: server.id_token_signing_alg_values_supported,
      now: this.#options.clock.now(),
      clockSkewSeconds: CLOCK_SKEW_SECONDS,
    })
  }
}

function rejectLogout(error: unknown): never {
  throw error instanceof SignInError ? error : new SignInError('logout_invalid', { cause: error })
}

/** How the provider lets a person choose another account. One that does not say how can at least ask for a password. */
function selectPrompt({ prompt_values_supported: prompts }: client.ServerMetadata): string {
  return Array.isArray(prompts) && prompts.includes('select_account') ? 'select_account' : 'login'
}

/** Claims of each scope; one of them is enough. */
const CLAIMS_BY_SCOPE: ReadonlyMap<string, readonly string[]> = new Map([
  ['profile', ['name', 'preferred_username']],
  ['email', ['email']],
  ['groups', ['groups']],
])

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

/** Claims about the sign-in itself, which a provider tells only then. */
const SIGN_IN_CLAIMS = ['acr', 'amr', 'sid']

/**
 * The identity of a person with claims that are valid now. Throws when there are fewer of them than at the sign-in: what
 * only the first ID token had, such as groups, may have changed since.
 */
function confirmClaims(identity: Identity, claims: Readonly<Record<string, unknown>>): Identity {
  const earlier = Object.entries(identity.claims).filter(([name]) => SIGN_IN_CLAIMS.includes(name))
  const current = { ...Object.fromEntries(earlier), ...claims }
  const names = [
    ...Object.keys(identity.claims),
    // Claims that are too large for a cookie are not in it, but have filled these.
    ...(identity.groups.length > 0 ? ['groups'] : []),
    ...(identity.email === '' ? [] : ['email']),
  ]
  const missing = names.find((name) => current[name] === undefined)
  if (missing !== undefined) throw new GrantRevoked(`the provider did not confirm ${missing}`)
  return toIdentity(current)
}

function toIdentity(claims: Readonly<Record<string, unknown>>): Identity {
  const text = (name: string) => (typeof claims[name] === 'string' ? (claims[name] as string) : '')
  // An unverified email must not grant access.
  const isUnverified = claims.email_verified === false || claims.email_verified === 'false'
  const email = isUnverified ? '' : text('email')
  const otherClaims = Object.fromEntries(
    Object.entries(claims).filter(([name]) => !PROTOCOL_CLAIMS.has(name)),
  )
  return {
    id: text('sub'),
    name: text('name') || text('preferred_username'),
    email,
    groups: Array.isArray(claims.groups) ? claims.groups.filter((group) => typeof group === 'string') : [],
    claims: otherClaims,
  }
}
