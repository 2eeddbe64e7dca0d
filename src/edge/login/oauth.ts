import * as client from 'openid-client'
import type { Outbound } from '../../base/outbound.ts'
import type { OauthProvider } from './oauth-providers.ts'
import { type Pending, type SignIn, SignInRefused } from './sign-in.ts'

export interface OauthOptions {
  readonly provider: OauthProvider
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** GitHub only: membership in one of these opens the door. */
  readonly groups: readonly string[]
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly callbackUrl: () => string
}

/** Signs visitors in with an account they have elsewhere (OAuth 2 code flow with PKCE), and asks there who they are. */
export function createOauthSignIn(options: OauthOptions): SignIn {
  const { provider, clientId, clientSecret, outbound } = options
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
  config[client.customFetch] = outbound.fetch as client.CustomFetch
  // The guarded client lets plain http through only to hosts the operator listed.
  client.allowInsecureRequests(config)
  const scopes = options.scopes.length === 0 ? provider.scopes : options.scopes

  async function about(url: string, accessToken: string): Promise<unknown> {
    const response = await outbound.fetch(url, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'adit' },
    })
    return response.ok ? response.json() : undefined
  }

  return {
    label: clientId,
    remember: () => ({ verifier: client.randomPKCECodeVerifier() }),

    async begin({ memory }: Pending, state: string) {
      return client.buildAuthorizationUrl(config, {
        redirect_uri: options.callbackUrl(),
        scope: scopes.join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(memory.verifier!),
        code_challenge_method: 'S256',
        state,
      }).href
    },

    async complete(query, { memory }) {
      const tokens = await client
        .authorizationCodeGrant(config, new URL(`${options.callbackUrl()}?${query}`), {
          pkceCodeVerifier: memory.verifier!,
          expectedState: query.get('state')!,
        })
        .catch((error: unknown) => {
          const cancelled =
            error instanceof client.AuthorizationResponseError && error.error === 'access_denied'
          throw new SignInRefused(
            cancelled ? 'the sign-in was cancelled' : 'the answer of the provider was not valid',
            {
              cause: error,
            },
          )
        })
      const names = Object.keys(provider.about)
      const answers = await Promise.all(
        names.map((name) => about(provider.about[name]!, tokens.access_token)),
      )
      const person = provider.read(Object.fromEntries(names.map((name, index) => [name, answers[index]])))
      if (person.id === '') throw new SignInRefused('the provider did not say who you are')
      if (
        options.groups.length > 0 &&
        !options.groups.some((group) => person.groups.includes(group.toLowerCase()))
      )
        throw new SignInRefused('you are not a member of a team or organization that may see this page')
      return { ...person, groups: [], claims: {} }
    },
  }
}
