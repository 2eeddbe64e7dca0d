import * as client from 'openid-client'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import { type AllowRules, requireAllowed } from '../allow-rules.ts'
import { providerCallbackPath, SHARED_CALLBACK } from '../callback-paths.ts'
import { rejectRenewal, rejectResponse } from '../provider/provider-errors.ts'
import { createProviderFetch, type ProviderFetch } from '../provider/provider-fetch.ts'
import { readGrant } from '../provider-tokens.ts'
import { GrantRevoked, type Identity, recall, type SignIn, SignInError } from '../sign-in.ts'
import { type OauthProvider, type OauthProviderName, toObject } from './oauth-providers.ts'

export interface OauthOptions {
  readonly name: OauthProviderName
  readonly provider: OauthProvider
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** Added to the URL of the sign-in page. */
  readonly parameters: Readonly<Record<string, string>>
  readonly allow: AllowRules
  readonly outbound: Pick<Outbound, 'fetch'>
  /** `https://idp.<domain>[:port]` */
  readonly idpUrl: () => string
}

/** Signs visitors in with an OAuth provider (code flow with PKCE) and reads their identity from its API. */
export function createOauthSignIn(options: OauthOptions): SignIn {
  const { name, provider, clientId, clientSecret, outbound } = options
  const path = provider.dedicatedCallback === true ? providerCallbackPath(name) : SHARED_CALLBACK
  const fetch = createProviderFetch(outbound)
  const config = new client.Configuration(
    {
      issuer: new URL(provider.token).origin,
      authorization_endpoint: provider.authorize,
      token_endpoint: provider.token,
    },
    clientId,
    clientSecret,
    client.ClientSecretPost(clientSecret),
  )
  config[client.customFetch] = normalizeTokenResponses(fetch) as client.CustomFetch
  // The guarded client allows plain http only to hosts the operator listed.
  client.allowInsecureRequests(config)
  // Without the provider's own scopes the profile would lack the identity.
  const scopes = [...new Set([...provider.scopes, ...options.scopes])]

  /** Fetches one profile document; undefined when the provider denies it, which then grants nothing. */
  async function fetchProfile(url: string, accessToken: string): Promise<unknown> {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'adit' },
    })
    return response.ok ? response.json().catch(() => undefined) : undefined
  }

  /** Who an access token is for, if the rules allow that person. */
  async function readIdentity(accessToken: string): Promise<Identity> {
    const names = Object.keys(provider.about)
    const profiles = await Promise.all(names.map((name) => fetchProfile(provider.about[name]!, accessToken)))
    const documents = Object.fromEntries(names.map((name, index) => [name, profiles[index]]))
    const identity = { ...provider.readIdentity(documents), claims: toObject(documents.user) }
    if (identity.id === '') throw new SignInError('userinfo_rejected')
    requireAllowed(identity, options.allow)
    return { ...identity, groups: [], claims: {} }
  }

  return {
    label: clientId,
    provider: options.name,
    describeProvider: async () => ({ name: options.name, url: new URL(provider.authorize).origin }),
    createMemory: () => ({ verifier: client.randomPKCECodeVerifier() }),

    async begin(memory, state, { switchesAccount = false } = {}) {
      return client.buildAuthorizationUrl(config, {
        ...options.parameters,
        redirect_uri: `${options.idpUrl()}${path}`,
        scope: scopes.join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(recall(memory, 'verifier')),
        code_challenge_method: 'S256',
        state,
        ...provider.parameters,
        ...(switchesAccount && { prompt: 'select_account' }),
      }).href
    },

    async complete(response, memory) {
      if (response.path !== path) throw new SignInError('response_invalid')
      const query = new URLSearchParams(response.query)
      // The endpoints are the operator's, not the tenant's, so the code cannot go to another provider.
      query.delete('iss')
      const tokens = await client
        .authorizationCodeGrant(config, new URL(`${options.idpUrl()}${path}?${query}`), {
          pkceCodeVerifier: recall(memory, 'verifier'),
          expectedState: response.state,
        })
        .catch(rejectResponse('token'))
      const grant = readGrant(tokens)
      return { identity: await readIdentity(grant.tokens.access_token), grant }
    },

    renew: (refreshToken) =>
      client.refreshTokenGrant(config, refreshToken).then(readGrant).catch(rejectRenewal),

    async identify({ tokens }, { id }) {
      const identity = await readIdentity(tokens.access_token)
      if (identity.id !== id) throw new GrantRevoked('the provider identified another person')
      return identity
    },
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
