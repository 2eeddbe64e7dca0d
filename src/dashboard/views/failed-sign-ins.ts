import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../../api/index.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import type { FailedSignIn } from '../page-data.ts'

/** The sign-ins of visitors that failed lately. */
export interface FailedSignInSource {
  failuresOf(accountId: string): MaybePromise<readonly FailedSignIn[]>
}

/** `GET /dashboard/api/failed_sign_ins`: why visitors could not sign in at the endpoints of the account, the latest first. */
export function mountFailedSignIns(
  http: FastifyInstance,
  { authenticate, logins }: { authenticate: onRequestHookHandler; logins: FailedSignInSource },
): void {
  http.get('/dashboard/api/failed_sign_ins', { onRequest: authenticate }, async (request) => ({
    failed_sign_ins: await logins.failuresOf(requirePrincipal(request).accountId),
  }))
}
