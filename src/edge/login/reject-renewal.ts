import * as client from 'openid-client'
import { GrantRevoked, throwSignInError } from './sign-in.ts'

/** RFC 6749 section 5.2, and what GitHub says in its place. */
const REVOKED_CODES = new Set(['invalid_grant', 'bad_refresh_token'])

/** Rejects a failed renewal: only the provider's own word ends a session. */
export function rejectRenewal(error: unknown): never {
  if (error instanceof client.ResponseBodyError && REVOKED_CODES.has(error.error))
    throw new GrantRevoked('the identity provider has ended this sign-in', { cause: error })
  return throwSignInError(error, 'the response from the identity provider was not valid')
}
