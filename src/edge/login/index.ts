/**
 * Sign-in of visitors for the OAuth, OpenID Connect and SAML modules. `login-guard.ts` is the step on a protected route:
 * it admits requests with a valid session cookie and sends the others to the provider. `login-host.ts` serves the host
 * that providers redirect back to; `tickets.ts` carries the result to the guard. `oauth.ts`, `oidc.ts` and `saml.ts`
 * implement one protocol each (XML of others is parsed in worker threads, `saml-pool.ts`); `revocations.ts`,
 * `replay-guard.ts` and `login-store.ts` hold what must outlive a request, and `session-renewals.ts` asks providers again
 * while a session lasts. The folder may use the contracts of the edge, `message`, and of `modules` only `context.ts` and
 * `login.ts`. Begin with `login-service.ts`, then `login-guard.ts`.
 */

export { type LoginOptions, LoginService } from './login-service.ts'
export type { OauthEndpoints } from './oauth/oauth-providers.ts'
export type { FailedSignIn } from './provider/failure-log.ts'
export type { LoginStore } from './sessions/login-store.ts'
export type { Revocation } from './sessions/revocations.ts'
export type { Locate } from './sessions/session-details.ts'
