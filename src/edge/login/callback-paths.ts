/**
 * Redirect URIs on the login host. RFC 9700 section 4.4: a code must not be redeemed at a provider other than its
 * issuer, and tenants choose their OpenID providers. Only providers that identify themselves in each response (RFC
 * 9207), and well-known ones that compare redirect URIs exactly, share one path.
 */
export const SHARED_CALLBACK = '/oauth2/callback'

const ISSUER_CALLBACK = '/oidc/callback/'
const OAUTH_CALLBACK = /^\/oauth2\/[a-z]+\/callback$/

/** The dedicated path of one OpenID provider: its issuer without the scheme. */
export function issuerCallbackPath(issuer: URL): string {
  return `${ISSUER_CALLBACK}${issuer.host}${issuer.pathname.replace(/\/$/, '')}`
}

/** The dedicated path of one OAuth provider. */
export function providerCallbackPath(name: string): string {
  return `/oauth2/${name}/callback`
}

export function isProviderCallback(path: string): boolean {
  return path === SHARED_CALLBACK || path.startsWith(ISSUER_CALLBACK) || OAUTH_CALLBACK.test(path)
}
