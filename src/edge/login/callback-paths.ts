/**
 * Where providers send visitors back to on the login host. RFC 9700 section 4.4: a code must not be redeemed at another
 * provider than the one that issued it, and tenants choose OpenID providers themselves. So an address is shared only by
 * providers that name themselves in each answer (RFC 9207), and by well-known ones that compare redirect URIs exactly.
 */
export const SHARED_CALLBACK = '/oauth2/callback'

const ISSUER_CALLBACK = '/oidc/callback/'
const OAUTH_CALLBACK = /^\/oauth2\/[a-z]+\/callback$/

/** The address of one OpenID provider alone: its issuer without the scheme. */
export function issuerCallbackPath(issuer: URL): string {
  return `${ISSUER_CALLBACK}${issuer.host}${issuer.pathname.replace(/\/$/, '')}`
}

/** The address of one OAuth provider alone. */
export function providerCallbackPath(name: string): string {
  return `/oauth2/${name}/callback`
}

export function isProviderCallback(path: string): boolean {
  return path === SHARED_CALLBACK || path.startsWith(ISSUER_CALLBACK) || OAUTH_CALLBACK.test(path)
}
