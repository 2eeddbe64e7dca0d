import * as client from 'openid-client'
import { requireAllowed } from '../allow-rules.ts'
import { providerCallbackPath, SHARED_CALLBACK } from '../callback-paths.ts'
import type { CodeFlowOptions } from '../provider/code-flow.ts'
import { rejectRenewal, rejectResponse } from '../provider/provider-errors.ts'
import { createProviderFetch, type ProviderFetch } from '../provider/provider-fetch.ts'
import { readGrant, type TokenGrant } from '../provider-tokens.ts'
import {
  type CompletedSignIn,
  GrantRevoked,
  type Identity,
  type ProviderResponse,
  recall,
  type SignIn,
  SignInError,
  type SignInMemory,
} from '../sign-in.ts'
import { type OauthProvider, type OauthProviderName, toObject } from './oauth-providers.ts'

export interface OauthOptions extends CodeFlowOptions {
  readonly name: OauthProviderName
  readonly provider: OauthProvider
}

/** Signs visitors in with an OAuth provider (code flow with PKCE) and reads their identity from its API. */
export class OauthSignIn implements SignIn {
  readonly label: string
  readonly provider: OauthProviderName
  readonly #options: OauthOptions
  readonly #path: string
  readonly #fetch: ProviderFetch
  readonly #config: client.Configuration
  readonly #scopes: readonly string[]

  constructor(options: OauthOptions) {
    const { name, provider, clientId, clientSecret, scopes } = options
    this.label = clientId
    this.provider = name
    this.#options = options
    this.#path = provider.dedicatedCallback === true ? providerCallbackPath(name) : SHARED_CALLBACK
    this.#fetch = createProviderFetch(options.outbound)
    // Without the provider's own scopes the profile would lack the identity.
    this.#scopes = [...new Set([...provider.scopes, ...scopes])]
    this.#config = new client.Configuration(
      {
        issuer: new URL(provider.token).origin,
        authorization_endpoint: provider.authorize,
        token_endpoint: provider.token,
      },
      clientId,
      clientSecret,
      client.ClientSecretPost(clientSecret),
    )
    this.#config[client.customFetch] = normalizeTokenResponses(this.#fetch) as client.CustomFetch
    // The guarded client allows plain http only to hosts the operator listed.
    client.allowInsecureRequests(this.#config)
  }

  async describeProvider() {
    const { name, provider } = this.#options
    return { name, url: new URL(provider.authorize).origin }
  }

  createMemory() {
    return { verifier: client.randomPKCECodeVerifier() }
  }

  async begin(memory: SignInMemory, state: string, switchesAccount = false): Promise<string> {
    const { parameters, provider } = this.#options
    return client.buildAuthorizationUrl(this.#config, {
      ...parameters,
      redirect_uri: this.#redirectUri(),
      scope: this.#scopes.join(' '),
      code_challenge: await client.calculatePKCECodeChallenge(recall(memory, 'verifier')),
      code_challenge_method: 'S256',
      state,
      ...provider.parameters,
      ...(switchesAccount && { prompt: 'select_account' }),
    }).href
  }

  async complete(response: ProviderResponse, memory: SignInMemory): Promise<CompletedSignIn> {
    if (response.path !== this.#path) throw new SignInError('response_invalid')
    const query = new URLSearchParams(response.query)
    // The endpoints are the operator's, not the tenant's, so the code cannot go to another provider.
    query.delete('iss')
    const tokens = await client
      .authorizationCodeGrant(this.#config, new URL(`${this.#redirectUri()}?${query}`), {
        pkceCodeVerifier: recall(memory, 'verifier'),
        expectedState: response.state,
      })
      .catch(rejectResponse('token'))
    const grant = readGrant(tokens)
    return { identity: await this.#readIdentity(grant.tokens.access_token), grant }
  }

  renew(refreshToken: string): Promise<TokenGrant> {
    return client.refreshTokenGrant(this.#config, refreshToken).then(readGrant).catch(rejectRenewal)
  }

  async identify({ tokens }: TokenGrant, { id }: Identity): Promise<Identity> {
    const identity = await this.#readIdentity(tokens.access_token)
    if (identity.id !== id) throw new GrantRevoked('the provider identified another person')
    return identity
  }

  #redirectUri(): string {
    return `${this.#options.idpUrl()}${this.#path}`
  }

  /** Who an access token is for, if the rules allow that person. */
  async #readIdentity(accessToken: string): Promise<Identity> {
    const { provider, allow } = this.#options
    const profiles = await Promise.all(
      Object.entries(provider.about).map(
        async ([name, url]) => [name, await this.#fetchProfile(url, accessToken)] as const,
      ),
    )
    const documents = Object.fromEntries(profiles)
    const identity = { ...provider.readIdentity(documents), claims: toObject(documents.user) }
    if (identity.id === '') throw new SignInError('userinfo_rejected')
    requireAllowed(identity, allow)
    return { ...identity, groups: [], claims: {} }
  }

  /** Fetches one profile document; undefined when the provider denies it, which then grants nothing. */
  async #fetchProfile(url: string, accessToken: string): Promise<unknown> {
    const response = await this.#fetch(url, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'adit' },
    })
    return response.ok ? response.json().catch(() => undefined) : undefined
  }
}

/**
 * Normalizes token responses, which providers send as a form, with a list of scopes, or without a type. The ID
 * token is dropped, because the identity comes from the provider's API.
 */
function normalizeTokenResponses(fetch: ProviderFetch): ProviderFetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    const text = await response.text()
    const parameters = text.trimStart().startsWith('{')
      ? (JSON.parse(text) as Record<string, unknown>)
      : Object.fromEntries(new URLSearchParams(text))
    const { access_token, refresh_token, error, error_description } = parameters
    const expires_in = Number(parameters.expires_in)
    const rejected = typeof access_token !== 'string'
    const body = rejected
      ? // Not `invalid_grant`, which would end a session, for a response that says nothing.
        { error: typeof error === 'string' ? error : 'invalid_response', error_description }
      : {
          access_token,
          token_type: 'bearer',
          ...(typeof refresh_token === 'string' && { refresh_token }),
          ...(expires_in > 0 && Number.isFinite(expires_in) && { expires_in }),
        }
    return Response.json(body, { status: rejected && response.ok ? 400 : response.status })
  }
}
